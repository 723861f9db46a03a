//! Outputs and their destinations: full devices, readers that go away, floods, and words that a
//! terminal or a CI runner would obey.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use nix::sys::stat::Mode;

use crate::baseline::ALLOWED;
use crate::context::{BOTH, FinishedRun, HostileRow, RowContext, User};
use crate::support::{WORKS, has};

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, check| HostileRow { name, users: BOTH, slow: false, check };
    vec![
        row("standard-output-full", standard_output_full),
        HostileRow {
            name: "standard-output-closed",
            users: BOTH,
            slow: true,
            check: standard_output_closed,
        },
        row("standard-error-full", standard_error_full),
        row("report-into-full-device", report_into_full_device),
        row("pages-into-full-device", pages_into_full_device),
        row("report-into-missing-directory", report_into_missing_directory),
        row("report-into-pipe", report_into_pipe),
        row("report-into-standard-output", report_into_standard_output),
        row("report-through-own-link", report_through_own_link),
        row("capabilities-flood", capabilities_flood),
        row("version-flood", version_flood),
        row("words-of-a-terminal", words_of_a_terminal),
        row("words-of-a-terminal-before-a-run", words_of_a_terminal_before_a_run),
        row("message-of-900-kilobytes", message_of_900_kilobytes),
        row("record-with-an-endless-line", record_with_an_endless_line),
    ]
}

/// Makes one case, and a record of it against no sandbox.
fn record(context: &RowContext) {
    context.place.write("corpus/a/one.yaml", WORKS);
    let (cases, scratch) = (context.place.arg("corpus"), context.place.arg("scratch"));
    let report = context.place.arg("record.ndjson");
    let args = ["run", "--backend", "none", "--cases", &cases, "--scratch", &scratch];
    let ran = context.finish(context.command(&[&args[..], &["--report", &report]].concat()));
    assert_eq!(ran.code, 0, "{ran:#?}");
}

