//! Asking a native backend what it claims on this host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use boxproof_cases::Capability;
use boxproof_cases::protocol::{Capabilities, ClaimLevel, PROTOCOL, from_json};
use boxproof_reports::excerpt;

use crate::host::program_answer::{self, AskedAs, PendingProgram};

/// The deadline of a program's answer to `capabilities`.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The most characters of a message about an answer, parts of which are the program's own text.
const LONGEST: usize = 500;

/// The mechanism that leaves the choice to the backend.
pub(super) const AUTO: &str = "auto";

/// A native backend's answer about itself, its claims checked against the closed list.
pub(super) struct NativeAnswer {
    pub(super) said: Capabilities,
    pub(super) claims: BTreeMap<Capability, ClaimLevel>,
}

/// A program that is being asked for its capabilities.
pub(super) struct CapabilityQuery {
    asked: PendingProgram,
    mechanism: String,
}

/// Asks `program`, started as `user`, for its capabilities, with `mechanism` unless that is
/// [`AUTO`].
///
/// # Errors
/// The reason why it cannot be asked, for a person.
pub(super) fn query_capabilities(
    program: &Path,
    prefix: &[String],
    mechanism: &str,
    user: Option<&AskedAs>,
) -> Result<CapabilityQuery, String> {
    let mut argv: Vec<OsString> = vec![program.into()];
    argv.extend(prefix.iter().map(Into::into));
    argv.push("capabilities".into());
    if mechanism != AUTO {
        argv.extend(["--mechanism".into(), mechanism.into()]);
    }
    let asked = program_answer::start(&argv, user).map_err(|error| error.to_string())?;
    Ok(CapabilityQuery { asked, mechanism: mechanism.to_owned() })
}

impl CapabilityQuery {
    /// Its answer, given up after `patience`.
    ///
    /// # Errors
    /// The fault of the answer, for a person.
    pub(super) fn answer(self, patience: Duration) -> Result<NativeAnswer, String> {
        let answer = self.asked.answer(Instant::now() + patience);
        let answer = answer.map_err(|error| error.to_string())?;
        match answer.code {
            Some(0) => {
                read(&answer.stdout, &self.mechanism).map_err(|message| excerpt(&message, LONGEST))
            }
            Some(code) => Err(clause(&format!("it exited with {code}"), &answer.first_line())),
            None => Err(clause("it died of a signal", &answer.first_line())),
        }
    }
}

/// Returns `end` with the answer's first line, where it has one.
fn clause(end: &str, line: &str) -> String {
    if line.is_empty() { format!("{end} and said nothing") } else { format!("{end}: {line}") }
}

fn read(stdout: &[u8], mechanism: &str) -> Result<NativeAnswer, String> {
    let said: Capabilities =
        from_json(stdout).map_err(|error| format!("its answer is no claim: {error}"))?;
    if said.protocol != PROTOCOL {
        return Err(format!("it speaks protocol {}, not {PROTOCOL}", said.protocol));
    }
    if mechanism != AUTO && said.mechanism != mechanism {
        return Err(format!("asked for {mechanism}, it answered for {}", said.mechanism));
    }
    let claims = said.claims.iter().map(|(name, level)| Ok((Capability::new(name)?, *level)));
    let claims = claims.collect::<Result<_, String>>()?;
    Ok(NativeAnswer { said, claims })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const GOOD: &str = r#"{"protocol": 1, "name": "box", "version": "2", "mechanism": "ns",
        "mechanisms": ["ns"], "claims": {"fs.write": "partial"}, "limits": []}"#;

    #[test]
    fn a_good_answer_is_taken() {
        let answer = read(GOOD.as_bytes(), "ns").unwrap();
        assert_eq!(answer.claims[&Capability::new("fs.write").unwrap()], ClaimLevel::Partial);
        assert_eq!(answer.said.version, "2");
    }

    #[rstest]
    #[case("\"protocol\": 1", "\"protocol\": 2", "speaks protocol 2")]
    #[case("fs.write", "fs.wrote", "unknown capability `fs.wrote`")]
    #[case("\"limits\"", "\"limit\"", "unknown field `limit`")]
    #[case("\"ns\",\n", "\"jail\",\n", "answered for jail")]
    #[case("{", "", "no claim")]
    fn a_bad_answer_is_clause(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
        let error = read(GOOD.replacen(from, to, 1).as_bytes(), "ns").err().unwrap();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn a_program_that_hangs_is_given_up() {
        let sh = Path::new("/bin/sh");
        let prefix = ["-c".to_owned(), "exec sleep 1000".to_owned()];
        let question = query_capabilities(sh, &prefix, AUTO, None).unwrap();
        let error = question.answer(Duration::from_millis(50)).err().unwrap();
        assert!(error.contains("given up"), "{error}");
    }
}
