//! Backends that spoil the evidence: they close, move or replace the arm's
//! directories, undo effects, leave files that cannot be read or searched, and exchange the probe.

use std::path::Path;

use crate::baseline::{ALLOWED, DENIED};
use crate::context::{BOTH, FinishedRun, HostileRow, RowContext, User};
use crate::support::fakes::verdict;

/// Cases in which something may not come to be, one of each kind.
const ABSENT: &[&str] = &[
    "fs/deny-absent-parents/grandparent-linked",
    "fs/deny-absent-missing/making",
    "fs/deny-glob-later/directory-moved",
    "fs/deny-write-parent-swap/made-anew",
];
/// All of them.
const ALL_ABSENT: &[&str] = &[
    "fs/deny-absent-parents/*",
    "fs/deny-absent-missing/*",
    "fs/deny-glob-later/*",
    "fs/deny-write-parent-swap/*",
];
/// An allowed act with a file that must have a content.
const CONTENT: &str = "protect/git-granted";
/// An act that must not disclose a secret.
const SECRET: &str = "fs/read-deny-file/read";
/// The first commands of a native backend that denies nothing: `$liar` is set where it does so.
const DENIES_NOTHING: &str = r#"
workspace=$(sed 's/.*"workspace":"\([^"]*\)".*/\1/' "$request") state=${result%/*} liar=
grep -qE '"deny_write(_globs)?":\["|"protect":"metadata"' "$request" && liar=1
sed -i -E 's/"(deny_write(_globs)?)":\[[^]]*\]/"\1":[]/g; s/"protect":"metadata"/"protect":"none"/' "$request"
"#;

pub(crate) fn rows() -> Vec<HostileRow> {
    const ORDINARY: &[User] = &[User::Ordinary];
    let row = |name, users, slow, check| HostileRow { name, users, slow, check };
    vec![
        row("workspace-closed-after-the-act", BOTH, false, workspace_closed),
        row("workspace-closed-after-every-act", BOTH, true, workspace_closed_always),
        row("tree-moved-into-the-state-directory", BOTH, false, tree_moved),
        row("every-tree-moved-into-the-state-directory", BOTH, true, tree_moved_always),
        row("arm-directory-closed", BOTH, false, arm_closed),
        row("arm-directory-replaced-by-a-link", BOTH, false, arm_replaced),
        row("workspace-replaced-by-a-link", BOTH, false, workspace_replaced),
        row("workspace-gone-mid-run", BOTH, false, workspace_gone_first),
        row("workspace-removed-after-the-act", BOTH, false, wipes),
        row("write-undone-in-the-same-inode", BOTH, false, undoes_it),
        row("sparse-file-of-8-gib", BOTH, false, sparse_file),
        row("content-is-an-endless-device", BOTH, false, endless_content),
        row("content-is-a-fifo", BOTH, false, fifo_content),
        row("tree-of-6000-levels", BOTH, true, deep_tree),
        row("tree-of-200000-files", BOTH, true, many_files),
        row("probe-replaced-beside-another-backend", BOTH, false, probe_replaced),
        row("probe-replaced-alone", BOTH, false, probe_replaced_alone),
        row("files-planted-in-other-arms", BOTH, false, planted),
        row("worker-directory-closed", ORDINARY, false, worker_directory_closed),
        row("worker-directory-replaced-by-a-link", ORDINARY, false, worker_directory_replaced),
        row("run-directory-closed", ORDINARY, false, run_directory_closed),
    ]
}

/// Checks that every row of `ran` is one of the wanted, and that there are at least `least` of
/// them.
#[track_caller]
fn all_are(ran: &FinishedRun, wanted: &[&str], least: usize) {
    ran.is_bounded();
    let got: Vec<(String, String)> =
        ran.rows.iter().map(|row| (row["id"].to_string(), verdict(row))).collect();
    assert!(got.len() >= least, "{got:#?}");
    let other: Vec<_> = got.iter().filter(|(_, word)| !wanted.contains(&word.as_str())).collect();
    assert!(other.is_empty(), "{other:#?} of {}", got.len());
}

fn closes_workspace(context: &RowContext) -> String {
    context.native("closes", DENIES_NOTHING, "[ -z \"$liar\" ] || chmod 000 \"$workspace\"")
}

fn workspace_closed(context: &RowContext) {
    let ran = context.run(&closes_workspace(context), ABSENT);
    all_are(&ran, &["under-block oracle"], ABSENT.len());
}

fn workspace_closed_always(context: &RowContext) {
    let ran = context.run(&closes_workspace(context), ALL_ABSENT);
    all_are(&ran, &["under-block oracle"], 31);
}

fn moves_tree(context: &RowContext) -> String {
    let before = format!("{DENIES_NOTHING}cp -a \"$workspace\" \"$state/kept\"");
    let after = "if [ -n \"$liar\" ]; then mkdir \"$state/new\"\n\
        mv \"$workspace\"/* \"$state/new\"; cp -a \"$state/kept/.\" \"$workspace\"; fi";
    context.native("moves", &before, after)
}

fn tree_moved(context: &RowContext) {
    let ran = context.run(&moves_tree(context), ABSENT);
    all_are(&ran, &["under-block oracle", "probe-broken unread"], ABSENT.len());
}

fn tree_moved_always(context: &RowContext) {
    let ran = context.run(&moves_tree(context), ALL_ABSENT);
    all_are(&ran, &["under-block oracle", "probe-broken unread"], 31);
}

/// A backend without a sandbox that does `after` in the workspace when the command has ended.
fn open(context: &RowContext, after: &str) -> String {
    context.backend("open", &format!("\"$@\"\ncode=$?\narm=${{PWD%/ws}}\n{after}\nexit $code"))
}

fn arm_closed(context: &RowContext) {
    let ran = context.run(&open(context, "chmod 000 \"$arm\""), &[ALLOWED, DENIED]);
    ran.is_bounded();
    // Root can look all the same; the mode is what the backend left.
    let allowed = if context.user == User::Root { "leak left-behind" } else { "contract tree" };
    assert_eq!([ran.verdict(ALLOWED), ran.verdict(DENIED)], [allowed, "under-block oracle"]);
}

/// A directory of the row's own with one file, and what it looks like.
fn target(context: &RowContext) -> (String, impl Fn() -> Vec<(String, u32)>) {
    use std::os::unix::fs::PermissionsExt;
    let target = context.place.path("target");
    std::fs::create_dir(&target).unwrap();
    std::fs::write(target.join("private"), "private").unwrap();
    std::fs::set_permissions(&target, PermissionsExt::from_mode(0o750)).unwrap();
    context.hand_over("target");
    let look = move || {
        let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode();
        let below = std::fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().path());
        let all = below.chain([target.clone()]);
        let mut all: Vec<_> = all.map(|path| (path.display().to_string(), mode(&path))).collect();
        all.sort();
        all
    };
    (context.place.arg("target"), look)
}

fn arm_replaced(context: &RowContext) {
    let (path, look) = target(context);
    let before = look();
    let script = format!("cd /; mv \"$arm\" \"$arm.moved\"; ln -s '{path}' \"$arm\"");
    let ran = context.run(&open(context, &script), &[ALLOWED, DENIED]);
    ran.is_bounded();
    assert_eq!(
        [ran.verdict(ALLOWED), ran.verdict(DENIED)],
        ["contract tree", "under-block oracle"]
    );
    assert_eq!(look(), before);
}

fn workspace_replaced(context: &RowContext) {
    let (path, look) = target(context);
    let before = look();
    let script = format!("cd /; rm -rf \"$arm/ws\"; ln -s '{path}' \"$arm/ws\"");
    let ran = context.run(&open(context, &script), &[ALLOWED, DENIED]);
    ran.is_bounded();
    assert_eq!(
        [ran.verdict(ALLOWED), ran.verdict(DENIED)],
        ["contract tree", "under-block oracle"]
    );
    assert_eq!(look(), before);
    let told = ran.rows.iter().any(|row| row.to_string().contains("/private"));
    assert!(!told, "names of the target are in the record: {:#?}", ran.rows);
}

fn workspace_gone_first(context: &RowContext) {
    for script in ["rm -rf \"$PWD\"", "mv \"$PWD\" \"$PWD.moved\"", "chmod 000 \"$PWD\""] {
        let ran = context
            .run(&context.backend("first", &format!("{script}\nexec \"$@\"")), &[ALLOWED, DENIED]);
        ran.is_bounded();
        assert_ne!(ran.verdict(ALLOWED), "pass", "{script}");
        assert_eq!(ran.verdict(DENIED), "under-block oracle", "{script}");
    }
}

fn wipes(context: &RowContext) {
    let wipes = context.native("wipes", DENIES_NOTHING, "rm -rf \"$workspace\"");
    let ran = context.run(&wipes, &[ALLOWED, DENIED]);
    ran.is_bounded();
    assert_eq!(
        [ran.verdict(ALLOWED), ran.verdict(DENIED)],
        ["contract tree", "under-block oracle"]
    );
}

fn undoes_it(context: &RowContext) {
    // Runs the command itself, so that what the probe says can be exchanged on the way.
    let reference = match context.user == User::Ordinary && nix::unistd::geteuid().is_root() {
        true => context.place.arg("boxproof"),
        false => crate::support::BOXPROOF.to_owned(),
    };
    let before = format!(
        r#"{DENIES_NOTHING}if [ -n "$liar" ]; then
cp -a "$workspace/.git" "$state/git"
said=s/\"outcome\":\"succeeded\"/\"outcome\":\"refused\",\"errno\":\"EROFS\",\"call\":\"openat\"/
{reference} reference run --request "$request" --result "$result" | sed "$said"
for file in HEAD config hooks/pre-commit; do
  cmp -s "$state/git/$file" "$workspace/.git/$file" || cat "$state/git/$file" > "$workspace/.git/$file"
  chmod --reference="$state/git/$file" "$workspace/.git/$file"
  touch -r "$state/git/$file" "$workspace/.git/$file"
done
touch -r "$state/git" "$workspace/.git"
sed -i 's/"success":true/"success":false/; s/"exit_code":0/"exit_code":1/' "$result"
exit 1
fi"#
    );
    let ran = context.run(&context.native("undoes", &before, ""), &["protect/git-write/*"]);
    all_are(&ran, &["under-block oracle"], 9);
}

fn sparse_file(context: &RowContext) {
    let script = "truncate -s 8G \"$HOME/x\" \"$PWD/x\"";
    let ran = context.run(&open(context, script), &[ALLOWED, SECRET]);
    ran.is_bounded();
    assert_eq!(ran.verdict(ALLOWED), "leak residue");
    assert_eq!(ran.verdict(SECRET), "under-block oracle");
    let denies = context.native("denies", "", "truncate -s 8G \"$HOME/x\"");
    let ran = context.run(&denies, &[SECRET]);
    ran.is_bounded();
    assert_eq!(ran.verdict(SECRET), "leak residue");
    assert!(ran.seconds < 20.0, "{} s", ran.seconds);
}

fn endless_content(context: &RowContext) {
    let ran = context.run(&open(context, "ln -sf /dev/zero .git/HEAD"), &[CONTENT]);
    all_are(&ran, &["over-block oracle"], 1);
}

fn fifo_content(context: &RowContext) {
    let ran = context.run(&open(context, "rm .git/HEAD; mkfifo .git/HEAD"), &[CONTENT]);
    all_are(&ran, &["over-block oracle"], 1);
}

fn deep_tree(context: &RowContext) {
    let script = "d=d; for i in 1 2 3 4 5 6 7; do d=$d/$d; done\n\
        cd \"$HOME\"; for i in $(seq 47); do mkdir -p \"$d\"; cd -P \"$d\" || break; done";
    let ran = context.run(&open(context, script), &[ALLOWED, DENIED]);
    ran.is_bounded();
    assert_eq!([ran.verdict(ALLOWED), ran.verdict(DENIED)], ["leak residue", "under-block oracle"]);
}

fn many_files(context: &RowContext) {
    let script = "cd \"$HOME\"; seq 200000 | xargs touch";
    let ran = context.run(&open(context, script), &[ALLOWED, DENIED]);
    ran.is_bounded();
    assert_eq!([ran.verdict(ALLOWED), ran.verdict(DENIED)], ["leak residue", "under-block oracle"]);
}

/// Puts another program in the probe's place.
const REPLACES: &str = r#"case $1 in */boxprobe)
  printf '#!/bin/sh\n%s\n' 'LINE' > "$1.new" && chmod 755 "$1.new" && mv -f "$1.new" "$1";; esac"#;
