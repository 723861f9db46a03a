//! The reusable action: its steps are executed as a runner does, by plain shell, in a foreign
//! repository with a sandbox of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{BOXPROOF, Place, has};

/// A sandbox with a bug: every failure becomes a 1.
const BOX: &str = "#!/bin/sh
# Usage: box --dir DIRECTORY -- COMMAND...
set -u
directory=.
while [ $# -gt 0 ]; do
    case $1 in
        --dir) directory=$2; shift 2 ;;
        --) shift; break ;;
        *) echo \"box: unknown option $1\" >&2; exit 125 ;;
    esac
done
cd \"$directory\" || exit 125
\"$@\"
code=$?
if [ $code = 0 ]; then
    exit 0
fi
exit 1
";

const MANIFEST: &str = "name: box
summary: A box of twenty lines.
program: ./box
run_as: any
passes_env: true
claims: {exec.argv: enforced, exec.exit_code: enforced, exec.streams: enforced, env.inherit: enforced}
argv: |
  --dir
  {{ cwd }}
  --
  {{ command }}
";

/// Filters in two lines: what the first one selects shows the bug, what the second one selects passes.
const FILTER: &str = "exec/exit-codes/**\nenv/values/spaces env/values/empty\n";

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A job that uses the action once.
struct ActionJob {
    place: Place,
    path: String,
}

/// What came of the action in a job.
struct ActionResult {
    /// The log, annotations included.
    log: String,
    /// The outputs by step and name: `run.verdict`.
    outputs: BTreeMap<String, String>,
    /// The exit code of the last step that ran.
    code: i32,
    /// The job's summary.
    summary: String,
    /// The uploaded artifacts by name.
    artifacts: BTreeMap<String, PathBuf>,
}

impl ActionJob {
    fn new() -> Self {
        let place = Place::new();
        place.program("project/box", BOX);
        place.write("project/box.yaml", MANIFEST);
        std::fs::create_dir_all(place.path("temp")).unwrap();
        let path = std::env::var("PATH").unwrap();
        Self { place, path }
    }

    /// Puts a release on a share: an archive with a program that is the one under test.
    fn released(self, version: &str) -> Self {
        let name = format!("boxproof-{}-unknown-linux-musl-v{version}", std::env::consts::ARCH);
        let at = format!("releases/v{version}/{name}");
        let program = format!("#!/bin/sh\nexec '{BOXPROOF}' \"$@\"\n");
        self.place.program(&format!("{at}/boxproof"), &program);
        let parent = self.place.path(&format!("releases/v{version}"));
        let mut tar = Command::new("tar");
        tar.current_dir(parent).args(["-czf", &format!("{name}.tgz"), &name]);
        assert!(tar.status().unwrap().success());
        self
    }

    /// Puts a `gh` first in PATH whose word on every attestation is `code`.
    fn attested(mut self, code: i32) -> Self {
        let text = format!("#!/bin/sh\necho \"gh $*\"\nexit {code}\n");
        self.place.program("tools/gh", &text);
        self.path = format!("{}:{}", self.place.arg("tools"), self.path);
        self
    }

    /// Puts a `cargo` first in PATH whose build is the program under test.
    fn building(mut self) -> Self {
        let text = format!(
            "#!/bin/sh\nwhile [ \"$1\" != --target-dir ]; do shift; done\n\
             mkdir -p \"$2/release\" && ln -s '{BOXPROOF}' \"$2/release/boxproof\"\n"
        );
        self.place.program("tools/cargo", &text);
        self.path = format!("{}:{}", self.place.arg("tools"), self.path);
        self
    }

    /// Executes the steps of the action with `inputs`; the others have their defaults.
    fn uses(&self, inputs: &[(&str, &str)]) -> ActionResult {
        let file = tree().join(".github/actions/boxproof/action.yml");
        let action: Value = serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let mut context: BTreeMap<String, String> = BTreeMap::from([
            ("github.token".to_owned(), "token".to_owned()),
            ("strategy.job-index".to_owned(), "3".to_owned()),
        ]);
        for (name, input) in action["inputs"].as_object().unwrap() {
            let default = input["default"].as_str().unwrap_or_default();
            context.insert(format!("inputs.{name}"), default.to_owned());
        }
        for (name, value) in inputs {
            let known = context.insert(format!("inputs.{name}"), (*value).to_owned());
            assert!(known.is_some(), "the action has no input {name}");
        }
        let mut result = ActionResult {
            log: String::new(),
            outputs: BTreeMap::new(),
            code: 0,
            summary: String::new(),
            artifacts: BTreeMap::new(),
        };
        for step in action["runs"]["steps"].as_array().unwrap() {
            self.step(step, &mut context, &mut result);
        }
        for (name, output) in action["outputs"].as_object().unwrap() {
            let value = evaluate(output["value"].as_str().unwrap(), &context);
            result.outputs.insert(name.clone(), value);
        }
        result
    }

