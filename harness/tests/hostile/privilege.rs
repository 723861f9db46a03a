//! Root and the obstacles that an ordinary user can put in its way: links, pipes and directories
//! in the place of outputs, and programs that root queries about themselves.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use nix::sys::stat::Mode;
use nix::unistd::User as Account;

use crate::context::{BOTH, FinishedRun, HostileRow, ORDINARY, RowContext, User};
use crate::support::{WORKS, account, has};

const ROOT: &[User] = &[User::Root];

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, users, check| HostileRow { name, users, slow: false, check };
    vec![
        row("matrix-links-planted", ROOT, matrix_links_planted),
        row("matrix-readme-link-planted", ROOT, matrix_readme_link_planted),
        row("matrix-directory-replaced", ROOT, matrix_directory_replaced),
        row("matrix-into-link-of-another", ROOT, matrix_into_link_of_another),
        row("report-replaced-by-link", ROOT, report_replaced_by_link),
        row("report-directory-moved", ROOT, report_directory_moved),
        row("report-through-two-users", ROOT, report_through_two_users),
        row("report-where-everyone-writes", ROOT, report_where_everyone_writes),
        row("known-list-link-planted", ROOT, known_list_link_planted),
        row("export-into-link-of-another", ROOT, export_into_link_of_another),
        row("no-verb-asks-as-root", ROOT, no_verb_asks_as_root),
        row("pipes-as-inputs", BOTH, pipes_as_inputs),
    ]
}

/// The words that a file of root's holds before and after.
const KEPT: &str = "root's own\n";
/// A page for the summary.
const PAGE: &str = "# Page\n\n<!-- matrix -->\nold\n<!-- /matrix -->\n";

/// A directory of an account's in the place of a row, and one that only root can look into.
struct Checkout<'a> {
    context: &'a RowContext,
    account: Account,
}

impl<'a> Checkout<'a> {
    /// Makes the row; none where this host has no ordinary account.
    fn new(context: &'a RowContext) -> Option<Self> {
        let Some(account) = account() else {
            println!("not tried: this host has no ordinary account with a home");
            return None;
        };
        let place = &context.place;
        for name in ["a/one", "a/two"] {
            place.write(&format!("corpus/{name}.yaml"), WORKS);
        }
        place.write("checkout/README.md", PAGE);
        for name in ["matrix.md", "matrix.html", "README.md", "record.ndjson"] {
            place.write(&format!("secret/{name}"), KEPT);
            std::fs::set_permissions(
                place.path(&format!("secret/{name}")),
                Permissions::from_mode(0o600),
            )
            .unwrap();
        }
        std::fs::set_permissions(place.path("secret"), Permissions::from_mode(0o700)).unwrap();
        let checkout = Self { context, account };
        ["checkout", "checkout/README.md", "state"].iter().for_each(|name| checkout.give(name));
        Some(checkout)
    }

    fn give(&self, name: &str) {
        let (uid, gid) = (self.account.uid.as_raw(), self.account.gid.as_raw());
        chown(self.context.place.path(name), Some(uid), Some(gid)).unwrap();
    }

    /// A backend for ordinary users that runs everything after `script` was run once the file
    /// `state/go` is there.
    fn backend(&self, script: &str) -> String {
        let secret = self.context.place.arg("secret");
        let script = script.replace("$SECRET", &secret);
        let checkout = self.context.place.arg("checkout");
        self.context.backend(
            "tool",
            &format!("if [ -e $STATE/go ]; then cd {checkout}; {script}\nfi\nexec \"$@\""),
        )
    }

    fn go(&self) {
        self.context.place.write("state/go", "");
    }

    fn matrix(&self, backend: &str) -> FinishedRun {
        let arg = |name: &str| self.context.place.arg(name);
        let (out, readme) = (arg("checkout/reports/matrix"), arg("checkout/README.md"));
        let (cases, scratch) = (arg("corpus"), arg("state/scratch"));
        let args =
            ["matrix", "--user", &self.account.name, "--backends", backend, "--cases", &cases];
        let more = ["--out", &out, "--readme", &readme, "--scratch", &scratch];
        self.context.finish(self.context.command(&[&args[..], &more[..]].concat()))
    }

    fn run(&self, backend: &str, report: &str) -> FinishedRun {
        let arg = |name: &str| self.context.place.arg(name);
        let (cases, scratch) = (arg("corpus"), arg("state/scratch"));
        let args = ["run", "--user", &self.account.name, "--backend", backend, "--cases", &cases];
        let more = ["--report", report, "--scratch", &scratch];
        self.context.finish(self.context.command(&[&args[..], &more[..]].concat()))
    }