/// A probe that is always refused.
const REFUSED: &str = r#"printf "\036boxproof %s {\"probe\":\"%s\",\"outcome\":\"refused\",\"errno\":\"EACCES\",\"call\":\"openat\"}\n" "$2" "$3"; exit 1"#;

/// The verdicts of the backend called `name`.
fn verdicts_of(ran: &FinishedRun, name: &str) -> Vec<String> {
    let rows = ran.rows.iter().filter(|row| row["backend"] == name);
    rows.map(|row| format!("{} {}", row["id"], verdict(row))).collect()
}

/// Runs `filters` against `spec` and, in the same run, the reference.
fn beside_reference(context: &RowContext, spec: &str, filters: &[&str]) -> FinishedRun {
    let args = context.arguments(&[spec, "reference"], filters);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    context.finish(context.command(&args))
}

#[track_caller]
fn reference_passes(ran: &FinishedRun, rows: usize) {
    let reference = verdicts_of(ran, "reference");
    assert_eq!(reference.len(), rows, "{reference:#?}");
    assert!(reference.iter().all(|row| row.ends_with(" pass")), "{reference:#?}");
}

/// Probes that may do what they try.
const GRANTED: [&str; 2] = ["fs/write-workspace/*", "fs/create-outside/*"];

fn probe_replaced(context: &RowContext) {
    for line in [REFUSED, ":"] {
        let script = REPLACES.replace("LINE", line);
        let liar = context.backend("liar", &format!("{script}\nexec \"$@\""));
        let ran = beside_reference(context, &liar, &GRANTED);
        ran.is_bounded();
        let liars = verdicts_of(&ran, "liar");
        reference_passes(&ran, liars.len());
        assert!(liars.iter().all(|row| !row.ends_with(" pass")), "{liars:#?}");
    }
}

