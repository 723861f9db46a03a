//! The grants that lines infer.

use super::*;
use rstest::rstest;

mod differential;

fn granted(line: &str) -> InferredGrants {
    infer(line, Path::new("/w"), Path::new("/w"))
}

#[rstest]
#[case("git commit -m test", "commit")]
#[case("git -C repo branch x", "branch")]
#[case("git -C /w/repo -C sub branch x", "branch")]
#[case("git -C 'my repo' tag v1", "tag")]
#[case("git reset --soft HEAD~1", "reset")]
#[case("git reset", "reset")]
#[case("git restore .", "restore")]
#[case("git restore -s HEAD f", "restore")]
#[case("git rm -r sub", "rm")]
#[case("git branch p && git branch -D p", "branch")]
#[case("git commit --amend --no-edit", "commit")]
#[case("git commit -m 'git reset --hard is bad'", "commit")]
#[case("git tag -m --force v1", "tag")]
#[case("git merge -q --no-ff -m merged side", "merge")]
#[case("git merge -s ours side", "merge")]
#[case("git rebase --onto main a b", "rebase")]
#[case("GIT_EDITOR=true git rebase --continue", "rebase")]
#[case("git -c core.editor=true rebase --continue", "rebase")]
#[case("git -c user.name=a -c user.email=b commit -m x", "commit")]
#[case("env GIT_AUTHOR_NAME=a git commit -m x", "commit")]
#[case("env git commit -m x", "commit")]
#[case("command git commit -m x", "commit")]
#[case("timeout 60 git commit -m x", "commit")]
#[case("sh -c 'git add . && git commit -m x'", "add")]
#[case("  git commit -m x", "commit")]
#[case("(git commit -m x)", "commit")]
#[case("git status && git commit -m x", "commit")]
#[case("git log --oneline | head -3; git add .", "add")]
#[case("cd sub && git commit -m x", "commit")]
#[case("echo hi | git commit -F -", "commit")]
#[case("echo 'x; git reset --hard'; git add .", "add")]
#[case("# git reset --hard\ngit add .", "add")]
#[case("git add . # then git reset --hard", "add")]
#[case("mkdir -p src && echo x > src/f && git add src/f", "add")]
#[case("git add .\ngit commit -m x", "add")]
#[case("git add a \\\n  b && git commit -m x", "add")]
#[case("git commit -m \"$(cat <<'END'\nfix: it's done\n\ngit reset --hard\nEND\n)\"", "commit")]
#[case("git commit -F - <<END\ntext\nEND", "commit")]
#[case("git commit -m \"at $(date)\"", "commit")]
#[case("m=x; git commit -m \"$m\"", "commit")]
#[case("git add *.rs", "add")]
#[case("git add $files", "add")]
#[case("git add f 2>/dev/null >&2", "add")]
#[case("! git diff --quiet && git commit -am x", "commit")]
#[case("git add . && git clean -n", "add")]
#[case("git tag v1; git push origin main", "tag")]
#[case("git ls-files -m -z | xargs -0 git add", "add")]
#[case("/usr/bin/git add .", "add")]
#[case("[ -f a ] && git add a", "add")]
#[case("git log --format=%an | sort | uniq -c; git add a", "add")]
#[case("git commit -m \"by ${USER:-nobody}\"", "commit")]
#[case("'git' \"add\" .", "add")]
#[case("git diff main side > p && git apply p && git add .", "add")]
#[case("x_1=a; git add .", "add")]
#[case("x=a~; y=~/a; git add .", "add")]
#[case("git --version; git add .", "add")]
#[case("git remote -v; git add .", "add")]
#[case("git remote -v show; git add .", "add")]
#[case("cd a~ && git add .", "add")]
#[case("cd a\\ b && git add .", "add")]
#[case("git add {a.b}", "add")]
#[case("git commit -m \"a\nb\"", "commit")]
#[case("echo $?; git add .", "add")]
#[case("git commit -m \"${_a_b}$c_d\"", "commit")]
#[case("[ \"$a$b\" = x ] && git add .", "add")]
#[case("git log a*b*; git add .", "add")]
#[case("git grep x; git add .", "add")]
#[case("> f; git add f", "add")]
#[case("2>/dev/null git add f", "add")]
#[case("echo ab>/dev/null; git add .", "add")]
#[case("find . -mtime -5; git add .", "add")]
#[case("command -v git; git add .", "add")]
#[case::wrapped_often(&format!("{}git add .", "nice ".repeat(7)), "add")]
#[case::groups(&format!("{}git add .", "{ :; }; ".repeat(20)), "add")]
#[case::subshells(&format!("{}git add .", "(:); ".repeat(20)), "add")]
fn a_line_grants_itself_what_it_needs(#[case] line: &str, #[case] subcommand: &str) {
    let found = granted(line);
    assert_eq!(found.granted, [GIT_GRANT], "{}", found.because);
    assert_eq!(found.subcommand.as_deref(), Some(subcommand));
}

