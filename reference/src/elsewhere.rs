//! Systems without a mechanism: nothing is claimed, every run is refused, also one that asks for
//! no confinement. Stands in for `capabilities` and `run`.

use std::collections::BTreeMap;
use std::env::consts::OS;
use std::path::Path;

use boxproof_cases::protocol::{Capabilities, CompileTarget, ErrorKind, PROTOCOL};

use crate::answer::{self, declined};
use crate::error::Refusal;
use crate::request::Mechanism;

fn nothing_here() -> String {
    format!("no mechanism exists on {OS} yet, so nothing is run; use Linux")
}

/// No claims; naming one mechanism is answered by why it does not work.
pub(crate) fn found(_prefix: &[&str], asked: Option<Mechanism>) -> Result<Capabilities, String> {
    if let Some(asked) = asked {
        return Err(format!("{} does not work here: {}", asked.name(), nothing_here()));
    }
    Ok(Capabilities {
        protocol: PROTOCOL,
        name: "refbox".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        mechanism: "none".to_owned(),
        mechanisms: Vec::new(),
        claims: BTreeMap::new(),
        limits: vec![nothing_here()],
    })
}

/// No mechanism is.
pub(crate) fn effective(
    _prefix: &[&str],
    _asked: Option<Mechanism>,
    _held: bool,
) -> Result<Mechanism, String> {
    Err(nothing_here())
}

/// Refuses the request in `request_file`, writes the result; returns the exit code.
pub(crate) fn run(_prefix: &[&str], request_file: &Path, result_file: &Path) -> i32 {
    let refusal = Refusal::new(ErrorKind::Unavailable, nothing_here());
    answer::answer(request_file, result_file, |_| declined(&refusal, request_file))
}

/// Compiles nothing yet; the exit code.
pub(crate) fn compile(_: CompileTarget, _: &Path, _: Option<&Path>) -> i32 {
    eprintln!("refbox: nothing is compiled on {OS} yet; use Linux");
    2
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_cases::protocol::{RunResult, exit};
    use rstest::rstest;
    use std::fs;

    #[test]
    fn nothing_is_compiled() {
        let result = tempfile::tempdir().unwrap().path().join("result");
        assert_eq!(compile(CompileTarget::Seatbelt, Path::new("/request"), Some(&result)), 2);
        assert!(!result.exists());
    }

    /// What running a request with these members of `policy` gives: exit code and result.
    fn outcome(policy: &str) -> (i32, RunResult) {
        let folder = tempfile::tempdir().unwrap();
        let [request, result, made] = ["request", "result", "made"].map(|n| folder.path().join(n));
        let text = format!(
            r#"{{"protocol":1,"policy":{{"workspace":"/"{policy}}},
            "run":{{"command":{{"argv":["touch",{made:?}]}},"cwd":"/"}}}}"#
        );
        fs::write(&request, text).unwrap();
        let code = run(&[], &request, &result);
        assert!(!made.exists(), "the command ran");
        (code, serde_json::from_slice(&fs::read(&result).unwrap()).unwrap())
    }

    #[rstest]
    #[case::confined("")]
    #[case::unconfined(r#","mode":"unconfined""#)]
    #[case::willing(r#","on_unavailable":"run_unconfined""#)]
    fn every_run_is_refused(#[case] policy: &str) {
        let (code, result) = outcome(policy);
        assert_eq!((code, result.started, result.exit_code), (exit::REFUSED, false, None));
        assert_eq!((result.mechanism.as_str(), result.enforced.len()), ("", 0));
        let error = result.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Unavailable);
        assert!(error.message.contains(OS), "{}", error.message);
    }

    #[test]
    fn a_bad_request_is_called_one() {
        let (code, result) = outcome(r#","mode":"full""#);
        assert_eq!((code, result.started), (exit::REFUSED, false));
        assert_eq!(result.error.unwrap().kind, ErrorKind::InvalidRequest);
    }

    #[test]
    fn nothing_is_claimed() {
        let found = found(&[], None).unwrap();
        assert_eq!((found.mechanism.as_str(), found.claims.len()), ("none", 0));
        assert_eq!(found.mechanisms, [""; 0]);
        assert!(effective(&[], None, true).unwrap_err().contains(OS));
        for mechanism in Mechanism::ALL {
            let why = super::found(&[], Some(mechanism)).unwrap_err();
            assert!(why.contains(mechanism.name()) && why.contains(OS), "{why}");
        }
    }
}