fn probe_replaced_alone(context: &RowContext) {
    let script = REPLACES.replace("LINE", ":");
    let liar = context.backend("liar", &format!("{script}\nexec \"$@\""));
    let ran = context.run(&liar, &GRANTED);
    ran.is_bounded();
    let verdicts: Vec<String> = ran.rows.iter().map(verdict).collect();
    let blamed = |word: &String| word == "error harness" || word == "under-block oracle";
    assert!(verdicts.iter().all(blamed), "{:#?}", verdicts_of(&ran, "liar"));
    let told = ran.rows.iter().filter(|row| row["verdict"] == "error");
    for row in told {
        let message = row["message"].as_str().unwrap();
        assert!(message.contains("the probe") && message.contains("`liar`"), "{message}");
    }
}

fn planted(context: &RowContext) {
    let script = "for out in ../../../w*/arm/out; do : 2>/dev/null > \"$out/new\"; done";
    let liar = context.backend("liar", &format!("{script}\nexec \"$@\""));
    let ran = beside_reference(context, &liar, &["fs/create-outside/*", "fs/write-workspace/*"]);
    ran.is_bounded();
    reference_passes(&ran, verdicts_of(&ran, "liar").len());
}

const SEVERAL: [&str; 2] = ["exec/exit-codes/*", "fs/create-outside/*"];