#[rstest]
#[case("git status", "nothing in it")]
#[case("git log; ls", "nothing in it")]
#[case("true", "nothing in it")]
#[case("git reset --hard HEAD", "reset --hard throws work away")]
#[case("git reset HEAD --hard", "reset --hard throws")]
#[case("git reset -q --hard", "reset --hard throws")]
#[case("git reset --har", "git reset --har is not known")]
#[case("[a]it add a; git add .", "which program is run is not known")]
#[case("[ -v x ] && git add .", "not known")]
#[case("git log | sort -o .git/HEAD; git add .", "not known")]
#[case("git log | uniq - .git/HEAD; git add .", "git")]
#[case("git commit -m \"${X:=$(rm -rf .git)}\"", "changes a variable")]
#[case("git commit -m \"${X:-$(rm -rf .git)}\"", "changes a variable")]
#[case("git ${X:-reset} --hard", "not known")]
#[case("git reset \"$x\"", "what git reset is given")]
#[case("git -C . reset --hard", "throws work away")]
#[case("git add . && git reset -q HEAD --hard", "throws work away")]
#[case("git commit -m x || git reset --hard", "throws work away")]
#[case("sh -c 'git add .; git reset --hard'", "throws work away")]
#[case("git commit -m \"$(git reset --hard)\"", "throws work away")]
#[case("git clean -fd && git add .", "git clean -f")]
#[case("git add .; git clean --force", "throws work away")]
#[case("git clean -d; git add .", "throws work away")]
#[case("git tag x; git push -f", "git push -f throws")]
#[case("git tag x; git push --force-with-lease", "throws work away")]
#[case("git tag x; git push origin +main", "forces, removes")]
#[case("git tag x; git push origin :main", "forces, removes")]
#[case("git tag x; git push /w/other main", "forces, removes")]
#[case("git checkout -f main", "throws work away")]
#[case("git checkout -B main", "throws work away")]
#[case("git switch -C x", "throws work away")]
#[case("git branch -f x", "throws work away")]
#[case("git branch -M x", "git branch -M writes configuration")]
#[case("git branch -m x", "git branch -m writes configuration")]
#[case("git branch --set-upstream-to=o/x", "writes configuration")]
#[case("git switch -t origin/x", "writes configuration")]
#[case("git add . && git push -u origin x", "writes configuration")]
#[case("git tag -f v1", "throws work away")]
#[case("git rm -rf .", "git rm -f is not known")]
#[case("git notes add -m x && git add .", "git notes takes")]
#[case("git fetch origin +main && git add .", "changes a branch by name")]
#[case("git fetch origin main:main", "changes a branch by name")]
#[case("git fetch other", "comes from somewhere unknown")]
#[case("git fetch ../other main", "comes from somewhere unknown")]
#[case("git fetch 'ext::sh -c x'", "comes from somewhere unknown")]
#[case("git fetch --upload-pack=./x origin", "--upload-pack is not known")]
#[case("git fetch -p", "throws work away")]
#[case("git fetch --set-upstream origin main", "writes configuration")]
#[case("git pull -s ./own", "is a program")]
#[case("git pull --rebase --exec x", "--exec is not known")]
#[case("git pull evil main", "comes from somewhere unknown")]
#[case("git tag x; git push evil main", "somewhere unknown")]
#[case("git x", "git x takes")]
#[case("git COMMIT -m x", "git COMMIT takes")]
#[case("git config core.hooksPath x", "git_config_write")]
#[case("git add . && git config user.name x", "git_config_write")]
#[case("git init", "git_config_write")]
#[case("git -c core.hooksPath=x commit -m x", "core.hooksPath=x is not known")]
#[case("git -c core.fsmonitor=./x add .", "is not known")]
#[case("git -c alias.commit=!x commit", "is not known")]
#[case("git -c \"$x\" commit", "is not known")]
#[case("git --git-dir=.git commit -m x", "--git-dir can lead")]
#[case("git --git-dir .git commit -m x", "--git-dir can lead")]
#[case("git --exec-path=x commit -m x", "--exec-path can lead")]
#[case("git -C .. add .", "git -C leads")]
#[case("git -C /o add .", "git -C leads")]
#[case("git -C \"$x\" add .", "git -C leads")]
#[case("git -C .git/modules/x add .", "git -C leads")]
#[case("cd / && git add .", "cd leads")]
#[case("cd .. && git add .", "cd leads")]
#[case("cd && git add .", "cd leads")]
#[case("cd \"$x\" && git add .", "cd leads")]
#[case("cd .git && git add .", "cd leads")]
#[case("FOO=1 git commit -m x", "setting FOO")]
#[case("GIT_DIR=.git git add .", "setting GIT_DIR")]
#[case("PATH=.:$PATH git add .", "setting PATH")]
#[case("PATH=x; git add .", "setting PATH")]
#[case("export PATH=x; git add .", "setting PATH")]
#[case("LD_PRELOAD=./x git add .", "setting LD_PRELOAD")]
#[case("GIT_EDITOR='rm -rf .git' git commit", "setting GIT_EDITOR")]
#[case("env GIT_DIR=x git add .", "setting GIT_DIR")]
#[case("env -i git add .", "what -i does")]
#[case("git rebase --exec ./x main", "git rebase --exec")]
#[case("git rebase -x ./x main", "git rebase -x")]
#[case("git merge -s ./x side", "strategy")]
#[case("git diff --output=.git/f && git add .", "--output=.git/f can write")]
#[case("git diff --ext-diff && git add .", "can write or run")]
#[case("git grep -nO./x y && git add .", "can write or run")]
#[case("git log \"$x\" && git add .", "what git log is given")]
#[case("git add . && printf x > .git/hooks/pre-commit", "in a git directory")]
#[case("git add . && printf x > sub/../.GIT/f", "in a git directory")]
#[case("git add . && printf x > \"$f\"", "which file")]
#[case("echo 'x; git commit' && printf x > .git/f", "in a git directory")]
#[case("rm -rf .git; git add .", "rm -r is not known")]
#[case("rm -f .git/index; git add .", "in a git directory")]
#[case("git commit -m x && rm -rf .git", "rm -r is not known")]
#[case("mv .git g2 && git add .", "in a git directory")]
#[case("cp x .git/config && git add .", "in a git directory")]
#[case("git add . && printf x | tee .git/f", "in a git directory")]
#[case("make && git add .", "what make does")]
#[case("./git add .", "what ./git does")]
#[case("$git add .", "which program")]
#[case("sudo git add .", "what sudo does")]
#[case("eval git add .", "what eval does")]
#[case("find . -exec git add {} +", "what find does")]
#[case("sh x.sh && git add .", "what sh runs")]
#[case("bash -c \"$x\" && git add .", "what bash runs")]
#[case("git add . && `x`", "backquote")]
#[case("git add $((1))", "calculates")]
#[case("! ! git add .", "negated within, or twice")]
#[case("git() { x; }; git add .", "defines a function")]
#[case("git stash drop", "throws work away")]
#[case("git stash store x", "git stash store is not known")]
#[case("git cherry-pick --strategy ./x a", "strategy")]
#[case("if true; then git add .; fi x", "follows a subshell or compound")]
#[case("if true; then git add .", "not closed")]
#[case("for f; do git add $f; done", "not known")]
#[case("for PATH in x; do git add .; done", "setting PATH")]
#[case("{ git reset --hard; }", "throws work away")]
#[case("case x in x) git add .;; esac", "compound")]
#[case("read PATH; git add .", "setting PATH")]
#[case("cd \"$(git rev-parse --show-toplevel)/..\" && git add .", "cd leads")]
#[case("python3 x.py && git add .", "what python3 does")]
#[case("alias git=x; git add .", "what alias does")]
#[case("git add <(x)", "not every shell")]
#[case("git add . &> f", "not every shell")]
#[case("git add {a,b}", "braces")]
#[case("git add $'a'", "dollar")]
#[case("git add 'a", "not closed")]
#[case("git add . ;; x", "missing")]
#[case("git add .)", "not opened")]
#[case("(git add .", "not closed")]
#[case("git add é", "not ASCII")]
#[case("git add .\r", "control")]
#[case("git commit -F - <<END\n$(x)\nEND", "expanded")]
#[case("git commit -F - <<END \"a\nb\"\nEND", "begins in a quote")]
#[case("git commit -F - <<END\ntext", "no end")]
#[case("", "no command")]
#[case("xargs git < f", "which subcommand")]
#[case("xY=a; git add .", "setting xY")]
#[case("http_proxy=a git add .", "setting http_proxy")]
#[case::words(&format!("{}git add .", "nice ".repeat(8)), "wrapped too often")]
#[case::variables(&format!("{}env git add .", "nice ".repeat(7)), "wrapped too often")]
#[case::line(&format!("{}sh -c 'git add .'", "nice ".repeat(7)), "wrapped too often")]
#[case("if</dev/null true; then git add .; fi", "touches another")]
#[case("git remote -v add x y; git add .", "git remote takes")]
#[case("git add -v; git remote update", "git remote takes")]
#[case("git log a$x; git add .", "what git log is given")]
#[case("for LC_$x in a; do git add .; done", "not closed")]
#[case::long_name(&format!("for {} in a; do git add .; done", "a".repeat(65)), "not closed")]
#[case("cd ~ && git add .", "cd leads")]
#[case("git add {1..3}", "braces")]
#[case("git add \"$@\"", "every argument at once")]
#[case("git commit -m \"${X:0}\"", "changes a variable")]
#[case("git commit -m \"${X-y}\"", "changes a variable")]
#[case("git add . >a>b", "two redirections touch")]
#[case("git commit -F - <<''\nx\n\n", "no plain end")]
#[case("git commit -F - <<END", "no end")]
#[case("git log |\\\nhead; git add .", "not every shell")]
#[case("(git add .) 2", "follows a subshell")]
#[case("git add . 12>f", "more than one digit")]
#[case("git add . {fd}>f", "names a variable")]
#[case("git add . <>f", "reading and writing")]
#[case("git add . <<<x", "not every shell")]
#[case("[ \"$x\" -ef b ] && git add .", "what [ does")]
#[case("[ $x = a ] && git add .", "what [ does")]
#[case("[ a = $x ] && git add .", "what [ does")]
fn a_line_that_could_do_more_grants_nothing(#[case] line: &str, #[case] because: &str) {
    let found = granted(line);
    assert_eq!(found.granted, [""; 0]);
    assert!(found.because.contains(because), "{}", found.because);
}

