//! Which tools run here: each is started for its version, all at once.

use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};

use boxproof_cases::case::HostFact;

use super::Seen;
use super::ask::{self, Answer, Asked};

/// How long a tool may take to say its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// The facts that are tools; the word of each is the program's name.
const TOOLS: &[HostFact] = &[
    HostFact::Git,
    HostFact::Cc,
    HostFact::Make,
    HostFact::Python3,
    HostFact::Node,
    HostFact::Bash,
    HostFact::Tar,
];

/// Tools that are starting up.
pub(super) type Starting = Vec<(HostFact, io::Result<Asked>)>;

pub(super) fn start() -> Starting {
    let argv = |fact: HostFact| [OsString::from(fact.word()), "--version".into()];
    TOOLS.iter().map(|fact| (*fact, ask::start(&argv(*fact)))).collect()
}

pub(super) fn answers(tools: Starting) -> Vec<(HostFact, Seen)> {
    let deadline = Instant::now() + PATIENCE;
    let answer = |asked: io::Result<Asked>| asked.and_then(|asked| asked.answer(deadline));
    tools.into_iter().map(|(fact, asked)| (fact, seen(answer(asked)))).collect()
}

fn seen(answer: io::Result<Answer>) -> Seen {
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

    fn sh(line: &str) -> Seen {
        seen(ask::ask(&["/bin/sh".into(), "-c".into(), line.into()], PATIENCE))
    }

    #[test]
    fn only_a_clean_exit_is_a_tool() {
        assert_eq!(sh("echo tool 1.0"), Ok("tool 1.0".to_owned()));
        assert_eq!(sh("echo broken; exit 2"), Err("exited with 2: broken".to_owned()));
        assert_eq!(sh("kill -9 $$"), Err("died of a signal".to_owned()));
        assert!(seen(ask::ask(&["no-such-tool".into()], PATIENCE)).is_err());
    }
}
