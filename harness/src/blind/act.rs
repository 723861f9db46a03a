//! Translation of an act for ordinary programs.

use boxproof_cases::case::Act;

use super::programs;

/// The starts of a command with which a shell line has the probe write a word; quotes around the
/// program may be missing.
const SAYS: [&str; 2] = ["\"$PROBE\" --nonce $NONCE ", "$PROBE --nonce $NONCE "];

/// Translates the act for ordinary programs; a call in which the probe only writes a word becomes
/// `true`.
///
/// # Errors
/// The reason why no ordinary program does it.
pub(super) fn ordinary(act: &Act) -> Result<Act, String> {
    match act {
        Act::Probe { probe, args } => {
            let argv = programs::argv(probe, args);
            argv.map(Act::Argv).ok_or(format!("no ordinary program does `{probe}`"))
        }
        Act::Sh(line) => Ok(Act::Sh(silent(line))),
        other => Ok(other.clone()),
    }
}

/// Replaces every word of the probe in `line` by `true`.
fn silent(line: &str) -> String {
    let mut line = line.to_owned();
    for says in SAYS {
        let mut from = 0;
        while let Some(at) = line[from..].find(says).map(|at| from + at) {
            let rest = &line[at + says.len()..];
            let end = rest.find([';', '&', '|', '\n', ')', '}', '\'']).unwrap_or(rest.len());
            let word = rest[..end].trim_end();
            let is_word = word == "ready"
                || word.strip_prefix("mark --name=").is_some_and(|name| !name.contains(' '));
            from = at + says.len();
            if is_word {
                let whole = at..at + says.len() + word.len();
                line.replace_range(whole, "true");
                from = at;
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("$PROBE --nonce $NONCE mark --name=a; touch b", "true; touch b")]
    #[case("\"$PROBE\" --nonce $NONCE mark --name=a && touch b", "true && touch b")]
    #[case("\"$PROBE\" --nonce $NONCE ready", "true")]
    #[case("cat f", "cat f")]
    #[case("$PROBE --nonce $NONCE flood --bytes=1", "$PROBE --nonce $NONCE flood --bytes=1")]
    #[case(
        "$PROBE --nonce $NONCE hold; $PROBE --nonce $NONCE ready",
        "$PROBE --nonce $NONCE hold; true"
    )]
    fn a_word_of_the_probe_is_left_out(#[case] line: &str, #[case] left: &str) {
        assert_eq!(silent(line), left);
    }
}
