//! Uses of results: comparison, one matrix of several records, lists of known failures,
//! and the published matrix.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::support::{BOXPROOF, DENIED, NOT_INSTALLED, Place, Ran, WORKS, as_we_are, has};
use boxproof_reports::record::read;
use boxproof_reports::{html, markdown, merge};
use rstest::rstest;

/// Claims all and confines nothing.
const OPEN: &str = "name: box
summary: Runs the command as it is.
program: env
argv: '{{ command }}'
claims: all
files: [{path: '{{ state }}/policy', content: '{{ policy | json }}'}]
";

/// Returns two denials in one table.
fn denials() -> String {
    format!("{DENIED}rows: {{one: {{}}, two: {{}}}}\n")
}

/// A place where `box.yaml` confines nothing and `kept.yaml`, of the same name, keeps all.
fn place() -> Place {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", &denials())]);
    place.write("box.yaml", OPEN);
    place.write(
        "kept.yaml",
        &format!(
            "name: box\nsummary: The reference.\nkind: native\nprogram: {BOXPROOF}\n\
             prefix: [reference]\n"
        ),
    );
    place
}

impl Place {
    /// Runs `manifest` and writes the record to `name`; returns its path.
    fn recorded(&self, manifest: &str, name: &str) -> String {
        let (manifest, record) = (self.arg(manifest), self.arg(name));
        let ran = self.boxproof("run", &["--backend", &manifest, "--report", &record]);
        assert!([0, 1].contains(&ran.code), "{}{}", ran.stdout, ran.stderr);
        record
    }
}

#[test]
fn diff_tells_what_opened_and_what_was_fixed() {
    let place = place();
    let (kept, open) =
        (place.recorded("kept.yaml", "kept.ndjson"), place.recorded("box.yaml", "open.ndjson"));
    let ran = place.run(&["diff", &kept, &open]);
    has(
        &ran.exits(1).stdout,
        "newly open (2)\n  fs/denied/one\n    box: pass → under-block (oracle)",
    );
    has(&ran.stdout, "environment changed\n");
    has(ran.last_line(), "3 compared: 2 newly open");
    let ran = place.run(&["diff", &open, &kept]);
    has(ran.exits(0).last_line(), "3 compared: 2 fixed");
    let ran = place.run(&["diff", &kept, &kept]);
    assert_eq!(ran.exits(0).stdout, "3 compared: no case changed\n");
    let ran = place.run(&["diff", &kept, &open, "--format", "markdown"]);
    has(&ran.exits(1).stdout, "### Newly open (2)\n");
    let ran = place.run(&["diff", &kept, "nowhere.ndjson"]);
    has(&ran.exits(2).stderr, "nowhere.ndjson: No such file");
}

#[test]
fn diff_of_records_with_nothing_in_common_is_worse() {
    let place = place();
    let kept = place.recorded("kept.yaml", "kept.ndjson");
    let elsewhere = Place::with(&[("b/one", WORKS)]);
    let other = elsewhere.arg("other.ndjson");
    elsewhere.boxproof("run", &["--backend", "none", "--report", &other]).exits(0);
    has(&place.run(&["diff", &kept, &other]).exits(1).stdout, "removed (");
}

#[test]
fn records_of_several_backends_become_one_matrix_and_conflicts_are_told() {
    let place = place();
    let open = place.recorded("box.yaml", "open.ndjson");
    let none = place.arg("none.ndjson");
    place.boxproof("run", &["--backend", "none", "--report", &none]).exits(1);
    let ran = place.run(&["report", &open, &none]);
    has(&ran.exits(0).stdout, "box       none");
    has(ran.last_line(), "6 cases: 2 pass, 4 under-block");
    let ran = place.run(&["report", &open, &open]);
    has(&ran.exits(2).stderr, "case `exec/works` of `box (");
    has(
        &ran.stderr,
        "is in two records; merge the shards of one run, or compare two runs with diff",
    );
    let other = Place::with(&[("exec/works", WORKS)]);
    other.write("box.yaml", OPEN);
    let other = other.recorded("box.yaml", "other.ndjson");
    let ran = place.run(&["report", &open, &other]);
    has(&ran.exits(2).stderr, "the records are of different corpora");
}

#[test]
fn a_directory_stands_for_its_records() {
    let place = place();
    std::fs::create_dir(place.path("records")).unwrap();
    place.recorded("box.yaml", "records/b.ndjson");
    let none = place.arg("records/a.ndjson");
    place.boxproof("run", &["--backend", "none", "--report", &none]).exits(1);
    let directory = place.arg("records");
    let ran = place.run(&["report", &directory]);
    has(&ran.exits(0).stdout, "none      box");
    std::fs::create_dir(place.path("empty")).unwrap();
    let ran = place.run(&["report", &place.arg("empty")]);
    has(&ran.exits(2).stderr, "no run record (*.ndjson) is in there");
}

// Known failures