#[rstest]
#[case("/w", true)]
#[case("/w/sub", true)]
#[case("/o", false)]
#[case("/w/.git", false)]
fn a_line_is_started_in_the_workspace(#[case] cwd: &str, #[case] inside: bool) {
    let found = infer("git add .", Path::new("/w"), Path::new(cwd));
    assert_eq!(!found.granted.is_empty(), inside, "{}", found.because);
}

#[rstest]
#[case("git -c alias.x=y commit", Some("commit"))]
#[case("git reset --hard", Some("reset"))]
#[case("git --git-dir=x commit", Some("commit"))]
#[case("git status", None)]
#[case("make", None)]
fn what_would_change_a_repository_is_named(#[case] line: &str, #[case] subcommand: Option<&str>) {
    assert_eq!(granted(line).subcommand.as_deref(), subcommand);
}

/// Lines that destroy, steer or smuggle, and lines of every day, one a row (`tests/grants`); in a
/// row `⏎` is an end of line, and `␍` a carriage return.
#[test]
fn lines_are_granted_as_they_are_labelled() {
    let table = include_str!("../../../tests/grants/lines.tsv");
    let (mut kept, mut open) = (0, 0);
    let mut wrong = Vec::new();
    for row in table.lines() {
        let (label, line) = row.split_once('\t').unwrap();
        let found = granted(&line.replace('⏎', "\n").replace('␍', "\r"));
        let grants = !found.granted.is_empty();
        match label {
            "granted" => open += usize::from(grants),
            "none" => kept += usize::from(!grants),
            other => panic!("{other}: no label"),
        }
        if grants != (label == "granted") {
            wrong.push(format!("{row}: {}", found.because));
        }
    }
    println!("{kept} lines are granted nothing, {open} what they need");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(kept >= 160 && open >= 45, "{kept} and {open} rows");
}