    /// Checks that every file of root has its bytes, and that none was added.
    #[track_caller]
    fn is_safe(&self) {
        let mut names: Vec<_> = std::fs::read_dir(self.context.place.path("secret"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["README.md", "matrix.html", "matrix.md", "record.ndjson"]);
        for name in names {
            let file = self.context.place.path("secret").join(name);
            assert_eq!(std::fs::read_to_string(&file).unwrap(), KEPT, "{}", file.display());
        }
    }

    /// The file called `name` is a plain one of the account's.
    #[track_caller]
    fn is_the_accounts(&self, name: &str) {
        let meta = self.context.place.path(name).symlink_metadata().unwrap();
        assert!(meta.is_file(), "{name} is no plain file");
        assert_eq!(meta.uid(), self.account.uid.as_raw(), "{name}");
    }

    /// The names of the records in the directory of the matrix.
    fn records(&self) -> Vec<String> {
        let entries =
            std::fs::read_dir(self.context.place.path("checkout/reports/matrix")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".ndjson")).collect()
    }
}

fn matrix_links_planted(context: &RowContext) {
    let Some(checkout) = Checkout::new(context) else { return };
    let backend = checkout.backend(
        "cd reports/matrix; for f in matrix.md matrix.html; do ln -sfn $SECRET/$f $f; done\n\
         for f in run-*; do ln -sfn $SECRET/record.ndjson $f; done",
    );
    let first = checkout.matrix(&backend);
    assert_eq!(first.code, 0, "{first:#?}");
    let page = std::fs::read_to_string(context.place.path("checkout/README.md")).unwrap();
    has(&page, "| tool");
    checkout.is_the_accounts("checkout/README.md");
    checkout.go();
    let ran = checkout.matrix(&backend);
    ran.is_bounded();
    assert_eq!(ran.code, 0, "{ran:#?}");
    checkout.is_safe();
    let records = checkout.records();
    assert_eq!(records.len(), 1, "{records:?}");
    for name in records.iter().map(String::as_str).chain(["matrix.md", "matrix.html"]) {
        checkout.is_the_accounts(&format!("checkout/reports/matrix/{name}"));
    }
}

fn matrix_readme_link_planted(context: &RowContext) {
    let Some(checkout) = Checkout::new(context) else { return };
    context.place.write("secret/README.md", PAGE);
    let backend = checkout.backend("ln -sfn $SECRET/README.md README.md");
    checkout.go();
    let ran = checkout.matrix(&backend);
    assert_eq!(ran.code, 2, "{ran:#?}");
    has(&ran.stderr, "README.md: Too many levels of symbolic links");
    let kept = std::fs::read_to_string(context.place.path("secret/README.md")).unwrap();
    assert_eq!(kept, PAGE);
}

fn matrix_directory_replaced(context: &RowContext) {
    let Some(checkout) = Checkout::new(context) else { return };
    let backend = checkout.backend(
        "[ -L reports/matrix ] || { mv reports/matrix old; ln -s $SECRET reports/matrix; }",
    );
    checkout.go();
    let ran = checkout.matrix(&backend);
    assert_eq!(ran.code, 3, "{ran:#?}");
    has(&ran.stderr, "its directory was moved meanwhile");
    checkout.is_safe();
}

fn matrix_into_link_of_another(context: &RowContext) {
    let Some(checkout) = Checkout::new(context) else { return };
    std::fs::create_dir(context.place.path("checkout/reports")).unwrap();
    checkout.give("checkout/reports");
    symlink(context.place.path("secret"), context.place.path("checkout/reports/matrix")).unwrap();
    let ran = checkout.matrix(&checkout.backend(""));
    assert_eq!(ran.code, 2, "{ran:#?}");
    has(&ran.stderr, "`matrix` is a link that another user can have made");
    checkout.is_safe();
}

fn report_replaced_by_link(context: &RowContext) {
    let Some(checkout) = Checkout::new(context) else { return };
    let backend = checkout.backend("ln -sfn $SECRET/record.ndjson record.ndjson");
    checkout.go();
    let report = context.place.arg("checkout/record.ndjson");
    let ran = checkout.run(&backend, &report);
    ran.is_bounded();
    assert_eq!(ran.code, 0, "{ran:#?}");
    checkout.is_the_accounts("checkout/record.ndjson");
    assert_eq!(context.place.record("checkout/record.ndjson").len(), 4);
    checkout.is_safe();
}