/// Runs `expect update` on the corpus of `place` with `args` besides.
fn update(place: &Place, args: &[&str]) -> Ran {
    let (cases, scratch) = (place.arg("corpus"), place.arg("scratch"));
    let update = ["expect", "update", "--cases", &cases, "--scratch", &scratch];
    place.run(&[&update[..], args, as_we_are()].concat())
}

fn known(place: &Place) -> String {
    std::fs::read_to_string(place.path("box.known.yaml")).unwrap()
}

#[test]
fn what_is_written_down_is_green_and_what_breaks_afterwards_is_red() {
    let place = place();
    let spec = place.arg("box.yaml");
    place.boxproof("run", &["--backend", &spec]).exits(1);
    let ran = update(&place, &["--backend", &spec]);
    has(&ran.exits(0).stdout, "box.known.yaml: 1 known failures; 1 rows are new, 0 are gone");
    let written = known(&place);
    has(
        &written,
        "- case: fs/denied/*\n  verdict: under-block\n  signature: oracle\n  reason: \"Seen: ",
    );
    let ran = place.boxproof("run", &["--backend", &spec]);
    has(&ran.exits(0).stdout, "2 failing as known");

    // Another failure than the known one is red.
    place.write("box.known.yaml", &written.replace("signature: oracle", "signature: exit"));
    let ran = place.boxproof("run", &["--backend", &spec]);
    has(&ran.exits(1).stderr, "known failure fs/denied/*: it fails in another way now");
    place.write("box.known.yaml", &written);

    // So is one that passes.
    place.write("box.yaml", &std::fs::read_to_string(place.path("kept.yaml")).unwrap());
    let ran = place.boxproof("run", &["--backend", &spec]);
    has(&ran.exits(1).stdout, "2 known to fail and passing");

    // And one whose case is gone.
    place.write("box.yaml", OPEN);
    std::fs::remove_file(place.path("corpus/fs/denied.yaml")).unwrap();
    let ran = place.boxproof("run", &["--backend", &spec]);
    has(&ran.exits(1).stderr, "known failure fs/denied/*: no case it matches was judged");
}

#[test]
fn a_row_that_drifts_is_red_at_every_level() {
    let place = place();
    place.write("corpus/fs/denied.yaml", &format!("{DENIED}level: may\n"));
    let spec = place.arg("box.yaml");
    place.write(
        "box.known.yaml",
        "- {case: fs/denied, verdict: leak, signature: residue, reason: Known.}\n",
    );
    let ran = place.boxproof("run", &["--backend", &spec]);
    has(&ran.exits(1).stderr, "known failure fs/denied: it fails in another way now");
}

#[test]
fn what_somebody_wrote_stays_and_what_is_fixed_goes() {
    let place = place();
    let spec = place.arg("box.yaml");
    let record = place.recorded("box.yaml", "open.ndjson");
    update(&place, &["--backend", &spec, "--report", &record]).exits(0);
    let seen = known(&place).lines().find(|line| line.contains("Seen: ")).unwrap().to_owned();
    let by_hand = "  reason: It confines nothing.\n  link: \"owner/repo#1\"";
    place.write("box.known.yaml", &known(&place).replace(&seen, by_hand));
    let ran = update(&place, &["--backend", &spec, "--report", &record]);
    has(&ran.exits(0).stdout, "1 known failures; 0 rows are new, 0 are gone");
    has(
        &known(&place),
        by_hand.replace("It confines nothing.", "\"It confines nothing.\"").as_str(),
    );
    let fixed = place.recorded("kept.yaml", "kept.ndjson");
    let ran = update(&place, &["--backend", &spec, "--report", &fixed]);
    has(&ran.exits(0).stdout, "0 known failures; 0 rows are new, 1 are gone");
    assert!(!place.path("box.known.yaml").exists());
}

#[rstest]
#[case(&["--backend", "reference"], 2, "reference never has known failures")]
#[case(&["--backend", "none"], 2, "none never has known failures")]
#[case(&["--backend", "allow-all", "--out", "x.known.yaml"], 2, "allow-all never has known failures")]
#[case(&["--backend", "deny-all"], 2, "deny-all never has known failures")]
#[case(&["--backend", "bubblewrap"], 2, "say where the list goes (--out FILE.known.yaml)")]
fn some_lists_are_never_written(#[case] args: &[&str], #[case] code: i32, #[case] message: &str) {
    has(&update(&place(), args).exits(code).stderr, message);
}

#[test]
fn what_was_not_run_here_writes_nothing() {
    let place = place();
    place.write("jail.yaml", NOT_INSTALLED);
    let ran = update(&place, &["--backend", &place.arg("jail.yaml")]);
    has(&ran.exits(3).stderr, "boxproof-no-such-program is not installed");
    let record = place.recorded("box.yaml", "open.ndjson");
    let ran = update(&place, &["--backend", &place.arg("jail.yaml"), "--report", &record]);
    has(&ran.exits(2).stderr, "no record has results of jail");
    place.write("corpus/exec/more.yaml", WORKS);
    let ran = update(&place, &["--backend", &place.arg("box.yaml"), "--report", &record]);
    has(&ran.exits(2).stderr, "is of another corpus: run it again");
    assert!(!place.path("box.known.yaml").exists());
}