    fn step(
        &self,
        step: &Value,
        context: &mut BTreeMap<String, String>,
        result: &mut ActionResult,
    ) {
        let always = step["if"].as_str().is_some_and(|when| when.starts_with("always()"));
        if result.code != 0 && !always {
            return;
        }
        let Some(script) = step["run"].as_str() else {
            assert!(step["uses"].as_str().unwrap().starts_with("actions/upload-artifact@"));
            let name = evaluate(step["with"]["name"].as_str().unwrap(), context);
            let path = evaluate(step["with"]["path"].as_str().unwrap(), context);
            if !name.is_empty() {
                result.artifacts.insert(name, path.into());
            }
            return;
        };
        let output = self.execute(script, step, context);
        result.log += &String::from_utf8_lossy(&output.stdout);
        result.log += &String::from_utf8_lossy(&output.stderr);
        result.code = output.status.code().unwrap();
        let id = step["id"].as_str().unwrap();
        let said = std::fs::read_to_string(self.place.path("output")).unwrap();
        for line in said.lines() {
            let (name, value) = line.split_once('=').unwrap();
            context.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
        result.summary = std::fs::read_to_string(self.place.path("summary")).unwrap();
    }

    fn execute(&self, script: &str, step: &Value, context: &BTreeMap<String, String>) -> Output {
        self.place.write("output", "");
        self.place.write("summary", "");
        let script = self.place.write("script.sh", script);
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(script);
        command.current_dir(self.place.path("project")).env_clear();
        for (name, value) in step["env"].as_object().unwrap() {
            command.env(name, evaluate(value.as_str().unwrap(), context));
        }
        let releases = format!("file://{}", self.place.arg("releases"));
        command.envs([("BOXPROOF_RELEASES", &releases), ("PATH", &self.path)]);
        for (name, place) in [
            ("GITHUB_OUTPUT", "output"),
            ("GITHUB_STEP_SUMMARY", "summary"),
            ("RUNNER_TEMP", "temp"),
            ("HOME", "home"),
        ] {
            command.env(name, self.place.path(place));
        }
        command.env("GITHUB_ACTION_PATH", tree().join(".github/actions/boxproof"));
        command.envs([("GITHUB_ACTIONS", "true"), ("GITHUB_JOB", "judge")]);
        command.output().unwrap()
    }
}

/// Puts in what `${{ … }}` names; what is not set is empty, as on a runner.
fn evaluate(text: &str, context: &BTreeMap<String, String>) -> String {
    let mut parts = text.split("${{");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap();
        out += context.get(name.trim()).map_or("", String::as_str);
        out += rest;
    }
    out
}

/// The inputs of a job in which the program under test is there already.
fn inputs<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let usual = [("version", BOXPROOF), ("backend", "./box.yaml"), ("filter", FILTER)];
    usual
        .iter()
        .filter(|(name, _)| !more.iter().any(|(n, _)| n == name))
        .chain(more)
        .copied()
        .collect()
}

#[test]
fn it_is_red_on_a_bug_and_green_after_the_fix() {
    let job = ActionJob::new();
    let red = job.uses(&inputs(&[]));
    assert_eq!((red.code, red.outputs["verdict"].as_str()), (1, "fail"), "{}", red.log);
    assert_eq!(red.outputs["exit-code"], "1");
    let failed: usize = red.outputs["failed"].parse().unwrap();
    let passed: usize = red.outputs["passed"].parse().unwrap();
    assert!(failed > 3, "{}", red.log);
    has(&red.log, "box: contract");
    let manifest = job.place.arg("project/box.yaml");
    has(&red.log, &format!("::error file={manifest},title=box%3A exec/exit-codes/"));
    has(&red.summary, "exec/exit-codes/");
    let directory = &red.artifacts["boxproof-judge-3-box.yaml"];
    for name in ["record.ndjson", "matrix.html", "junit.xml"] {
        assert!(directory.join(name).metadata().unwrap().len() > 100, "{name}");
    }
    assert_eq!(Path::new(&red.outputs["record"]), directory.join("record.ndjson"));

    // What failed before fails no comparison with a record of it.
    let baseline = job.uses(&inputs(&[("baseline", &red.outputs["record"])]));
    assert_eq!(baseline.code, 0, "{}", baseline.log);

    job.place.program("project/box", &BOX.replace("exit 1", "exit $code"));
    let green = job.uses(&inputs(&[]));
    assert_eq!((green.code, green.outputs["verdict"].as_str()), (0, "pass"), "{}", green.log);
    let all = (passed + failed).to_string();
    assert_eq!((&green.outputs["passed"], green.outputs["failed"].as_str()), (&all, "0"));
    assert!(green.artifacts.contains_key("boxproof-judge-3-box.yaml-3"), "a use has its own name");
    let worse = job.place.write("project/box.toml", &policy(&green.outputs["record"]));
    job.place.program("project/box", BOX);
    let gate = job.uses(&inputs(&[("gate", worse.to_str().unwrap())]));
    assert_eq!((gate.code, gate.outputs["verdict"].as_str()), (5, "gate-red"), "{}", gate.log);
}

