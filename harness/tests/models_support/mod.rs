//! Scenes, generated policies, and real `bwrap` to try them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use boxproof_cases::case::{ObjectOperation, OperationAttempt};
use boxproof_cases::protocol::{CompileTarget, DocumentAnswer, PathAnswer, PolicyAnswer};
use serde_json::{Value, json};

/// Random numbers that are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn one<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.roll(from.len());
        &from[at]
    }

    fn some<T: Clone>(&mut self, most: usize, from: &[T]) -> Vec<T> {
        (0..self.roll(most + 1)).map(|_| self.one(from).clone()).collect()
    }
}

/// Makes a directory that no sandbox replaces.
pub(crate) fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

const DIRECTORIES: [&str; 8] = ["w", "w/a", "w/a/b", "w/c d", "w/q\"x", "o", "o/p", "o/p/q"];
const DEEDS: [ObjectOperation; 5] = [
    ObjectOperation::Read,
    ObjectOperation::Write,
    ObjectOperation::Create,
    ObjectOperation::Remove,
    ObjectOperation::Move,
];

/// Directories with a file for each deed.
pub(crate) struct ModelFixture {
    root: PathBuf,
}

impl ModelFixture {
    /// Makes everything below `root`.
    pub(crate) fn lay_out(root: &Path) -> Self {
        std::fs::create_dir(root).unwrap();
        let fixture = Self { root: root.canonicalize().unwrap() };
        for directory in DIRECTORIES {
            std::fs::create_dir(fixture.root.join(directory)).unwrap();
        }
        for file in fixture.files() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, secret(&file)).unwrap();
        }
        fixture
    }

    /// Returns the directory that policies are about.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.join("w")
    }

    fn at(&self, name: &str) -> String {
        self.root.join(name).to_str().unwrap().to_owned()
    }

    fn directories(&self) -> Vec<String> {
        DIRECTORIES.iter().map(|directory| self.at(directory)).collect()
    }

    fn target(&self, number: usize, deed: ObjectOperation) -> String {
        self.at(&format!("{}/{}-{number}", DIRECTORIES[number], deed.keyword()))
    }

    /// Lists the files at the start.
    fn files(&self) -> Vec<PathBuf> {
        let deeds = DEEDS.into_iter().filter(|deed| *deed != ObjectOperation::Create);
        let files = deeds.flat_map(|deed| (0..DIRECTORIES.len()).map(move |at| (at, deed)));
        let files = files.map(|(at, deed)| self.target(at, deed));
        let inner = (0..DIRECTORIES.len()).map(|at| format!("{}/inner", self.moved_directory(at)));
        files.chain(inner).map(PathBuf::from).collect()
    }

    fn moved_directory(&self, number: usize) -> String {
        self.at(&format!("{}/directory-{number}", DIRECTORIES[number]))
    }

    /// Lists every attempt.
    pub(crate) fn attempts(&self) -> Vec<OperationAttempt> {
        let each = (0..DIRECTORIES.len()).flat_map(|at| DEEDS.map(|deed| (at, deed)));
        let files = each.map(|(at, deed)| OperationAttempt { deed, object: self.target(at, deed) });
        let directories = (0..DIRECTORIES.len()).map(|at| OperationAttempt {
            deed: ObjectOperation::Move,
            object: self.moved_directory(at),
        });
        files.chain(directories).collect()
    }

    /// Returns whether the attempt succeeded, as the host sees it; for reading, as the reader
    /// reports.
    fn is_done(&self, attempt: &OperationAttempt, read: &[String]) -> bool {
        let path = Path::new(&attempt.object);
        match attempt.deed {
            ObjectOperation::Read => read.contains(&attempt.object),
            ObjectOperation::Write => std::fs::read_to_string(path).unwrap() != secret(path),
            ObjectOperation::Create => path.exists(),
            _ => !path.exists(),
        }
    }
}

/// Returns the content of a file.
fn secret(file: &Path) -> String {
    format!("secret of {}\n", file.file_name().unwrap().to_str().unwrap())
}

/// A random policy, as a request.
pub(crate) fn policy(fixture: &ModelFixture, dice: &mut Dice) -> Value {
    let directories = fixture.directories();
    let mut objects: Vec<String> = directories[1..].to_vec();
    objects.extend(fixture.files().iter().map(|file| file.to_str().unwrap().to_owned()));
    let readable = match dice.roll(3) {
        0 => json!(dice.some(2, &directories[5..])),
        _ => json!("all"),
    };
    let policy = json!({
        "workspace": directories[0],
        "mode": *dice.one(&["workspace_write", "workspace_write", "workspace_write", "read_only"]),
        "writable": dice.some(2, &directories[1..]),
        "readable": readable,
        "deny_read": dice.some(3, &objects),
        "deny_write": dice.some(4, &objects),
        "tmp": "none",
        "network": if dice.roll(2) == 0 { json!({"none": {}}) } else { json!({"host": {}}) },
    });
    compile_request(&json!({ "policy": policy }), fixture)
}