/// A line of every verb that prints, in every format.
fn lines(context: &RowContext) -> Vec<Vec<String>> {
    let arg = |name: &str| context.place.arg(name);
    let (record, cases, scratch) = (arg("record.ndjson"), arg("corpus"), arg("scratch"));
    let out = arg("home/matrix");
    let known = arg("home/none.known.yaml");
    let policy = arg("boxproof.toml");
    context.place.write("boxproof.toml", "[baseline]\nrecord = \"record.ndjson\"\n");
    let tool = context.backend("tool", "exec \"$@\"");
    let of_cases = format!("--cases {cases} --scratch {scratch}");
    let as_we_are = if context.user == User::Root { " --user root" } else { "" };
    let mut lines = vec![
        "--help".to_owned(),
        "--version".to_owned(),
        format!("list --cases {cases}"),
        format!("list --format json --cases {cases}"),
        format!("show a/one --cases {cases}"),
        format!("explain a/one --cases {cases}"),
        format!("lint --cases {cases}"),
        format!("audit {of_cases}"),
        format!("doctor --scratch {scratch}"),
        format!("doctor --json --scratch {scratch}"),
        "backend list".to_owned(),
        "backend show none".to_owned(),
        "backend install-hint".to_owned(),
        "backend install-hint --script".to_owned(),
        format!("backend check none --scratch {scratch}"),
        format!("repro a/one --backend none --cases {cases} --scratch {scratch}"),
        format!("diff {record} {record}"),
        format!("diff --format markdown {record} {record}"),
        format!("compare {record}"),
        format!("compare --format markdown {record}"),
        format!("matrix --backends none --out {out} {of_cases}{as_we_are}"),
        format!("expect update --backend {tool} --out {known} {of_cases}{as_we_are}"),
        format!("gate --policy {policy} {record}"),
        "reference capabilities".to_owned(),
        "reference --help".to_owned(),
        "reference --version".to_owned(),
    ];
    for format in ["terminal", "markdown", "html"] {
        lines.push(format!("report --format {format} {record}"));
    }
    for format in ["terminal", "markdown", "html", "ndjson"] {
        lines.push(format!("run --format {format} --backend none {of_cases}{as_we_are}"));
    }
    lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn run_into(context: &RowContext, line: &[String], stdout: Stdio) -> FinishedRun {
    let args: Vec<&str> = line.iter().map(String::as_str).collect();
    let mut command = context.command(&args);
    command.stdout(stdout);
    context.finish(command)
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

fn standard_output_full(context: &RowContext) {
    record(context);
    for line in lines(context) {
        let ran = run_into(context, &line, full().into());
        ran.is_bounded();
        assert!(ran.code != 0 && ran.code != 101, "{line:?}: {ran:#?}");
        let says = match line[0].as_str() {
            "reference" => "refbox: standard output: No space left on device",
            _ => "boxproof: standard output: No space left on device",
        };
        has(&ran.stderr, says);
    }
}

fn standard_output_closed(context: &RowContext) {
    record(context);
    for line in lines(context) {
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        let closed = run_into(context, &line, write.into());
        let open = run_into(context, &line, Stdio::null());
        assert_eq!(closed.code, open.code, "{line:?}: {closed:#?}");
        assert!(!closed.stderr.contains("panicked"), "{line:?}: {closed:#?}");
        assert!(!closed.stderr.contains("standard output"), "{line:?}: {closed:#?}");
    }
}

fn standard_error_full(context: &RowContext) {
    record(context);
    let mut command = context.command(&["list", "no/such/case"]);
    command.stderr(full());
    let ran = context.finish(command);
    assert_eq!(ran.code, 4, "{ran:#?}");
}

fn run_with_report(context: &RowContext, report: &str) -> FinishedRun {
    context.place.write("corpus/a/one.yaml", WORKS);
    let (cases, scratch) = (context.place.arg("corpus"), context.place.arg("scratch"));
    let args = ["run", "--backend", "none", "--cases", &cases, "--scratch", &scratch];
    context.finish(context.command(&[&args[..], &["--report", report]].concat()))
}

fn report_into_full_device(context: &RowContext) {
    let ran = run_with_report(context, "/dev/full");
    assert_eq!(ran.code, 3, "{ran:#?}");
    has(&ran.stderr, "boxproof: /dev/full: No space left on device");
    has(&ran.stdout, "1 cases: 1 pass");
}

fn pages_into_full_device(context: &RowContext) {
    record(context);
    let record = context.place.arg("record.ndjson");
    for form in ["--junit", "--sarif", "--html", "--markdown", "--badge", "--tap"] {
        let ran = context.finish(context.command(&["report", &record, form, "/dev/full"]));
        assert_eq!(ran.code, 3, "{form}: {ran:#?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{form}: {ran:#?}");
        has(&ran.stderr, "boxproof: /dev/full: No space left on device");
        has(&ran.stdout, "1 cases: 1 pass");
    }
}

fn report_into_missing_directory(context: &RowContext) {
    let ran = run_with_report(context, &context.place.arg("no/such/record.ndjson"));
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:#?}");
    has(&ran.stderr, "no/such: No such file or directory");
}

fn report_into_pipe(context: &RowContext) {
    let pipe = context.place.path("home/pipe");
    nix::unistd::mkfifo(&pipe, Mode::from_bits_truncate(0o600)).unwrap();
    context.hand_over("home/pipe");
    let report = context.place.arg("home/pipe");
    let ran = run_with_report(context, &report);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:#?}");
    has(&ran.stderr, "nothing reads from it");
    let path = pipe.clone();
    let reader = std::thread::spawn(move || std::fs::read_to_string(path).unwrap());
    // Opening it for writing waits for the reader.
    let writer = File::options().write(true).open(&pipe).unwrap();
    let ran = run_with_report(context, &report);
    drop(writer);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(reader.join().unwrap().lines().count(), 3);
}

fn report_into_standard_output(context: &RowContext) {
    for path in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let ran = run_with_report(context, path);
        assert_eq!(ran.code, 0, "{ran:#?}");
        assert!(ran.stdout.starts_with("{\"type\":\"header\""), "{}", ran.stdout);
        has(&ran.stdout, "1 cases: 1 pass");
    }
}

fn report_through_own_link(context: &RowContext) {
    let place = &context.place;
    place.write("home/real.ndjson", "old");
    symlink("real.ndjson", place.path("home/link.ndjson")).unwrap();
    if context.user == User::Ordinary {
        context.hand_over("home/real.ndjson");
        nix::unistd::fchownat(
            nix::fcntl::AT_FDCWD,
            &place.path("home/link.ndjson"),
            Some(crate::context::ORDINARY.into()),
            None,
            nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW,
        )
        .unwrap();
    }
    let ran = run_with_report(context, &place.arg("home/link.ndjson"));
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(place.path("home/link.ndjson").is_symlink());
    assert_eq!(place.record("home/real.ndjson").len(), 3);
}

fn capabilities_flood(context: &RowContext) {
    for stream in ["", " >&2"] {
        let script =
            format!("#!/bin/sh\nhead -c 90000000 /dev/zero | tr '\\0' x{stream}\nexit 1\n");
        context.place.program("flood", &script);
        let program = context.place.arg("flood");
        let ran = context.finish(context.command(&["backend", "show", &program]));
        ran.is_bounded();
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.stderr.len() < 2000, "{} bytes", ran.stderr.len());
        has(&ran.stderr, "more than");
    }
}