fn policy(record: &str) -> String {
    format!("[baseline]\nrecord = \"{record}\"\n")
}

#[test]
fn every_line_of_a_filter_selects() {
    let job = ActionJob::new();
    let both = job.uses(&inputs(&[]));
    let record = std::fs::read_to_string(&both.outputs["record"]).unwrap();
    let count = |id: &str| record.matches(&format!("\"id\":\"{id}")).count();
    assert!(count("exec/exit-codes/") > 3 && count("env/values/") == 2, "{record}");
}

#[test]
fn what_an_input_says_and_nothing_reads_is_an_error() {
    let job = ActionJob::new();
    for (name, value, about) in [
        ("filter", "env/values/**\nfs/wirte/**", "filter `fs/wirte/**` matches no case"),
        ("filter", "'env/values/**'", "are not read"),
        ("filter", "env/values/** # plain", "are not read"),
        ("strict", "yes", "write true or false"),
        ("shard", "5/4", "write I/N"),
        ("set", "cor", "cor"),
        ("known", "box.known.yaml", "cannot be read"),
        ("baseline", "no.ndjson", "cannot be read"),
        ("cases", "nowhere", "nowhere"),
        ("backend", "", "name one"),
        ("version", "latest", "write X.Y.Z"),
    ] {
        let result = job.uses(&inputs(&[(name, value)]));
        assert_eq!(result.code, 2, "{name}: {value}: {}", result.log);
        has(&result.log, about);
        assert!(!result.log.contains(" pass in "), "{}", result.log);
    }
}

#[test]
fn known_failures_are_read_from_the_named_list() {
    let job = ActionJob::new();
    let rows =
        "- {case: 'exec/exit-codes/*', verdict: contract, signature: exit, reason: A bug.}\n";
    job.place.write("project/lists/bugs.yaml", rows);
    let known =
        job.uses(&inputs(&[("known", "lists/bugs.yaml"), ("filter", "exec/exit-codes/forty-two")]));
    assert_eq!((known.code, known.outputs["failed"].as_str()), (0, "0"), "{}", known.log);
}

#[test]
fn a_release_is_executed_only_if_it_is_vouched_for() {
    let own = env!("CARGO_PKG_VERSION");
    let job = ActionJob::new().released(own).attested(0);
    let only = [("filter", "env/values/spaces"), ("version", "")];
    let attested = job.uses(&inputs(&only));
    assert_eq!(attested.code, 0, "{}", attested.log);
    has(&attested.log, "--repo boxproof/boxproof --source-ref refs/tags/v");

    let refused = ActionJob::new().released(own).attested(1).uses(&inputs(&only));
    assert_eq!(refused.code, 2, "{}", refused.log);
    has(&refused.log, "carries no attestation");

    // A pinned one needs no other word, and is that one or none.
    let job = ActionJob::new().released(own).attested(1);
    let digest = |text: &str| format!("{own}@sha256:{text}");
    let wrong = job.uses(&inputs(&[only[0], ("version", &digest(&"0".repeat(64)))]));
    assert_eq!(wrong.code, 2, "{}", wrong.log);
    let (_, found) = wrong.log.split_once("its SHA-256 is ").unwrap();
    let pinned = job.uses(&inputs(&[only[0], ("version", &digest(&found[..64]))]));
    assert_eq!(pinned.code, 0, "{}", pinned.log);

    // Where there is no archive the tree is built, but never in the place of another version.
    let job = ActionJob::new().building();
    let built = job.uses(&inputs(&only));
    assert_eq!(built.code, 0, "{}", built.log);
    has(&built.log, "::warning title=boxproof::file://");
    let absent = job.uses(&inputs(&[only[0], ("version", "99.0.0")]));
    assert_eq!(absent.code, 2, "{}", absent.log);
    has(&absent.log, "cannot be had, and this tree is");
}