/// A request to compile `rules`.
pub(crate) fn compile_request(rules: &Value, fixture: &ModelFixture) -> Value {
    json!({ "protocol": 1, "rules": rules, "cwd": fixture.workspace() })
}

/// Returns the reference's answer.
pub(crate) fn compile(
    target: CompileTarget,
    request: &Value,
    fixture: &ModelFixture,
) -> DocumentAnswer {
    answer(&["compile", "--target", target.keyword()], request, fixture)
}

fn answer(verb: &[&str], request: &Value, fixture: &ModelFixture) -> DocumentAnswer {
    let [asked, answered] = ["request.json", "answer.json"].map(|name| fixture.root.join(name));
    std::fs::write(&asked, request.to_string()).unwrap();
    let _ = std::fs::remove_file(&answered);
    let mut command = Command::new(env!("CARGO_BIN_EXE_boxproof"));
    command.arg("reference").args(verb).arg("--request").arg(&asked).arg("--result").arg(&answered);
    let output = command.output().unwrap();
    let text = std::fs::read_to_string(&answered)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str::<PolicyAnswer>(&text).unwrap().answer
}

/// Returns random words of `bwrap`, of which each mount lies on an existing object.
pub(crate) fn raw(fixture: &ModelFixture, dice: &mut Dice) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut argv = words(&["bwrap", "--unshare-user", "--unshare-pid", "--cap-drop", "ALL"]);
    argv.extend(words(&[*dice.one(&["--ro-bind", "--bind"]), "/", "/"]));
    argv.extend(words(&["--dev", "/dev", "--proc", "/proc"]));
    let mut objects = fixture.directories();
    let files = fixture.files();
    for _ in 0..2 + dice.roll(7) {
        let directory = dice.one(&objects).clone();
        match dice.roll(8) {
            0 | 1 => argv.extend(words(&["--bind", &directory, &directory])),
            2 | 3 => argv.extend(words(&["--ro-bind", &directory, &directory])),
            4 => argv.extend(words(&["--tmpfs", &directory])),
            5 => {
                let file = dice.one(&files).to_str().unwrap();
                argv.extend(words(&[*dice.one(&["--ro-bind", "--bind"]), file, file]));
            }
            6 => {
                let other = dice.one(&objects).clone();
                argv.extend(words(&[*dice.one(&["--ro-bind", "--bind"]), &other, &directory]));
            }
            _ => {
                argv.extend(words(&["--bind", &directory, &directory, "--remount-ro", &directory]));
            }
        }
        objects.rotate_left(1);
    }
    argv.push("--".to_owned());
    argv
}

/// Tries its arguments one by one: deed, name, secret.
const ACTOR: &str = r#"
echo started
while [ $# -gt 0 ]; do
    case $1 in
    read) IFS= read -r line <"$2" && [ "$line" = "$3" ] && printf '%s\n' "read:$4" ;;
    write) printf changed >"$2" ;;
    create) printf made >"$2" ;;
    remove) rm -f "$2" ;;
    move) mv -n "$2" "$2.moved" ;;
    esac
    shift 4
done 2>/dev/null
echo ended
"#;

/// Returns the result of each attempt under `argv`; none if `bwrap` refused to start.
pub(crate) fn try_all(
    fixture: &ModelFixture,
    argv: &[String],
) -> Option<Vec<(OperationAttempt, bool)>> {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).args(["/bin/sh", "-c", ACTOR, "sh"]).stdin(Stdio::null());
    for attempt in fixture.attempts() {
        let secret = secret(Path::new(&attempt.object));
        for name in names(argv, &attempt.object) {
            command.args([attempt.deed.keyword(), &name, secret.trim_end(), &attempt.object]);
        }
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    if lines.first() != Some(&"started") {
        return None;
    }
    assert_eq!(lines.last(), Some(&"ended"), "the actor did not come to its end: {argv:?}");
    let read: Vec<String> =
        lines.iter().filter_map(|line| line.strip_prefix("read:")).map(str::to_owned).collect();
    let done = |attempt: OperationAttempt| {
        let done = fixture.is_done(&attempt, &read);
        (attempt, done)
    };
    Some(fixture.attempts().into_iter().map(done).collect())
}

/// Lists the object's own name, and those that a bind of a directory above it to elsewhere gives
/// it.
fn names(argv: &[String], object: &str) -> Vec<String> {
    let mut names = vec![object.to_owned()];
    for words in argv.windows(3).filter(|words| words[0].ends_with("bind")) {
        if let Ok(rest) = Path::new(object).strip_prefix(&words[1]) {
            names.push(
                Path::new(&words[2]).join(rest).to_str().unwrap().trim_end_matches('/').into(),
            );
        }
    }
    names.sort();
    names.dedup();
    names
}