fn run(command: Command, original: Option<&str>) -> Run {
    Run { original_command: original.map(str::to_owned), ..Run::new(command, "/w") }
}

fn policy() -> Policy {
    Policy { protect: Protect::Metadata, ..Policy::new("/w") }
}

#[rstest]
#[case(Command::Shell("git add .".into()), None, true)]
#[case(Command::Argv(vec!["/bin/sh".into(), "-c".into(), "git add .".into()]), None, true)]
#[case(Command::Argv(["/bin/sh", "-c", "git add .", "x"].map(String::from).into()), None, true)]
#[case(Command::Argv(["/bin/sh", "-c", "git add \"$@\"", "x"].map(String::from).into()), None, false)]
#[case(Command::Argv(["/bin/sh", "-x", "git add ."].map(String::from).into()), None, false)]
#[case(Command::Argv(["/w/sh", "-c", "git add ."].map(String::from).into()), None, false)]
// A program, which requests what it needs, names each argument.
#[case(Command::Argv(vec!["git".into(), "add".into(), ".".into()]), None, false)]
#[case(Command::Argv(vec!["git".into(), "add".into(), ".".into()]), Some("git add ."), true)]
#[case(Command::Shell("wrap 'git add .'".into()), Some("git add ."), true)]
#[case(Command::Shell("git add .".into()), Some("make"), false)]
fn the_original_line_counts(
    #[case] command: Command,
    #[case] original: Option<&str>,
    #[case] granted: bool,
) {
    let inferred = for_run(&policy(), &run(command, original), |_| false);
    assert_eq!(inferred.is_some_and(|one| !one.granted.is_empty()), granted);
}

