//! What an arm leaves on the host, what only looks as if an arm had left it, and which processes a
//! run may end.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::baseline::ALLOWED;
use crate::context::{BOTH, HostileRow, RowContext, User};

/// Cases whose own `prepare` line starts a process that runs during the act.
const WITH_HELPER: [&str; 2] = ["net/listen-outside/none", "net/listen-outside/proxy"];
/// A case whose own `prepare` line mounts something.
const WITH_MOUNT: &str = "fs/read-deny-other-mount";

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, users, check| HostileRow { name, users, slow: false, check };
    vec![
        row("fixture-helper", BOTH, fixture_helper),
        row("fixture-mount", &[User::Root], fixture_mount),
        row("foreign-process-names-run-directory", BOTH, foreign_process),
    ]
}

/// A backend that starts nothing leaves nothing, whatever the case itself has started.
fn fixture_helper(context: &RowContext) {
    let ran = context.run("deny-all", &WITH_HELPER);
    ran.is_bounded();
    for id in WITH_HELPER {
        assert_eq!(ran.verdict(id), "contract policy-refused", "{ran:#?}");
    }
    let ran = context.run("reference", &WITH_HELPER[..1]);
    ran.is_bounded();
    assert_eq!(ran.verdict(WITH_HELPER[0]), "pass", "{ran:#?}");
}

fn fixture_mount(context: &RowContext) {
    let ran = context.run("deny-all", &[WITH_MOUNT]);
    ran.is_bounded();
    assert_eq!(ran.verdict(WITH_MOUNT), "contract policy-refused", "{ran:#?}");
    let ran = context.run(&context.backend("open", "exec \"$@\""), &[WITH_MOUNT]);
    ran.is_bounded();
    assert_eq!(ran.verdict(WITH_MOUNT), "under-block oracle", "{ran:#?}");
}

/// A program that only names a file below the run's directory lives on.
fn foreign_process(context: &RowContext) {
    let script = "pwd > $STATE/where.new; mv $STATE/where.new $STATE/where
i=0; while [ ! -e $STATE/go ] && [ $i -lt 2000 ]; do i=$((i + 1)); sleep 0.005; done
exec \"$@\"";
    let spec = context.backend("waits", script);
    let ran = std::thread::scope(|scope| {
        let bystander = scope.spawn(|| start_bystander(context));
        let ran = context.run(&spec, &[ALLOWED]);
        let mut child = bystander.join().unwrap();
        let _ = child.kill();
        child.wait().unwrap();
        ran
    });
    assert_eq!(ran.verdict(ALLOWED), "pass", "{ran:#?}");
    // It is there to be seen after the run, and is all that is.
    assert_eq!(ran.residue.len(), 1, "{ran:#?}");
    assert!(ran.residue[0].contains("tail -f"), "{ran:#?}");
}

/// Starts a program that follows a file in the directory of the arm that runs.
fn start_bystander(context: &RowContext) -> std::process::Child {
    let place = context.place.path("state/where");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !place.exists() {
        assert!(Instant::now() < deadline, "the arm did not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let directory = std::fs::read_to_string(&place).unwrap();
    let file = format!("{}/file", directory.trim());
    let child = Command::new("tail")
        .args(["-f", "/dev/null", &file])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::fs::write(context.place.path("state/go"), "").unwrap();
    child
}