fn report_directory_moved(context: &RowContext) {
    let Some(checkout) = Checkout::new(context) else { return };
    std::fs::create_dir(context.place.path("checkout/reports")).unwrap();
    checkout.give("checkout/reports");
    let backend = checkout.backend("[ -L reports ] || { mv reports old; ln -s $SECRET reports; }");
    checkout.go();
    let ran = checkout.run(&backend, &context.place.arg("checkout/reports/record.ndjson"));
    assert_eq!(ran.code, 3, "{ran:#?}");
    has(&ran.stderr, "its directory was moved meanwhile");
    has(&ran.stdout, "2 pass");
    checkout.is_safe();
}

fn report_through_two_users(context: &RowContext) {
    let Some(checkout) = Checkout::new(context) else { return };
    std::fs::create_dir(context.place.path("checkout/foreign")).unwrap();
    chown(context.place.path("checkout/foreign"), Some(ORDINARY), Some(ORDINARY)).unwrap();
    let backend = checkout.backend("");
    let ran = checkout.run(&backend, &context.place.arg("checkout/foreign/record.ndjson"));
    assert_eq!(ran.code, 2, "{ran:#?}");
    has(&ran.stderr, "the directory `foreign` belongs to uid 1500");
}

fn report_where_everyone_writes(context: &RowContext) {
    std::fs::create_dir(context.place.path("open")).unwrap();
    std::fs::set_permissions(context.place.path("open"), Permissions::from_mode(0o777)).unwrap();
    context.place.write("corpus/a/one.yaml", WORKS);
    let (cases, report) = (context.place.arg("corpus"), context.place.arg("open/record.ndjson"));
    let args = ["run", "--backend", "none", "--cases", &cases, "--report", &report];
    let ran = context.finish(context.command(&args));
    assert_eq!(ran.code, 2, "{ran:#?}");
    has(&ran.stderr, "everyone can write to the directory `open`");
}

fn known_list_link_planted(context: &RowContext) {
    let Some(checkout) = Checkout::new(context) else { return };
    let backend = checkout.backend("");
    let arg = |name: &str| context.place.arg(name);
    // The record of a failing case, so that there is a list to write.
    context.place.write("corpus/a/one.yaml", crate::support::DENIED);
    let recorded = checkout.run(&backend, &arg("record.ndjson"));
    assert_eq!(recorded.code, 1, "{recorded:#?}");
    let (out, cases, report) =
        (arg("checkout/tool.known.yaml"), arg("corpus"), arg("record.ndjson"));
    for planted in ["tool.known.yaml", "tool.known.yaml.new"] {
        symlink(
            context.place.path("secret/record.ndjson"),
            context.place.path("checkout").join(planted),
        )
        .unwrap();
        let args = ["expect", "update", "--backend", &backend, "--out", &out, "--cases", &cases];
        let ran = context.finish(context.command(&[&args[..], &["--report", &report]].concat()));
        checkout.is_safe();
        match planted {
            "tool.known.yaml" => {
                assert_eq!(ran.code, 2, "{ran:#?}");
                has(&ran.stderr, "another user can have put that there");
                std::fs::remove_file(context.place.path("checkout/tool.known.yaml")).unwrap();
            }
            _ => assert_eq!(ran.code, 0, "{ran:#?}"),
        }
    }
    checkout.is_the_accounts("checkout/tool.known.yaml");
}

fn export_into_link_of_another(context: &RowContext) {
    let Some(checkout) = Checkout::new(context) else { return };
    let (cases, place) = (context.place.arg("corpus"), &context.place);
    std::fs::create_dir(place.path("empty")).unwrap();
    symlink(place.path("empty"), place.path("checkout/out")).unwrap();
    let export = |to: &str| {
        let to = place.arg(to);
        let args = ["repro", "a/one", "--backend", "none", "--cases", &cases, "--export", &to];
        context.finish(context.command(&args))
    };
    let ran = export("checkout/out");
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert_eq!(std::fs::read_dir(place.path("empty")).unwrap().count(), 0);
    let ran = export("checkout/new/out");
    assert_eq!(ran.code, 0, "{ran:#?}");
    checkout.is_the_accounts("checkout/new/out/repro.sh");
}

/// Makes a backend for ordinary users whose program logs the user that starts it.
fn logging(context: &RowContext, name: &str, manifest: &str, otherwise: &str) -> String {
    let state = context.place.arg("state");
    let program = context.place.program(
        &format!("bin/{name}"),
        &format!(
            "#!/bin/sh\necho \"$*\" >> {state}/as.$(id -u)\n\
             case $1 in --version) echo {name} version 0.9.72; exit;; esac\n{otherwise}\n"
        ),
    );
    chown(&program, Some(ORDINARY), Some(ORDINARY)).unwrap();
    let text = format!("name: {name}\nsummary: L.\nprogram: {}\n{manifest}", program.display());
    context.place.write(&format!("{name}.yaml"), &text);
    context.place.arg(&format!("{name}.yaml"))
}

