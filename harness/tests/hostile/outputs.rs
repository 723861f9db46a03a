//! Outputs and their destinations: full devices, readers that go away, floods, and words that a
//! terminal or a CI runner would obey.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::stat::Mode;

use crate::baseline::ALLOWED;
use crate::context::{BOTH, FinishedRun, HostileRow, ORDINARY_ALONE, RowContext, User};
use crate::support::{PUBLIC_KEY, SIGNING_KEY, WORKS, has};

/// The number of programs at once.
const ABREAST: usize = 4;

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, check| HostileRow { name, users: BOTH, slow: false, check };
    vec![
        HostileRow {
            name: "standard-output-full",
            users: ORDINARY_ALONE,
            slow: false,
            check: standard_output_full,
        },
        HostileRow {
            name: "standard-output-closed",
            users: ORDINARY_ALONE,
            slow: false,
            check: standard_output_closed,
        },
        row("standard-error-full", standard_error_full),
        row("report-into-full-device", report_into_full_device),
        row("files-into-full-device", files_into_full_device),
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

/// Documents of the reference's verbs.
const DOCUMENTS: [(&str, &str); 4] = [
    ("codex.yaml", "name: codex\nprovider: codex\nprogram: codex\n"),
    ("config.yaml", "sandbox: {mode: workspace_write}\n"),
    ("settings.toml", "[sandbox]\nenabled = true\n"),
    (
        "host.yaml",
        "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec:\n  fsProfiles: {dev: {read: ['**']}}\n",
    ),
];

/// Makes a record, a key, a signature and the documents.
fn prepare(context: &RowContext) {
    record(context);
    for (name, text) in DOCUMENTS {
        context.place.write(name, text);
    }
    context.backend("tool", "exec \"$@\"");
    context.place.write("key.pem", SIGNING_KEY);
    context.place.write("public.pem", PUBLIC_KEY);
    context.place.write("boxproof.toml", "[baseline]\nrecord = \"record.ndjson\"\n");
    let arg = |name: &str| context.place.arg(name);
    let (record, key) = (arg("record.ndjson"), arg("key.pem"));
    let envelope = arg("home/record.intoto.json");
    let args = ["sign", &record, "--key", &key, "--out", &envelope];
    assert_eq!(context.finish(context.command(&args)).code, 0);
}

/// A line of every verb that prints, in every format: `@NAME` is a path in the place, `OUT` and
/// `@scratch` one of the line's own.
const LINES: [&str; 50] = [
    "--help",
    "--version",
    "list --cases @corpus",
    "list --format json --cases @corpus",
    "show a/one --cases @corpus",
    "explain a/one --cases @corpus",
    "lint --cases @corpus",
    "audit --cases @corpus --scratch @scratch",
    "doctor --scratch @scratch",
    "doctor --json --scratch @scratch",
    "backend list",
    "backend show none",
    "backend install-hint",
    "backend install-hint --script",
    "backend check none --scratch @scratch",
    "repro a/one --backend none --cases @corpus --scratch @scratch",
    "diff @record.ndjson @record.ndjson",
    "diff --format markdown @record.ndjson @record.ndjson",
    "compare @record.ndjson",
    "compare --format markdown @record.ndjson",
    "matrix --backends none --out @home/OUT --cases @corpus --scratch @scratch USER",
    "expect update --backend @tool.yaml --out @home/OUT --cases @corpus --scratch @scratch USER",
    "gate --policy @boxproof.toml @record.ndjson",
    "judge @record.ndjson",
    "sign @record.ndjson --key @key.pem --out @home/OUT",
    "verify @record.ndjson --key @public.pem --envelope @home/record.intoto.json",
    "bench --list",
    "probe --list",
    "reference capabilities",
    "reference --help",
    "reference --version",
    "reference executor @codex.yaml --workspace @home",
    "reference status --config @config.yaml --workspace @home",
    "reference settings --settings @settings.toml --workspace @home",
    "reference decide-ask --settings @settings.toml --workspace @home ls",
    "reference grants ls",
    "reference policy validate @host.yaml",
    "reference policy explain --policy @host.yaml --profile dev --workspace @home a",
    "reference effective --policy @host.yaml --profile dev",
    "reference check --policy @host.yaml --profile dev --workspace @home read a",
    "reference explain --workspace @home --exit 1 -- touch /etc/x",
    "reference receipts keys new --key @home/OUT",
    "reference receipts keys show --key @public.pem",
    "report --format terminal @record.ndjson",
    "report --format markdown @record.ndjson",
    "report --format html @record.ndjson",
    "run --format terminal --backend none --cases @corpus --scratch @scratch USER",
    "run --format markdown --backend none --cases @corpus --scratch @scratch USER",
    "run --format html --backend none --cases @corpus --scratch @scratch USER",
    "run --format ndjson --backend none --cases @corpus --scratch @scratch USER",
];

/// The lines that end otherwise than with 0, by their first words: this corpus is small, its requirement
/// lacks a denial, and what is asked is not granted.
const CODES: [(&str, i32); 5] = [
    ("backend check", 1),
    ("compare", 3),
    ("lint", 2),
    ("reference decide-ask", 1),
    ("reference grants", 1),
];

/// A line of every verb that writes a file, onto a device that is full.
const FILES: [&str; 10] = [
    "report @record.ndjson --junit /dev/full",
    "report @record.ndjson --sarif /dev/full",
    "report @record.ndjson --html /dev/full",
    "report @record.ndjson --markdown /dev/full",
    "report @record.ndjson --badge /dev/full",
    "report @record.ndjson --tap /dev/full",
    "report @record.ndjson --merged /dev/full",
    "gate --policy @boxproof.toml @record.ndjson --merged /dev/full",
    "sign @record.ndjson --key @key.pem --out /dev/full",
    "run --backend none --cases @corpus --scratch @scratch --junit /dev/full USER",
];

/// The words of `line`, the one of number `index`.
fn arguments(context: &RowContext, index: usize, line: &str) -> Vec<String> {
    let word = |word: &str| match word.strip_prefix('@') {
        Some("scratch") => context.place.arg(&format!("scratch-{index}")),
        Some(name) => context.place.arg(&name.replace("OUT", &format!("out-{index}"))),
        None => word.to_owned(),
    };
    let user = if context.user == User::Root { "--user root" } else { "" };
    line.replace("USER", user).split_whitespace().map(word).collect()
}

/// Runs every one of `lines` with `stdout`, several at once; returns exit codes and standard errors.
fn run_all(
    context: &RowContext,
    lines: &[&str],
    stdout: impl Fn() -> Stdio + Sync,
) -> Vec<(i32, String)> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![(0, String::new()); lines.len()]);
    let work = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        for index in numbers.take_while(|index| *index < lines.len()) {
            let args = arguments(context, index, lines[index]);
            let mut command = context.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
            command.stdout(stdout()).stderr(Stdio::piped());
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            found.lock().unwrap()[index] = (output.status.code().unwrap(), said);
        }
    };
    std::thread::scope(|scope| (0..ABREAST).for_each(|_| drop(scope.spawn(work))));
    assert!(context.processes().is_empty(), "{:?}", context.processes());
    let scratch = |index: &usize| context.place.path(&format!("scratch-{index}")).exists();
    assert_eq!((0..lines.len()).find(scratch), None, "its scratch directory is left");
    found.into_inner().unwrap()
}