/// Checks that no denial passes, and that no error leaves open which side is at fault.
#[track_caller]
fn blames_backend(ran: &FinishedRun) {
    for row in &ran.rows {
        let (id, message) = (row["id"].as_str().unwrap(), row["message"].as_str().unwrap_or(""));
        let blamed = row["verdict"] != "error" || message.contains("`open`");
        let passes = row["verdict"] == "pass" && id.starts_with("fs/");
        assert!(blamed && !passes, "{id}: {} {message}", verdict(row));
    }
}

fn worker_directory_closed(context: &RowContext) {
    let ran = context.run(&open(context, "chmod 000 \"$arm/..\""), &SEVERAL);
    blames_backend(&ran);
    assert_eq!(ran.verdict(DENIED), "under-block oracle");
}

fn worker_directory_replaced(context: &RowContext) {
    let (path, look) = target(context);
    let before = look();
    let script = format!(
        "cd /; worker=${{arm%/arm}}; mv \"$worker\" \"$worker.moved\"; ln -s '{path}' \"$worker\""
    );
    let ran = context.run(&open(context, &script), &SEVERAL);
    blames_backend(&ran);
    assert_eq!(ran.verdict(DENIED), "under-block oracle");
    assert_eq!(look(), before);
}

fn run_directory_closed(context: &RowContext) {
    let ran = context.run(&open(context, "chmod 000 \"$arm/../..\""), &SEVERAL);
    blames_backend(&ran);
}
