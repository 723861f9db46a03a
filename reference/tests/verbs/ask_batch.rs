//! The questions over the protocol: many paths in one call, and one answer a path.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;

use assert_cmd::Command;
use predicates::str::contains;
use rstest::rstest;
use serde_json::{Value, json};

const HOST: &str = "schemaVersion: 2
kind: Policy
metadata: {name: default}
spec:
  denyRead: [\"secrets/**\"]
  fsProfiles:
    dev: {read: [\"**\"], modify: [\"src/**\"]}
";

/// A directory with a workspace, a question and its answer in it.
struct TestBed(tempfile::TempDir);

impl TestBed {
    fn new() -> Self {
        let bed = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(bed.0.path().join("w/src")).unwrap();
        symlink("../../elsewhere", bed.0.path().join("w/src/out")).unwrap();
        symlink("loop", bed.0.path().join("w/src/loop")).unwrap();
        bed
    }

    /// A request with what every verb needs, and `more`.
    fn request(&self, more: &Value) -> Value {
        let mut request = json!({
            "protocol": 1, "dialect": "orbit", "documents": [{"name": "host.yaml", "text": HOST}],
        });
        let (all, more) = (request.as_object_mut().unwrap(), more.as_object().unwrap());
        all.extend(more.clone());
        request
    }

    fn command(&self, verb: &str, request: &Value) -> Command {
        fs::write(self.0.path().join("q.json"), request.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_refbox"));
        command.current_dir(self.0.path());
        command.args([verb, "--request", "q.json", "--result", "a.json"]);
        command
    }

    /// The exit code and the answer.
    fn run_query(&self, verb: &str, more: &Value) -> (i32, Value) {
        let ran = self.command(verb, &self.request(more)).output().unwrap();
        let text = fs::read(self.0.path().join("a.json")).unwrap();
        let answer: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(answer["protocol"], 1);
        (ran.status.code().unwrap(), answer["answer"].clone())
    }

    fn check(&self, paths: &Value) -> (i32, Value) {
        let workspace = self.0.path().join("w");
        let more = json!({"profile": "dev", "workspace": workspace, "paths": paths});
        self.run_query("check", &more)
    }
}

#[test]
fn every_path_has_an_answer_in_order() {
    let bed = TestBed::new();
    let (code, answer) = bed.check(&json!([
        {"op": "read", "path": "src/a"},
        {"op": "read", "path": "./secrets//k"},
        {"op": "modify", "path": "README"},
        {"op": "read", "path": "src/out"},
        {"op": "read", "path": "../x"},
        {"op": "read", "path": {"b64": "c2VjcmV0cy//"}},
        {"op": "read", "path": "src/loop"},
    ]));
    assert_eq!(code, 2, "{answer}");
    let decisions = answer["decisions"].as_array().unwrap();
    let rule = |at: usize| decisions[at]["decided"]["matched_rule"].as_str().unwrap_or("invalid");
    let rules: Vec<&str> = (0..decisions.len()).map(rule).collect();
    let outside = "<outside workspace>";
    let wanted =
        ["**", "secrets/**", "<no matching rule>", outside, "invalid", "secrets/**", "invalid"];
    assert_eq!(rules, wanted, "{answer}");
    let denied = &decisions[1]["decided"];
    assert_eq!((&denied["allowed"], &denied["means"]), (&json!(false), &json!("secrets/k")));
    let by = json!({"rule": "secrets/**", "effect": "denies", "origin": "global_deny",
        "file": "host.yaml", "line": 5});
    assert_eq!(denied["decided_by"], by);
    let message = "filesystem path `../x` must stay inside the workspace root";
    assert_eq!(decisions[4]["invalid"], message);
}

#[rstest]
#[case(&[("read", "a")], 0)]
#[case(&[("read", "a"), ("modify", "a")], 1)]
#[case(&[("modify", "a"), ("read", "")], 2)]
fn the_exit_code_is_the_worst_answer(#[case] paths: &[(&str, &str)], #[case] code: i32) {
    let paths: Vec<Value> =
        paths.iter().map(|(op, path)| json!({"op": op, "path": path})).collect();
    assert_eq!(TestBed::new().check(&json!(paths)).0, code);
}

#[test]
fn what_may_be_written_and_not_read_has_a_warning() {
    let bed = TestBed::new();
    let text = HOST.replace("src/**", "**");
    let more = json!({
        "documents": [{"name": "h", "text": text}], "profile": "dev",
        "workspace": bed.0.path().join("w"), "paths": [{"op": "modify", "path": "secrets/k"}],
    });
    let (code, answer) = bed.run_query("check", &more);
    assert_eq!(code, 0);
    let warning = answer["decisions"][0]["decided"]["warning"].as_str().unwrap();
    assert!(warning.contains("may not be read"), "{warning}");
}

#[test]
fn a_profile_in_force_has_its_origins() {
    let (code, answer) = TestBed::new().run_query("effective", &json!({"profile": "unrestricted"}));
    assert_eq!(code, 0);
    // It is the one of who names none.
    assert_eq!(TestBed::new().run_query("effective", &json!({})), (code, answer.clone()));
    let read = answer["effective"]["read"].as_array().unwrap();
    let told: Vec<_> = read.iter().map(|rule| (&rule["rule"], &rule["origin"])).collect();
    let wanted = [("**", "fallback"), ("secrets/**", "global_deny")];
    let wanted = wanted.map(|(rule, origin)| (json!(rule), json!(origin)));
    assert_eq!(told, wanted.each_ref().map(|(rule, origin)| (rule, origin)));
}

#[test]
fn faults_have_their_place_and_decide_nothing() {
    let bed = TestBed::new();
    assert_eq!(bed.run_query("validate", &json!({})), (0, json!({"valid": {}})));
    let broken = json!({"documents": [{"name": "h", "text": HOST.replace("secrets", "..")}]});
    let (code, answer) = bed.run_query("validate", &broken);
    assert_eq!(code, 2);
    let message = "spec.denyRead rule `../**` must stay inside the workspace root";
    let wanted = json!({"message": message, "file": "h", "line": 5, "column": 14});
    assert_eq!(answer["invalid"], wanted);
    let (code, answer) = bed.run_query("effective", &json!({"profile": "nope"}));
    assert_eq!(code, 2);
    let why = "policy `default` does not define fsProfile `nope`; it has dev, unrestricted";
    assert_eq!(answer["invalid"]["message"], why);
}

#[rstest]
#[case::unknown_member(json!({"profil": "dev"}), "unknown field `profil`")]
#[case::protocol(json!({"protocol": 2, "profile": "dev"}), "protocol: 2 is not spoken here")]
#[case::dialect(json!({"dialect": "moon", "profile": "dev"}), "unknown variant `moon`")]
fn what_is_no_question_has_no_answer(#[case] more: Value, #[case] why: &str) {
    let bed = TestBed::new();
    let request = bed.request(&more);
    bed.command("effective", &request).assert().code(2).stderr(contains(why));
    assert!(!bed.0.path().join("a.json").exists());
}

#[rstest]
#[case(&["check"])]
#[case(&["effective", "--request", "q.json"])]
#[case(&["check", "--request", "q", "--result", "a", "--policy", "h", "--profile", "p", "--workspace", ".", "read", "x"])]
fn half_a_question_and_two_are_refused(#[case] words: &[&str]) {
    Command::new(env!("CARGO_BIN_EXE_refbox")).args(words).assert().code(2);
}