/// A line of every verb that asks `backend`.
fn lines_of(context: &RowContext, backend: &str) -> Vec<String> {
    let arg = |name: &str| context.place.arg(name);
    let (cases, known) = (arg("corpus"), arg("new.known.yaml"));
    let (record, matrix, scratch) = (arg("record.ndjson"), arg("matrix"), arg("state/scratch"));
    let mut lines = vec![
        format!("backend show {backend}"),
        format!("backend install-hint {backend}"),
        format!("repro a/one --cases {cases} --backend {backend}"),
        format!("repro a/one --cases {cases} --backend {backend} --uid 1500"),
        format!("repro a/one --cases {cases} --backend {backend} --export {backend}.export"),
    ];
    if account().is_none() {
        println!("not tried: run, matrix, expect and check, without an ordinary account");
        return lines;
    }
    let of_cases = format!("--cases {cases} --scratch {scratch}");
    let expect = format!("expect update --out {known} --backend {backend}");
    lines.extend([
        format!("run --report {record} --backend {backend} {of_cases}"),
        format!("matrix --out {matrix} --backends {backend} {of_cases}"),
        format!("{expect} {of_cases}"),
        format!("{expect} --report {record} --cases {cases}"),
    ]);
    lines
}

fn no_verb_asks_as_root(context: &RowContext) {
    let place = &context.place;
    std::fs::set_permissions(place.path("state"), Permissions::from_mode(0o1777)).unwrap();
    place.write("corpus/a/one.yaml", WORKS);
    place.copy("boxproof");
    let argv = "argv: '{{ command }}'\nversion: [--version]\nclaims: {fs.read_only: enforced}\n";
    let tool = logging(context, "tool", argv, "exec \"$@\"");
    let otherwise = format!("exec {} reference \"$@\"", place.arg("boxproof"));
    let native = logging(context, "own", "kind: native\n", &otherwise);
    // A shipped one, as PATH finds it.
    logging(context, "firejail", argv, "exec \"$@\"");
    let mut lines = vec!["backend list".to_owned(), "backend install-hint".to_owned()];
    lines.push(format!("doctor --bwrap {}", place.arg("bin/tool")));
    lines.extend([&tool, &native].into_iter().flat_map(|backend| lines_of(context, backend)));
    if account().is_some() {
        lines.push(format!("backend check {tool} --scratch {}", place.arg("state/scratch")));
    }
    for line in lines {
        asks_as_another(context, &line);
    }
}

/// Checks that the programs of `line` are started as an ordinary user; all but the doctor start
/// one.
#[track_caller]
fn asks_as_another(context: &RowContext, line: &str) {
    let place = &context.place;
    let mut command = context.command(&line.split(' ').collect::<Vec<_>>());
    command.env("PATH", format!("{}:{}", place.arg("bin"), std::env::var("PATH").unwrap()));
    let ran = context.finish(command);
    assert!([0, 1].contains(&ran.code), "{line}: {ran:#?}");
    let as_root = std::fs::read_to_string(place.path("state/as.0"));
    assert!(as_root.is_err(), "{line} started as root: {as_root:?}");
    let mut entries = std::fs::read_dir(place.path("state")).unwrap().flatten();
    let log = entries.find(|entry| entry.file_name().to_string_lossy().starts_with("as."));
    assert_eq!(log.is_none(), line.starts_with("doctor"), "{line}: {ran:#?}");
    if let Some(log) = log {
        std::fs::remove_file(log.path()).unwrap();
    }
}

fn pipes_as_inputs(context: &RowContext) {
    let place = &context.place;
    context.backend("tool", "exec \"$@\"");
    place.write("corpus/a/one.yaml", WORKS);
    place.write("records/readme", "");
    for pipe in ["tool.known.yaml", "pipe.yaml", "records/run.ndjson"] {
        nix::unistd::mkfifo(&place.path(pipe), Mode::from_bits_truncate(0o666)).unwrap();
    }
    let arg = |name: &str| place.arg(name);
    let (tool, pipe, records) = (arg("tool.yaml"), arg("pipe.yaml"), arg("records"));
    for (line, file) in [
        (["backend", "show", tool.as_str()].to_vec(), "tool.known.yaml"),
        (["backend", "show", pipe.as_str()].to_vec(), "pipe.yaml"),
        (["report", records.as_str()].to_vec(), "run.ndjson"),
    ] {
        let ran = context.finish(context.command(&line));
        assert_eq!(ran.code, 2, "{ran:#?}");
        has(&ran.stderr, &format!("{file}: "));
        has(&ran.stderr, "not a plain file");
    }
}