#[test]
fn nothing_is_inferred_that_nothing_would_come_of() {
    let run = run(Command::Shell("git add .".into()), None);
    let without = [
        Policy { protect: Protect::None, ..policy() },
        Policy { mode: Mode::ReadOnly, ..policy() },
        Policy { infer_grants: false, ..policy() },
        Policy { grants: vec![GIT_GRANT.into()], ..policy() },
    ];
    assert!(without.iter().all(|policy| for_run(policy, &run, |_| false).is_none()));
    assert!(for_run(&policy(), &run, |_| false).is_some());
}

#[rstest]
#[case("git commit -m x", "/w", false)]
#[case("git -C evil commit -m x", "/w", true)]
#[case("cd evil && git commit -m x", "/w", true)]
#[case("cd a && cd b && git add .", "/w", true)]
#[case("sh -c 'cd evil && git add .'", "/w", true)]
#[case("cd a && git add .", "/w", false)]
#[case("git commit -m x", "/w/evil", true)]
fn a_line_in_another_repository_infers_nothing(
    #[case] line: &str,
    #[case] cwd: &str,
    #[case] is_elsewhere: bool,
) {
    let foreign = ["/w/evil", "/w/a/b"].map(Path::new);
    let run = Run { cwd: Path::new(cwd).into(), ..run(Command::Shell(line.to_owned()), None) };
    let inferred = for_run(&policy(), &run, |path| foreign.contains(&path)).unwrap();
    assert_eq!(inferred.granted.is_empty(), is_elsewhere, "{inferred:?}");
}