// The published matrix

fn matrix(place: &Place, args: &[&str]) -> Ran {
    matrix_as(place, &[args, as_we_are()].concat())
}

fn matrix_as(place: &Place, args: &[&str]) -> Ran {
    let (cases, scratch, out) = (place.arg("corpus"), place.arg("scratch"), place.arg("out"));
    let common = ["matrix", "--cases", &cases, "--scratch", &scratch, "--out", &out];
    place.run(&[&common[..], args].concat())
}

/// Returns the one record in the directory.
fn only_record(place: &Place) -> std::path::PathBuf {
    let records = std::fs::read_dir(place.path("out")).unwrap().map(|entry| entry.unwrap().path());
    let mut records = records.filter(|path| path.extension().is_some_and(|e| e == "ndjson"));
    let only = records.next().unwrap();
    assert_eq!(records.next(), None);
    only
}

#[test]
fn a_matrix_is_its_records_rendered_and_names_what_is_missing() {
    let place = place();
    place.write("jail.yaml", NOT_INSTALLED);
    place.write("page.md", "# Page\n\n<!-- matrix -->\nold\n<!-- /matrix -->\n\nEnd.\n");
    let backends = format!("{},none,{}", place.arg("box.yaml"), place.arg("jail.yaml"));
    let readme = place.arg("page.md");
    let ran = matrix(&place, &["--backends", &backends, "--readme", &readme, "--twice"]);
    has(&ran.exits(0).stdout, "second run\n6 compared: no case changed\n");
    let record = only_record(&place);
    let run = read(std::io::BufReader::new(std::fs::File::open(record).unwrap())).unwrap();
    let runs = [run];
    let merged = merge(&runs).unwrap();
    let file = |name: &str| std::fs::read_to_string(place.path("out").join(name)).unwrap();
    assert_eq!(file("matrix.md"), markdown::published(&merged));
    assert_eq!(file("matrix.html"), html::render(&merged));
    let page = std::fs::read_to_string(place.path("page.md")).unwrap();
    let summary = markdown::summary(&merged);
    assert_eq!(page, format!("# Page\n\n<!-- matrix -->\n\n{summary}\n<!-- /matrix -->\n\nEnd.\n"));
    has(&page, "- jail: not installed; boxproof-no-such-program is not installed: ");
    has(&page, "apt: jail-tools");
    let line = page.lines().find(|line| line.starts_with("| none |")).unwrap().to_owned();
    has(&line, " | 1/3 | 2 | 0 | 0 | 0 | 0 | 0 |");
}

#[test]
fn a_second_run_that_differs_is_told() {
    let place = place();
    // The first run is over once its page is there, however often it started the backend.
    let page = place.path("out").join("matrix.html").display().to_string();
    place.write(
        "moody.yaml",
        &format!(
            "name: moody\nsummary: Fails in the second run.\nprogram: sh\nclaims: all\nargv: |\n  \
             -c\n  [ ! -e '{page}' ] || exit 9; exec \"$@\"\n  sh\n  {{{{ command }}}}\n"
        ),
    );
    let moody = place.arg("moody.yaml");
    let ran = matrix(&place, &["--backends", &moody, "--twice", "exec/works"]);
    has(&ran.exits(1).stdout, "newly over-blocked (1)\n  exec/works\n    moody: pass → over-block");
}

#[test]
fn a_record_of_another_corpus_is_no_column() {
    let place = place();
    matrix(&place, &["--backends", "none"]).exits(0);
    let record = only_record(&place);
    std::fs::rename(&record, record.with_file_name("run-elsewhere-root.ndjson")).unwrap();
    place.write("corpus/exec/more.yaml", WORKS);
    let ran = matrix(&place, &["--backends", "none"]);
    has(&ran.exits(2).stderr, "the records are of different corpora");
    has(&ran.stderr, "run-elsewhere-root.ndjson");
}

#[test]
fn only_root_runs_as_somebody_else() {
    let place = place();
    let ran = matrix_as(&place, &["--backends", "none", "--user", "root"]);
    if nix::unistd::geteuid().is_root() {
        has(&ran.exits(0).stdout, "| none | root | 1/3 |");
        let ran = matrix_as(&place, &["--backends", "none", "--user", "no-such-user"]);
        has(&ran.exits(2).stderr, "there is no account `no-such-user`");
    } else {
        has(&ran.exits(2).stderr, "only root can become root");
    }
}

#[test]
fn a_matrix_without_anything_judged_is_4() {
    let place = place();
    let ran = matrix(&place, &["--backends", "none", "no/such/case"]);
    has(&ran.exits(4).stderr, "filter `no/such/case` matches no case");
}
