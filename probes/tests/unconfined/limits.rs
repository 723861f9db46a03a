//! The inherited state of a process: limits and the file mode mask.

use std::process::Command;

use crate::support::{names, probe, text};

/// Returns the output of a shell, started as the probe is, for `line`.
fn shell(line: &str) -> String {
    let output = Command::new("sh").args(["-c", line]).output().expect("a shell");
    String::from_utf8(output.stdout).expect("plain text").trim().to_owned()
}

#[test]
fn rlimits_are_those_of_a_shell() {
    let detail = probe("rlimits").run().succeeded();
    let (soft, hard) = (shell("ulimit -S -n"), shell("ulimit -H -n"));
    let expected = format!("nofile {soft} {hard}").replace("unlimited", "none");
    assert!(names(&detail).contains(&expected), "{expected} in {detail:?}");
    assert_eq!(names(&detail).len(), 7);
}

#[cfg(target_os = "linux")]
#[test]
fn the_soft_limit_comes_first() {
    use nix::sys::resource::{Resource::RLIMIT_NOFILE, setrlimit};
    let lowered = crate::sys::before_exec(probe("rlimits"), || setrlimit(RLIMIT_NOFILE, 277, 279));
    let detail = lowered.run().succeeded();
    assert!(names(&detail).contains(&"nofile 277 279".to_owned()), "{detail:?}");
}

#[test]
fn umask_is_that_of_a_shell_and_may_be_any() {
    assert_eq!(text(&probe("umask").run().succeeded(), "data"), shell("umask"));
    #[cfg(target_os = "linux")]
    {
        let strict = crate::sys::before_exec(probe("umask"), || {
            nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o137));
            Ok(())
        });
        assert_eq!(text(&strict.run().succeeded(), "data"), "0137");
    }
}
