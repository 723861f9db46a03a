//! Ends and streams: exit codes, signals and bytes as told.

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use boxproof_probes::{ActOutcome, FoundRecords, find};
use rstest::rstest;

use crate::support::{Ran, close, probe, probe_with};

/// The outcome on stderr, with nothing of it on stdout.
fn outcome_on_stderr(ran: &Ran) -> ActOutcome {
    assert_eq!(find(&ran.nonce, &ran.stdout), FoundRecords::None);
    match find(&ran.nonce, &ran.stderr) {
        FoundRecords::One(record) => record.outcome,
        other => panic!("{other:?} in {ran:?}"),
    }
}

#[rstest]
#[case("0")]
#[case("7")]
#[case("255")]
fn exit_ends_with_the_code(#[case] code: &str) {
    let ran = probe("exit").arg("code", code).run();
    ran.silent(code.parse().expect("a number"));
    let ran = probe_with(&["--record", "stderr"], "exit").arg("code", code).run();
    assert_eq!(outcome_on_stderr(&ran), ActOutcome::Succeeded);
    assert_eq!(ran.status.code(), code.parse().ok());
}

#[rstest]
#[case("TERM", 15)]
#[case("SIGKILL", 9)]
#[case("SEGV", 11)]
#[case("PIPE", 13)]
#[case("14", 14)]
fn die_ends_by_the_signal_without_a_core(#[case] signal: &str, #[case] number: i32) {
    let ran = probe_with(&["--record=stderr"], "die").arg("signal", signal).run();
    assert_eq!((ran.status.signal(), ran.status.core_dumped()), (Some(number), false));
    assert_eq!(outcome_on_stderr(&ran), ActOutcome::Succeeded);
    assert_eq!(ran.stdout, b"");
}

#[cfg(target_os = "linux")]
#[test]
fn die_leaves_no_core_where_cores_are_allowed() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let dir = tempfile::tempdir().expect("a temp directory");
    let mut call = crate::sys::before_exec(probe("die").arg("signal", "ABRT"), || {
        let (_, most) = getrlimit(Resource::RLIMIT_CORE)?;
        setrlimit(Resource::RLIMIT_CORE, most, most)
    });
    call.command.current_dir(dir.path());
    let status = call.run().status;
    assert_eq!((status.signal(), status.core_dumped()), (Some(6), false));
}

#[test]
fn echo_stdin_gives_every_byte_back() {
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut call = probe("echo-stdin");
    call.command.stdin(Stdio::piped());
    let mut running = call.spawn();
    let mut stdin = running.child.stdin.take().expect("stdin is a pipe");
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent));
    let (echoed, status) = running.end();
    writer.join().expect("no panic").expect("all taken");
    assert!(echoed == bytes, "{} bytes came back", echoed.len());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn streams_writes_each_stream_exactly() {
    let ran = probe("streams")
        .arg("stdout", "out\n")
        .arg("stdout-hex", "00ff1e")
        .arg("stderr", "err")
        .arg("stderr-hex", "0a")
        .run();
    assert_eq!((ran.stdout, ran.stderr), (b"out\n\x00\xff\x1e".to_vec(), b"err\n".to_vec()));
    assert_eq!(ran.status.code(), Some(0));
}

#[rstest]
#[case(0)]
#[case(1)]
#[case(200_001)]
fn flood_is_that_many_bytes_of_even_lines(#[case] bytes: usize) {
    let ran = probe("flood").arg("bytes", bytes.to_string()).run();
    assert_eq!(ran.stdout.len(), bytes);
    let whole = ran.stdout.chunks_exact(64);
    let first = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+\n";
    assert_eq!(whole.clone().filter(|line| line == first).count(), bytes / 64);
    assert!(first.starts_with(whole.remainder()));
}

#[test]
fn a_flood_nobody_reads_ends_like_a_tool() {
    let mut running = probe("flood").arg("bytes", "1000000").spawn();
    let mut some = [0; 10];
    let mut stdout = running.child.stdout.take().expect("stdout is a pipe");
    stdout.read_exact(&mut some).expect("it floods");
    close(stdout);
    assert_eq!(running.child.wait().expect("our own child").signal(), Some(13));
}

#[test]
fn argv_shows_every_argument() {
    let mut call = probe("argv");
    for item in ["", " a  b ", "'\"\\$x*", "-", "new\nline", "\u{1f980}"] {
        call = call.arg("item", item);
    }
    let ran = call.run();
    let expected = "0:\n6: a  b \n6:'\"\\$x*\n1:-\n8:new\nline\n4:\u{1f980}\n";
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
    assert_eq!(ran.status.code(), Some(0));
    probe("argv").run().silent(0);
}

#[rstest]
#[case(probe_with(&["--record", "stderr"], "streams"))]
#[case(probe_with(&["--record", "stderr"], "argv"))]
#[case(probe_with(&["--record", "stderr"], "echo-stdin"))]
#[case(probe_with(&["--record", "stderr"], "flood").arg("bytes", "0"))]
fn a_judged_stdout_has_its_record_on_stderr(#[case] call: crate::support::Call) {
    let ran = call.run();
    assert_eq!(outcome_on_stderr(&ran), ActOutcome::Succeeded);
    assert_eq!((ran.stdout.len(), ran.status.code()), (0, Some(0)));
}

#[test]
fn any_record_can_go_to_stderr() {
    let ran = probe_with(&["--record", "stderr"], "cwd").run();
    assert_eq!(outcome_on_stderr(&ran), ActOutcome::Succeeded);
}