fn version_flood(context: &RowContext) {
    let manifest =
        "name: tool\nsummary: T.\nprogram: PROGRAM\nargv: x\nversion: [-v]\nclaims: all\n";
    let program = context.place.program("tool", "#!/bin/sh\nprintf '1%0300000d' 0\n");
    context.place.write("tool.yaml", &manifest.replace("PROGRAM", program.to_str().unwrap()));
    let spec = context.place.arg("tool.yaml");
    let ran = context.finish(context.command(&["backend", "show", &spec]));
    assert_eq!(ran.code, 0, "{ran:#?}");
    let longest = ran.stdout.lines().map(|line| line.chars().count()).max();
    assert!(longest < Some(500), "{longest:?}");
}

/// Words that a terminal or a runner obeys, as printf(1) takes them; behind them so many others
/// that wrapping puts each at the start of a line somewhere.
const WORDS: &str = "\\033[2J\\033]52;c;eA==\\007\\000\\342\\200\\256 ::add-mask::pass \
    ::stop-commands::x ##[group]y ##vso[task.z] ]]> </script> \\302\\2332J";

/// Checks that nothing in `text` is one of those.
#[track_caller]
fn obeys_nothing(text: &str) {
    let is_control = |c: char| c.is_control() && c != '\n';
    let hidden = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{200b}'..='\u{200f}');
    assert!(!text.contains(|c| is_control(c) || hidden(c)), "{text:?}");
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::") || is_annotation(line), "{line}");
        assert!(!line.contains("##[") && !line.contains("##vso["), "{line}");
    }
}

/// Returns whether `line` is the program's own annotation of the one case, whose message is data to
/// a runner.
fn is_annotation(line: &str) -> bool {
    let place = "/corpus/a/one.yaml,title=noisy%3A a/one::";
    ["::error file=/", "::warning file=/"].iter().any(|start| line.starts_with(start))
        && line.split_once(place).is_some_and(|(before, _)| !before[2..].contains("::"))
}

