//! A backend that replaces directories of another arm while its fixture is laid out: nothing is
//! laid out elsewhere, and the arm is not judged.

use std::ffi::OsString;
use std::fmt::Write as _;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use crate::context::{BOTH, HELLO, HostileRow, ORDINARY_ALONE, RowContext};

/// A case whose fixture takes a while.
const LARGE: &str = "host/large";
const LARGE_CASE: &str = "purpose: A command says something in a workspace of many files.
requirement: R-test
act: {sh: echo large}
expect: {allowed: {}, exit: 0}
control: {none: a shell can say it}
fixture:
";
/// The files of its fixture.
const FILES: usize = 8000;

/// The first argument by which the test program exchanges two files.
pub(crate) const VERB: &str = "__exchange";

/// Gives each of two files the name of the other, at once.
pub(crate) fn serve(args: &[OsString]) -> i32 {
    let (one, other) = (args[0].as_os_str(), args[1].as_os_str());
    renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE).unwrap();
    0
}

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, check| HostileRow { name, users: BOTH, slow: false, check };
    vec![
        row("workspace-replaced-while-laid-out", |context| swapped(context, "$arm/ws", "")),
        row("arm-replaced-while-laid-out", |context| swapped(context, "$arm", "/ws")),
        // Root's workers are on mounts of their own, which cannot be renamed.
        HostileRow {
            users: ORDINARY_ALONE,
            ..row("worker-replaced-while-laid-out", |context| {
                swapped(context, "${arm%/arm}", "/arm/ws");
            })
        },
    ]
}

/// Replaces the directory `own`, a word of a shell, by a link; the workspace would then be at
/// `below` in its target.
fn swapped(context: &RowContext, own: &str, below: &str) {
    let target = context.place.path("target");
    let workspace = context.place.path(&format!("target{below}"));
    std::fs::create_dir_all(&workspace).unwrap();
    for above in workspace.ancestors().take_while(|above| above.starts_with(&target)) {
        let name = above.strip_prefix(context.place.path("")).unwrap();
        context.hand_over(name.to_str().unwrap());
    }
    let spec =
        context.backend("swapper", &script(own).replace("$TARGET", &context.place.arg("target")));
    let args = context.own_cases(&[HELLO, LARGE]);
    let mut case = LARGE_CASE.to_owned();
    (0..FILES).for_each(|at| writeln!(case, "  f{at:04}: x").unwrap());
    context.place.write("corpus/host/large.yaml", &case);
    let ran = context.run(&spec, &args.iter().map(String::as_str).collect::<Vec<_>>());
    ran.is_bounded();
    assert!(context.place.path("state/swapped").exists(), "nothing was replaced: {ran:#?}");
    assert_eq!(std::fs::read_dir(&workspace).unwrap().count(), 0, "files in the target: {ran:#?}");
    assert_eq!(ran.verdict(LARGE), "error harness", "{ran:#?}");
}

/// Waits in the arm of the first case for that of the second, which another worker lays out; root
/// finds it in the worker's own mount namespace.
fn script(own: &str) -> String {
    let program = std::env::current_exe().unwrap().display().to_string();
    format!(
        "case \"$*\" in *hello*)
  run=${{PWD%/*/*/*}}
  read -r _ _ _ boss _ < /proc/$PPID/stat
  places=\"$run\"
  for pid in $(cat /proc/$boss/task/$boss/children); do places=\"$places /proc/$pid/root$run\"; done
  at=0
  until [ -e $STATE/swapped ] || [ $at = 20000 ]; do
    at=$((at + 1))
    for place in $places; do
      for arm in $place/w*/arm; do
        [ -e $arm/ws/f0100 ] || continue
        own={own}
        ln -s $TARGET $own.link && {program} {VERB} $own.link $own && : > $STATE/swapped
      done
    done
  done
esac
exec \"$@\""
    )
}
