//! Tools that run here: each is started for its version, all at once. Main type: [`PendingTools`].

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};

use boxproof_cases::case::HostFact;

use super::FactObservation;
use super::program_answer::{self, PendingProgram, ProgramAnswer};

/// The deadline of a tool's answer about its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tools that are starting up while other things are looked at.
pub struct PendingTools(Vec<(HostFact, io::Result<PendingProgram>)>);

impl PendingTools {
    /// Starts every tool there is a fact of.
    pub fn all() -> Self {
        Self::start(|_| true)
    }

    /// Starts those that `facts` name: an interpreter that no case needs costs more than a case.
    pub fn among(facts: &BTreeSet<HostFact>) -> Self {
        Self::start(|fact| facts.contains(fact))
    }

    fn start(wanted: impl Fn(&HostFact) -> bool) -> Self {
        let argv = |fact: HostFact| [OsString::from(fact.keyword()), "--version".into()];
        let tools = HostFact::ALL.into_iter().filter(|fact| fact.is_tool() && wanted(fact));
        Self(tools.map(|fact| (fact, program_answer::start(&argv(fact), None))).collect())
    }

    pub(super) fn answers(self) -> Vec<(HostFact, FactObservation)> {
        let deadline = Instant::now() + PATIENCE;
        let answer =
            |asked: io::Result<PendingProgram>| asked.and_then(|asked| asked.answer(deadline));
        self.0.into_iter().map(|(fact, asked)| (fact, tool_observation(answer(asked)))).collect()
    }
}

fn tool_observation(answer: io::Result<ProgramAnswer>) -> FactObservation {
    let answer = answer.map_err(|error| error.to_string())?;
    match answer.code {
        Some(0) => Ok(answer.first_line()),
        Some(code) => Err(format!("exited with {code}: {}", answer.first_line())),
        None => Err("died of a signal".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(line: &str) -> FactObservation {
        tool_observation(program_answer::program_answer(
            &["/bin/sh".into(), "-c".into(), line.into()],
            PATIENCE,
        ))
    }

    #[test]
    fn only_what_is_asked_for_is_started() {
        let asked = BTreeSet::from([HostFact::Tar, HostFact::Root]);
        let started: Vec<_> =
            PendingTools::among(&asked).answers().into_iter().map(|(f, _)| f).collect();
        assert_eq!(started, [HostFact::Tar]);
        let tools = HostFact::ALL.into_iter().filter(|fact| fact.is_tool());
        assert_eq!(PendingTools::all().answers().len(), tools.count());
    }

    #[test]
    fn only_a_clean_exit_is_a_tool() {
        assert_eq!(sh("echo tool 1.0"), Ok("tool 1.0".to_owned()));
        assert_eq!(sh("echo broken; exit 2"), Err("exited with 2: broken".to_owned()));
        assert_eq!(sh("kill -9 $$"), Err("died of a signal".to_owned()));
        assert!(
            tool_observation(program_answer::program_answer(&["no-such-tool".into()], PATIENCE))
                .is_err()
        );
    }
}