fn words_of_a_terminal(context: &RowContext) {
    let fill: String = (1..40).map(|n| format!(" {} ::set-env::a", "x".repeat(n))).collect();
    let refuses = format!(
        "printf '{WORDS}\\n::error::b\\n'\nprintf '\\n  ::error::b\\n' >&2\ncat > \"$result\" <<'END'\n\
         {{\"protocol\": 1, \"started\": false, \"success\": false, \"error\": {{\"kind\": \
         \"setup\", \"message\": \"\\u001b]52;c;eA==\\u0007{fill}\\n::error::b ##[group]\"}}}}\n\
         END\nexit 126"
    );
    let spec = context.native("noisy", &refuses, "");
    context.place.write("corpus/a/one.yaml", WORKS);
    let (cases, scratch) = (context.place.arg("corpus"), context.place.arg("scratch"));
    for format in ["terminal", "markdown", "html", "ndjson"] {
        let mut args =
            vec!["run", "--backend", &spec, "--cases", &cases, "--scratch", &scratch, "-v"];
        args.extend(["--format", format]);
        if context.user == User::Root {
            args.extend(["--user", "root"]);
        }
        let mut command = context.command(&args);
        command.env("GITHUB_ACTIONS", "true").env("COLUMNS", "60");
        let ran = context.finish(command);
        assert_eq!(ran.code, 4, "{ran:#?}");
        has(&ran.stdout, "set-env");
        obeys_nothing(&ran.stdout);
        obeys_nothing(&ran.stderr);
    }
}

fn words_of_a_terminal_before_a_run(context: &RowContext) {
    let refuses = format!("#!/bin/sh\nprintf '{WORDS}\\n::error::c\\n' >&2\nexit 1\n");
    context.place.program("refuses", &refuses);
    let refuses = context.place.arg("refuses");
    let ran = context.finish(context.command(&["backend", "show", &refuses]));
    assert_eq!(ran.code, 2, "{ran:#?}");
    has(&ran.stderr, "52;c;eA==");
    obeys_nothing(&ran.stderr);
    let says = r#"{"protocol": 1, "name": "b", "version": "WORDS", "mechanism": "WORDS",
        "mechanisms": ["WORDS"], "claims": {"fs.write": "enforced"}, "limits": ["WORDS", "\n::error::d"]}"#;
    let words = "\\u001b]52;c;eA==\\u0007 \\u0000 \\u202e ::add-mask::p ##[group]";
    let answer = says.replace("WORDS", words).replace('\n', " ");
    context.place.program("answers", &format!("#!/bin/sh\ncat <<'END'\n{answer}\nEND\n"));
    let answers = context.place.arg("answers");
    let ran = context.finish(context.command(&["backend", "show", &answers]));
    assert_eq!(ran.code, 0, "{ran:#?}");
    has(&ran.stdout, "52;c;eA==");
    obeys_nothing(&ran.stdout);
}

fn message_of_900_kilobytes(context: &RowContext) {
    let long = "i=$(head -c 900000 /dev/zero | tr '\\0' m)\n\
        printf '{\"protocol\": 1, \"started\": false, \"success\": false, \"error\": \
        {\"kind\": \"unavailable\", \"message\": \"%s\"}}' \"$i\" > \"$result\"\nexit 126";
    let spec = context.native("wordy", long, "");
    let ran = context.run(&spec, &[ALLOWED]);
    ran.is_bounded();
    let longest = ran.stdout.lines().map(str::len).max();
    assert!(longest < Some(4000), "{longest:?}");
    let message = ran.rows[0]["message"].as_str().unwrap();
    has(message, "mmm");
    assert!(message.len() <= 2048, "{} bytes", message.len());
    let record = std::fs::read(context.place.path("record.ndjson")).unwrap();
    assert!(record.len() < 64 << 10, "{} bytes", record.len());
}

fn record_with_an_endless_line(context: &RowContext) {
    record(context);
    let head = std::fs::read_to_string(context.place.path("record.ndjson")).unwrap();
    let mut file = File::create(context.place.path("long.ndjson")).unwrap();
    writeln!(file, "{}", head.lines().next().unwrap()).unwrap();
    for _ in 0..200 {
        file.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    let long = context.place.arg("long.ndjson");
    let ran = context.finish(context.command(&["report", &long]));
    ran.is_bounded();
    assert_eq!(ran.code, 2, "{ran:#?}");
    has(&ran.stderr, "long.ndjson: line 2: more than 64 MiB");
}