const RULES: [&str; 16] = [
    "**",
    "a/**",
    "a/b/**",
    "c d/**",
    "a",
    "a/*",
    "*",
    "*-0",
    "**/read-*",
    "**/b/**",
    "a/**/b",
    "q\"x/**",
    "read-?",
    "a/b/write-2",
    "**/write-?",
    "a**2",
];

/// A random profile of documents, as the request to compile says it.
pub(crate) fn orbit(fixture: &ModelFixture, dice: &mut Dice) -> Value {
    let rules = |dice: &mut Dice| -> Vec<String> {
        let some = dice.some(5, &RULES);
        let signed = |rule: &&str| match dice.roll(3) {
            0 => format!("!{rule}"),
            _ => (*rule).to_owned(),
        };
        some.iter().map(signed).collect()
    };
    let mut read = vec!["**".to_owned()];
    read.extend(rules(dice));
    let modify = rules(dice);
    let mut deny_modify: Vec<String> =
        dice.some(2, &RULES[1..]).iter().map(|r| (*r).into()).collect();
    if dice.roll(2) == 0 {
        deny_modify.extend(["a/**".to_owned(), "!a/b/**".to_owned()]);
    }
    let text = json!({
        "schemaVersion": 2,
        "kind": "Policy",
        "metadata": {"name": "default"},
        "spec": {"denyRead": dice.some(2, &RULES[1..]), "denyModify": deny_modify,
            "fsProfiles": {"p": {"read": read, "modify": modify}}},
    });
    json!({"dialect": "orbit", "documents": [{"name": "h", "text": text.to_string()}],
        "profile": "p", "workspace": fixture.workspace()})
}

/// Returns such a profile with directories that are granted whole.
pub(crate) fn orbit_whole(fixture: &ModelFixture, dice: &mut Dice) -> Value {
    let mut profile = orbit(fixture, dice);
    let granted = dice.some(2, &["**", "a/**", "a/b/**", "c d/**"]);
    let text = json!({"schemaVersion": 2, "kind": "Policy", "metadata": {"name": "default"},
        "spec": {"fsProfiles": {"p": {"read": ["**"], "modify": granted}}}});
    profile["documents"][0]["text"] = text.to_string().into();
    profile
}

/// Returns the engine's decision on the object of each attempt, reading and modifying; none
/// outside.
pub(crate) fn decided(
    fixture: &ModelFixture,
    profile: &Value,
) -> Vec<(OperationAttempt, Option<[bool; 2]>)> {
    let workspace = fixture.workspace();
    let below = |attempt: &OperationAttempt| {
        Path::new(&attempt.object).strip_prefix(&workspace).ok().map(Path::to_owned)
    };
    let attempts = fixture.attempts();
    let inside: Vec<_> = attempts.iter().filter_map(below).collect();
    let asked =
        inside.iter().flat_map(|path| ["read", "modify"].map(|op| json!({"op": op, "path": path})));
    let mut answers = engine(fixture, profile, &asked.collect::<Vec<_>>()).into_iter();
    let mut two = || [answers.next().unwrap(), answers.next().unwrap()];
    let each = attempts.into_iter().map(|attempt| {
        let said = below(&attempt).map(|_| two());
        (attempt, said)
    });
    each.collect()
}

/// Returns the engine's answer to each question.
fn engine(fixture: &ModelFixture, profile: &Value, asked: &[Value]) -> Vec<bool> {
    let mut request = profile.clone();
    request["protocol"] = json!(1);
    request["paths"] = json!(asked);
    let told = answer(&["check"], &request, fixture);
    let DocumentAnswer::Decisions(answers) = told else { panic!("{told:?}") };
    let decided = |answer: &PathAnswer| match answer {
        PathAnswer::Decided(decision) => decision.allowed,
        PathAnswer::Invalid(why) => panic!("{why}"),
    };
    answers.iter().map(decided).collect()
}

/// Returns the engine's decision on every file: deed, path from the workspace down, decision.
pub(crate) fn engine_decisions(
    fixture: &ModelFixture,
    profile: &Value,
) -> Vec<(ObjectOperation, String, bool)> {
    let workspace = fixture.workspace();
    let below = |path: PathBuf| Some(path.strip_prefix(&workspace).ok()?.to_str()?.to_owned());
    let paths: Vec<String> = fixture.files().into_iter().filter_map(below).collect();
    let each = paths.iter().flat_map(|path| ["read", "modify"].map(|op| (op, path)));
    let asked: Vec<Value> =
        each.clone().map(|(op, path)| json!({"op": op, "path": path})).collect();
    let answers = engine(fixture, profile, &asked);
    let each = each.zip(answers).flat_map(|((op, path), allowed)| {
        let deeds: &[ObjectOperation] = match op {
            "read" => &[ObjectOperation::Read],
            _ => &[ObjectOperation::Write, ObjectOperation::Create, ObjectOperation::Remove],
        };
        deeds.iter().map(move |deed| (*deed, path.clone(), allowed))
    });
    each.collect()
}
