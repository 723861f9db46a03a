//! The variables that a scrubbed command keeps. Pure.

/// The parts, in capitals, of variable names that denote secrets.
const PARTS: [&str; 5] = ["KEY", "SECRET", "TOKEN", "PASSWORD", "CREDENTIAL"];
/// Secrets that have names of their own.
const WHOLE: [&str; 1] = ["OTEL_EXPORTER_OTLP_HEADERS"];

/// Returns whether the variable `name` is kept; `passthrough` is compared case-sensitively.
pub(super) fn keeps(name: &str, passthrough: &[String]) -> bool {
    let upper =
        if fault!("dialects.scrub-capitals") { name.to_owned() } else { name.to_uppercase() };
    let parts = PARTS.iter().filter(|part| !dropped!("secret-parts", part));
    let secret = parts.into_iter().any(|part| upper.contains(part))
        || WHOLE.contains(&&*upper) && !fault!("dialects.scrub-whole-names");
    let alike = |passed: &String| {
        passed == name
            || fault!("dialects.passthrough-any-case") && passed.eq_ignore_ascii_case(name)
    };
    !secret || passthrough.iter().any(alike)
}

/// Returns a warning for every entry of `passthrough` that can be no variable's name.
pub(super) fn useless(passthrough: &[String]) -> impl Iterator<Item = String> {
    let broken = |name: &&String| name.is_empty() || name.contains(['=', '*', '?', '$', '\0']);
    passthrough.iter().filter(broken).map(|name| {
        format!("env.passthrough: {name:?} is no variable name, and keeps nothing; patterns are not read")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("ANTHROPIC_API_KEY", false)]
    #[case("my_api_key", false)]
    #[case("Db_Password", false)]
    #[case("otel_exporter_otlp_headers", false)]
    #[case("MONKEY", false)]
    #[case("GH_TOKEN", true)]
    #[case::other_letters("gh_token", false)]
    #[case("PATH", true)]
    #[case("DATABASE_URL", true)]
    fn names_tell_secrets(#[case] name: &str, #[case] kept: bool) {
        assert_eq!(keeps(name, &["GH_TOKEN".to_owned()]), kept);
    }
}