/// Checks that no line has a fault, by itself, its exit code and its standard error.
#[track_caller]
fn no_faults(lines: &[&str], found: &[(i32, String)], fault: impl Fn(&str, i32, &str) -> bool) {
    let faults: Vec<String> = lines
        .iter()
        .zip(found)
        .filter(|(line, (code, said))| fault(line, *code, said))
        .map(|(line, (code, said))| format!("{line}: exit {code}: {said}"))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

fn standard_output_full(context: &RowContext) {
    prepare(context);
    let found = run_all(context, &LINES, || full().into());
    no_faults(&LINES, &found, |line, code, said| {
        let program = match line.split(' ').next() {
            Some("reference") => "refbox",
            Some("probe") => "boxprobe",
            _ => "boxproof",
        };
        let start = format!("{program}: standard output: ");
        let told = said.lines().filter(|line| line.starts_with(&start));
        let told = told.filter(|line| line.contains("No space left on device")).count();
        told != 1 || [0, 101].contains(&code)
    });
}

fn standard_output_closed(context: &RowContext) {
    prepare(context);
    let found = run_all(context, &LINES, || {
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        write.into()
    });
    no_faults(&LINES, &found, |line, code, said| {
        let wanted = CODES.iter().find(|(words, _)| line.starts_with(words));
        code != wanted.map_or(0, |(_, code)| *code)
            || said.contains("panicked")
            || said.contains("standard output")
    });
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

fn files_into_full_device(context: &RowContext) {
    prepare(context);
    let found = run_all(context, &FILES, Stdio::null);
    no_faults(&FILES, &found, |_, code, said| {
        code != 3 || said != "boxproof: /dev/full: No space left on device (os error 28)\n"
    });
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
