//! The verbs that answer questions about policy documents: output, exit codes, links on the disk.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use rstest::rstest;

const HOST: &str = "schemaVersion: 2
kind: Policy
metadata: {name: default}
spec:
  denyRead: [\"**/*.env\"]
  denyModify: [\".orbit/**\", \"**/*.env\"]
  fsProfiles:
    dev:
      read: [\"**\"]
      modify: [\"src/**\", \"docs/**\", \"!docs/drafts/**\"]
";
const WORKSPACE: &str = "schemaVersion: 2
kind: Policy
metadata: {name: default}
spec:
  denyModify: [\"src/generated/**\"]
";

/// Two documents and a workspace with links in it.
struct TestBed(tempfile::TempDir);

impl TestBed {
    fn new() -> Self {
        let bed = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(bed.at("w/src")).unwrap();
        fs::create_dir_all(bed.at("w-evil")).unwrap();
        fs::write(bed.at("host.yaml"), HOST).unwrap();
        fs::write(bed.at("own.yaml"), WORKSPACE).unwrap();
        let link = |target: &str, name: &str| symlink(target, bed.at(name)).unwrap();
        link("../secrets/k", "w/src/to-secrets");
        link("../../w-evil/new", "w/src/out");
        link("loop", "w/src/loop");
        link("../a/../src/real", "w/src/spelled");
        link("w", "way");
        bed
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn refbox(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_refbox"));
        command.current_dir(self.0.path()).args(words);
        command
    }

    fn check(&self, rest: &[&str]) -> Command {
        let words = ["check", "--policy", "host.yaml", "--workspace-policy", "own.yaml"];
        let mut command = self.refbox(&words);
        command.args(["--profile", "dev"]).args(rest);
        command
    }
}

#[rstest]
#[case::granted(
    "modify",
    "src/a.rs",
    0,
    "allowed  modify src/a.rs: host.yaml:10  allows  `src/**`"
)]
#[case::workspace_deny("modify", "src/generated/b.rs", 1, "own.yaml:5  denies  `src/generated/**`")]
#[case::global_deny("modify", "x.env", 1, "host.yaml:6  denies  `**/*.env`  (global deny)")]
#[case::negated("modify", "docs/drafts/x", 1, "`!docs/drafts/**`  (profile)")]
#[case::unmatched("modify", "README.md", 1, "denied  modify README.md: <no matching rule>")]
#[case::link_inside("modify", "src/to-secrets", 1, "(means secrets/k): <no matching rule>")]
#[case::dangling_link_out("modify", "src/out", 1, "<outside workspace>")]
#[case::link_with_dots("modify", "src/spelled", 0, "(means src/real)")]
#[case::read("read", "src/to-secrets", 0, "allowed  read src/to-secrets (means secrets/k)")]
#[case::root("read", ".", 0, "allowed  read .")]
#[case::control_characters("read", "a\nb\u{1b}[31m", 0, "allowed  read a\\nb\\u{1b}[31m")]
fn paths_are_decided_where_they_lead(
    #[case] op: &str,
    #[case] path: &str,
    #[case] code: i32,
    #[case] says: &str,
) {
    let bed = TestBed::new();
    for workspace in ["w", "way"] {
        let mut command = bed.check(&["--workspace", workspace, op, path]);
        command.assert().code(code).stdout(contains(says));
    }
}

#[rstest]
#[case::climbing("../x", "must stay inside the workspace root")]
#[case::absolute("/etc/passwd", "must stay inside the workspace root")]
#[case::empty(" ", "filesystem path must not be empty")]
#[case::links_in_a_loop("src/loop", "src/loop: Too many levels of symbolic links")]
fn what_cannot_be_asked_is_2(#[case] path: &str, #[case] why: &str) {
    let bed = TestBed::new();
    let mut command = bed.check(&["--workspace", "w", "read", path]);
    command.assert().code(2).stdout("").stderr(contains(why));
}

#[test]
fn one_path_that_is_none_leaves_the_others_their_answers() {
    let bed = TestBed::new();
    let words = ["--workspace", "w", "modify", "src/a", "../c", "b"];
    let told = contains("allowed  modify src/a").and(contains("denied  modify b"));
    let why = contains("must stay inside the workspace root");
    bed.check(&words).assert().code(2).stdout(told).stderr(why);
    let words = ["--workspace", "w", "--format", "json", "modify", "src/a", "../c", "b"];
    let output = bed.check(&words).assert().code(2).get_output().stdout.clone();
    let told: serde_json::Value = serde_json::from_slice(&output).unwrap();
    let told = told["decisions"].as_array().unwrap();
    assert_eq!((&told[0]["allowed"], &told[2]["allowed"]), (&true.into(), &false.into()));
    assert!(told[1]["error"].as_str().unwrap().contains("must stay inside"), "{}", told[1]);
}

#[rstest]
#[case::check(&["check", "--policy", "host.yaml", "--workspace", "w", "modify", "README.md"], "`**`  (fallback)")]
#[case::effective(&["effective", "--policy", "host.yaml"], "profile unrestricted")]
#[case::explain(&["policy", "explain", "--policy", "host.yaml", "--workspace", "w", "README.md"], "modify: allowed")]
fn who_names_no_profile_is_under_the_unrestricted_one(#[case] words: &[&str], #[case] says: &str) {
    TestBed::new().refbox(words).assert().code(0).stdout(contains(says));
}

#[test]
fn one_denied_path_of_several_makes_it_1() {
    let bed = TestBed::new();
    let words = ["--workspace", "w", "--format", "json", "modify", "src/a", "b"];
    let output = bed.check(&words).assert().code(1).get_output().stdout.clone();
    let told: serde_json::Value = serde_json::from_slice(&output).unwrap();
    let allowed: Vec<_> =
        told["decisions"].as_array().unwrap().iter().map(|one| one["allowed"].clone()).collect();
    assert_eq!(allowed, [true, false]);
    assert_eq!(told["decisions"][0]["decided_by"]["line"], 10);
}

#[test]
fn writing_what_cannot_be_read_is_warned_of() {
    let bed = TestBed::new();
    let text = HOST.replace("denyModify: [\".orbit/**\", \"**/*.env\"]", "denyModify: []");
    fs::write(bed.at("host.yaml"), text).unwrap();
    let mut command = bed.check(&["--workspace", "w", "modify", "src/a.env"]);
    command.assert().code(0).stdout(contains("warning: it may be modified, although"));
}

#[rstest]
#[case::by_workspace("src/generated/b.rs", "narrow or remove `")]
#[case::by_host("src/x.env", "narrow or remove `**/*.env` at host.yaml:6")]
#[case::by_host_directory(
    ".orbit/x",
    "put the exception `!.orbit/x` behind `.orbit/**` at host.yaml:6"
)]
#[case::by_profile("docs/drafts/x", "put `docs/drafts/x` behind `!docs/drafts/**` at host.yaml:10")]
#[case::by_nothing("README.md", "add `README.md` to `modify` of the profile dev")]
#[case::outside("src/out", "a profile grants nothing outside the workspace")]
fn an_explanation_says_what_to_change(#[case] path: &str, #[case] says: &str) {
    let bed = TestBed::new();
    let words = ["policy", "explain", "--policy", "host.yaml", "--workspace-policy", "own.yaml"];
    let mut command = bed.refbox(&words);
    command.args(["--profile", "dev", "--workspace", "w", path]);
    command.assert().success().stdout(contains(says));
}

#[test]
fn every_matching_rule_is_shown_and_the_last_decides() {
    let bed = TestBed::new();
    let words = ["policy", "explain", "--policy", "host.yaml", "--profile", "dev"];
    let mut command = bed.refbox(&words);
    command.args(["--workspace", "w", "docs/drafts/x"]);
    let says = "modify: denied
  host.yaml:10  allows  `docs/**`  (profile)
  host.yaml:10  denies  `!docs/drafts/**`  (profile)  <- decides
";
    command.assert().success().stdout(contains(says));
}

#[test]
fn effective_lists_every_rule_with_its_origin() {
    let bed = TestBed::new();
    let words = ["effective", "--policy", "host.yaml", "--workspace-policy", "own.yaml"];
    let mut command = bed.refbox(&words);
    let says = "  host.yaml:6  denies  `**/*.env`  (global deny)
  own.yaml:5  denies  `src/generated/**`  (workspace deny)
";
    command.args(["--profile", "dev"]).assert().success().stdout(contains(says));
}

#[rstest]
#[case::good(HOST, 0, "")]
#[case::old(
    "schemaVersion: 1\nkind: Policy\n",
    2,
    "p.yaml:1:16: invalid input: failed to parse p.yaml: policy schemaVersion 1 is no longer supported"
)]
#[case::tag(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec:\n  denyRead: [!x]\n",
    2,
    "write \"!x\""
)]
fn documents_are_validated(#[case] text: &str, #[case] code: i32, #[case] says: &str) {
    let bed = TestBed::new();
    fs::write(bed.at("p.yaml"), text).unwrap();
    bed.refbox(&["policy", "validate", "p.yaml"]).assert().code(code).stderr(contains(says));
}

#[test]
fn a_rule_that_means_something_else_is_told_of() {
    let bed = TestBed::new();
    let text = HOST.replace("**/*.env\"]\n  denyModify", "$HOME/k/**\", w]\n  denyModify");
    fs::write(bed.at("host.yaml"), text).unwrap();
    fs::create_dir_all(bed.at("w/w")).unwrap();
    let told = "host.yaml:5:14: warning: `$HOME/k/**`: no variable is put in";
    bed.refbox(&["policy", "validate", "host.yaml"]).assert().code(0).stderr(contains(told));
    let check = ["check", "--policy", "host.yaml", "--profile", "dev", "--workspace", "w"];
    let asked = [&check[..], &["read", "src"]].concat();
    let told_too = contains("`w`: it denies the directory alone; what is in it: `w/**`");
    bed.refbox(&asked).assert().code(0).stderr(contains(told)).stderr(told_too);
}

#[rstest]
#[case(&["check"])]
#[case(&["policy", "validate", "absent.yaml"])]
#[case(&["effective", "--policy", "host.yaml", "--profile", "nope"])]
fn what_is_no_question_is_2(#[case] words: &[&str]) {
    let bed = TestBed::new();
    bed.refbox(words).assert().code(2);
}
