//! Lifelines: processes belong to a run although they are no descendants if they carry the nonce of
//! an arm as a word of its own in their command line or environment.
//!
//! A nonce is the run's identifier, a hyphen and 16 random hexadecimal digits. A path that has it
//! in it proves nothing: every program that reads a file of the run names such a path.

use memchr::memmem;
use nix::unistd::{Pid, getpid, getuid};

use super::table;

/// The hexadecimal digits at the end of a nonce.
const DIGITS: usize = 16;

/// The processes that carry the nonce of any arm of the run `run_id`.
pub(crate) fn carrying(run_id: &str) -> Vec<Pid> {
    let nonces = NonceFinder::for_run(run_id);
    table::processes().into_iter().filter(|pid| belongs(*pid, &nonces, None)).collect()
}

/// The processes that carry `nonce`.
pub(super) fn carrying_nonce(nonce: &str) -> Vec<Pid> {
    let nonces = NonceFinder::for_run(run_of(nonce));
    table::processes().into_iter().filter(|pid| belongs(*pid, &nonces, Some(nonce))).collect()
}

/// Returns whether `pid` carries `nonce` in its environment or command line, as far as these can be
/// read.
pub(crate) fn carries(pid: Pid, nonce: &str) -> bool {
    belongs(pid, &NonceFinder::for_run(run_of(nonce)), Some(nonce))
}

/// The identifier of the run that `nonce` is of.
fn run_of(nonce: &str) -> &str {
    nonce.rsplit_once('-').map_or(nonce, |(run_id, _)| run_id)
}

/// Returns whether `pid` carries `nonce`, or any nonce of the run. A command line can be read and
/// repeated by every user of the host, an environment cannot: on the command line alone a process
/// of another user counts only where no living program but init and this one started it.
fn belongs(pid: Pid, nonces: &NonceFinder, nonce: Option<&str>) -> bool {
    let carried = |text: &[u8]| nonces.find_in(text).any(|found| nonce.is_none_or(|n| found == n));
    if carried(&table::variables(pid)) {
        return true;
    }
    carried(&table::command_words(pid)) && is_own_or_adopted(pid)
}

/// Returns whether `pid` is this user's, or has init or this process as its parent.
fn is_own_or_adopted(pid: Pid) -> bool {
    table::origin(pid).is_some_and(|origin| {
        let adopted = origin.parent.as_raw() == 1 || origin.parent == getpid();
        origin.uid == getuid().as_raw() || adopted
    })
}

/// The search for the nonces of one run, prepared once for the texts of every process.
struct NonceFinder {
    /// The run's identifier and the hyphen behind it.
    start: memmem::Finder<'static>,
}

impl NonceFinder {
    fn for_run(run_id: &str) -> Self {
        Self { start: memmem::Finder::new(&format!("{run_id}-")).into_owned() }
    }

    /// The nonces of the run in `text`, those in a path left out.
    fn find_in<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = &'a str> {
        let length = self.start.needle().len() + DIGITS;
        self.start.find_iter(text).filter_map(move |at| {
            let window = text.get(at..at + length)?;
            let digits = &window[length - DIGITS..];
            let ends = !text.get(at + length).is_some_and(u8::is_ascii_hexdigit);
            let is_nonce = digits.iter().all(u8::is_ascii_hexdigit) && ends;
            (is_nonce && !is_in_path(text, at, at + length)).then_some(())?;
            std::str::from_utf8(window).ok()
        })
    }
}

/// Returns whether `text[from..to]` is a part of a path: the text around it up to the next
/// character that file names seldom have begins or ends with a slash.
fn is_in_path(text: &[u8], from: usize, to: usize) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-+~".contains(byte);
    let before = text[..from].iter().rev().find(|byte| !is_name(byte));
    let after = text[to..].iter().find(|byte| !is_name(byte));
    [before, after].contains(&Some(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const NONCE: &str = "bx7-0123456789abcdef";

    #[rstest]
    #[case::word("probe\0--nonce\0bx7-0123456789abcdef\0", true)]
    #[case::value("A=1\0BOXPROOF_ARM=bx7-0123456789abcdef\0", true)]
    #[case::line("sh\0-c\0: bx7-0123456789abcdef; sleep 9\0", true)]
    #[case::tag("--tag=bx7-0123456789abcdef", true)]
    #[case::run_directory("tail\0-f\0/cache/bx7/w0/arm/ws/f\0", false)]
    #[case::arm_directory("tail\0/cache/bx7/w0/arm-bx7-0123456789abcdef/ws\0", false)]
    #[case::file("tail\0/tmp/bx7-0123456789abcdef.log\0", false)]
    #[case::relative("tail\0bx7-0123456789abcdef/log\0", false)]
    #[case::run_id("grep\0bx7\0", false)]
    #[case::short("grep\0bx7-0123\0", false)]
    #[case::long("grep\0bx7-0123456789abcdef0\0", false)]
    #[case::other_run("x\0bx8-0123456789abcdef\0", false)]
    fn only_a_nonce_that_is_no_path_counts(#[case] text: &str, #[case] counts: bool) {
        let finder = NonceFinder::for_run("bx7");
        let found: Vec<&str> = finder.find_in(text.as_bytes()).collect();
        assert_eq!(found, if counts { vec![NONCE] } else { vec![] });
    }
}
