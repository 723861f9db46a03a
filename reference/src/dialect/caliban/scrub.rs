//! Which variables a scrubbed command keeps. Pure.

/// What a name of a secret has in it, in capitals.
const PARTS: [&str; 5] = ["KEY", "SECRET", "TOKEN", "PASSWORD", "CREDENTIAL"];
/// Secrets that have names of their own.
const WHOLE: [&str; 1] = ["OTEL_EXPORTER_OTLP_HEADERS"];

/// Whether the variable `name` is kept, which `passthrough` decides letter for letter.
pub(super) fn keeps(name: &str, passthrough: &[String]) -> bool {
    let upper = name.to_uppercase();
    let secret = PARTS.iter().any(|part| upper.contains(part)) || WHOLE.contains(&&*upper);
    !secret || passthrough.iter().any(|passed| passed == name)
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
