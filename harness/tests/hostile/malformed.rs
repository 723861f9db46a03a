//! Malformed cases, manifests and known lists: each is refused with file and field before anything
//! runs, in well under a second of work.

use std::os::unix::fs::symlink;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::context::{BOTH, HostileRow, RowContext, User};

/// A case that passes.
const CASE: &str = "purpose: A command says hello.
requirement: R-test
act: {sh: echo hello}
expect: {allowed: {}, exit: 0}
";
/// A manifest that can be used.
const MANIFEST: &str =
    "name: box\nsummary: H.\nprogram: /bin/true\nargv: '{{ command }}'\nclaims: all\n";
/// The usage error's exit code.
const USAGE: i32 = 2;

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, check| HostileRow { name, users: BOTH, slow: false, check };
    let for_one = |name, check| HostileRow { users: &[User::Ordinary], ..row(name, check) };
    vec![
        row("fixtures-that-leave-the-arm", fixtures),
        for_one("malformed-cases", cases),
        for_one("malformed-manifests", manifests),
        for_one("malformed-known-lists", known_lists),
    ]
}

/// Runs the own corpus `own` against `none`; it must be refused with `message`.
#[track_caller]
fn refuses_case(context: &RowContext, message: &str) {
    let cases = context.place.arg("own");
    refuses(context, &["--cases", &cases, "--backend", "none"], message);
}

/// Runs a good case against the manifest `name`, which must be refused with `message`.
#[track_caller]
fn refuses_backend(context: &RowContext, name: &str, message: &str) {
    lay_out(context, CASE.as_bytes());
    let (cases, backend) = (context.place.arg("own"), context.place.arg(name));
    refuses(context, &["--cases", &cases, "--backend", &backend], message);
}

/// Runs with `more`, which must be refused with `message` and leave nothing.
#[track_caller]
fn refuses(context: &RowContext, more: &[&str], message: &str) {
    let args = [context.arguments(&[], &[]), more.iter().map(ToString::to_string).collect()];
    let args = args.concat();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command(&args));
    ran.is_bounded();
    assert_eq!(ran.code, USAGE, "{message}: {ran:#?}");
    assert!(ran.stderr.contains(message), "{message}: {ran:#?}");
    assert!(ran.rows.is_empty(), "{ran:#?}");
}

/// Lays out the corpus `own` with one case.
fn lay_out(context: &RowContext, case: &[u8]) {
    let own = context.place.path("own");
    std::fs::create_dir_all(own.join("requirements")).unwrap();
    std::fs::create_dir_all(own.join("fs")).unwrap();
    let requirement = "R-test: {text: It works., source: a test}\n";
    std::fs::write(own.join("requirements/r.yaml"), requirement).unwrap();
    std::fs::write(own.join("fs/one.yaml"), case).unwrap();
}

/// Checks that no path of a fixture plants anything outside the arm.
fn fixtures(context: &RowContext) {
    let planted = context.place.path("state/planted");
    let target = planted.display();
    let rising = format!("{}{target}", "../".repeat(12).trim_end_matches('/'));
    let fixtures = [
        (format!("{{{target}: x}}"), "lies outside"),
        (format!("{{{rising}: x}}"), "lies outside"),
        (format!("{{$OUT/{rising}: x}}"), "lies outside"),
        (format!("{{l: {{link: {}}}, l/planted: x}}", context.place.arg("state")), "the link"),
        (format!("{{l: {{link: {target}}}, ./l: x}}"), "the same place"),
        ("{f: {hardlink: /etc/passwd}}".to_owned(), "lies outside"),
    ];
    for (fixture, message) in fixtures {
        lay_out(context, format!("{CASE}fixture: {fixture}\n").as_bytes());
        refuses_case(context, message);
        refuses_case(context, "fs/one.yaml:5:");
        refuses_case(context, ": fixture: ");
        assert!(!planted.exists(), "{fixture}");
    }
}

fn cases(context: &RowContext) {
    let deep = format!("{CASE}fixture: {}\n", "[".repeat(50_000));
    let more = |line: &str| format!("{CASE}{line}\n").into_bytes();
    let texts = [
        (deep.into_bytes(), "fs/one.yaml:5:1: more than 64 lists"),
        ([CASE.as_bytes(), b"# \xff\n"].concat(), "fs/one.yaml:5: not UTF-8"),
        (more(&format!("# {}", "x".repeat(2 << 20))), "fs/one.yaml: more than 1048576 bytes"),
        (more("repeat: 4294967295"), "fs/one.yaml:5:1: repeat: 4294967295 is more than"),
        (more("purpose: Again."), "fs/one.yaml:5:1: duplicate key `purpose`"),
        (
            CASE.replace("sh: echo hello", "probe: nope").into_bytes(),
            "fs/one.yaml:3:14: probe-call: ",
        ),
    ];
    for (text, message) in texts {
        lay_out(context, &text);
        refuses_case(context, message);
    }
}

fn manifests(context: &RowContext) {
    let texts = [
        (
            "'{{ command }}'",
            "'{{ command | nope }}'",
            "bad.yaml:4: argv: there is no filter `nope`",
        ),
        (
            "'{{ command }}'",
            "\"{% if uid is nope %}x{% endif %}\"",
            "bad.yaml:4: argv: there is no test `nope`",
        ),
        ("'{{ command }}'", "\"{% include 'x' %}\"", "bad.yaml:4: argv: "),
        ("claims: all", "claims: all\nstop: {signal: NOPE}", "bad.yaml:6: stop.signal: `NOPE`"),
        ("claims: all", "residue: ['$WS/[']", "bad.yaml:5: residue: "),
        ("claims: all", "stop: {grace_ms: 18446744073709551615}", "bad.yaml:5: stop.grace_ms: "),
        ("name: box", "name: reference", "bad.yaml:1: name: "),
        ("name: box", "name: none", "bad.yaml:1: name: "),
        ("claims: all", "claims: all\nname: two", "bad.yaml:6: duplicate key `name`"),
    ];
    for (from, to, message) in texts {
        context.place.write("bad.yaml", &MANIFEST.replace(from, to));
        refuses_backend(context, "bad.yaml", message);
    }
}

fn known_lists(context: &RowContext) {
    let row = "- {case: fs/x, verdict: leak, signature: residue, reason: R.}\n";
    context.place.write("box.yaml", MANIFEST);
    let list = context.place.path("box.known.yaml");
    let lists = [
        (row.replace("fs/x", "'**'"), "box.known.yaml"),
        (row.replace("fs/x", "'**'"), "every area"),
        (row.replace("R.", "R., expires: 2027-02-29"), "is no day"),
        (row.repeat(2), "box.known.yaml:2: row 2, fs/x: the same"),
    ];
    for (text, message) in lists {
        std::fs::write(&list, text).unwrap();
        refuses_backend(context, "box.yaml", message);
    }
    std::fs::remove_file(&list).unwrap();
    mkfifo(&list, Mode::from_bits_truncate(0o644)).unwrap();
    refuses_backend(context, "box.yaml", "box.known.yaml: cannot be read: not a plain file");
    std::fs::remove_file(&list).unwrap();
    symlink("/dev/zero", &list).unwrap();
    refuses_backend(context, "box.yaml", "box.known.yaml: cannot be read: not a plain file");
}
