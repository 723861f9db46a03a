//! Residue of an arm on the host, objects that only look like residue, and the processes that a
//! run may end.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::baseline::{ALLOWED, DENIED};
use crate::context::{BOTH, HostileRow, ORDINARY, RowContext, User};

/// A second command that passes.
const OTHER_ALLOWED: &str = "exec/exit-codes/forty-two";
/// Cases whose own `prepare` line starts a process that runs during the act.
const WITH_HELPER: [&str; 2] = ["net/listen-outside/none", "net/listen-outside/proxy"];
/// A case whose own `prepare` line mounts something.
const WITH_MOUNT: &str = "fs/read-deny-other-mount";

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, users, check| HostileRow { name, users, slow: false, check };
    vec![
        row("fixture-helper", BOTH, fixture_helper),
        row("fixture-mount", &[User::Root], fixture_mount),
        row("leaves-objects-without-nonce", BOTH, leaves_objects),
        row("objects-of-other-programs", BOTH, objects_of_others),
        row("mounts-of-other-programs", BOTH, mounts_of_others),
        row("holds-an-abstract-socket", BOTH, holds_socket),
        row("foreign-process-names-run-directory", BOTH, foreign_process),
    ]
}

/// Checks that a backend that starts nothing leaves nothing, even where the case itself has started
/// a process.
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

/// Leaves a daemon that listens on an abstract socket.
fn holds_socket(context: &RowContext) {
    let holds = "import os, socket, time; s = socket.socket(socket.AF_UNIX)
s.bind(chr(0) + os.environ[\"NAME\"]); print(1, flush=True); time.sleep(1000)";
    let script = format!(
        "mkfifo $STATE/$$; NAME=$STATE/$$ setsid python3 -c '{holds}' > $STATE/$$ 2>/dev/null &
read word < $STATE/$$; exec \"$@\""
    );
    let ran = context.run(&context.backend("holds", &script), &[ALLOWED, DENIED]);
    ran.is_bounded();
    assert_eq!(ran.verdict(ALLOWED), "leak left-behind", "{ran:#?}");
    assert_eq!(ran.verdict(DENIED), "under-block oracle", "{ran:#?}");
}

/// Another program mounts and unmounts on the host all the time.
fn mounts_of_others(context: &RowContext) {
    // What is left in the place of a row is told.
    let place = tempfile::tempdir().unwrap();
    let busy = "mkdir m; i=0; while [ ! -e end ] && [ $i -lt 5000 ]; do i=$((i + 1)); \
         mount -t tmpfs none m && sleep 0.01; umount m; done; rmdir m";
    let mut other = Command::new("sh").current_dir(&place).args(["-c", busy]).spawn().unwrap();
    let spec = context.native("honest", "", "");
    let args = context.arguments(&[&spec], &[ALLOWED, OTHER_ALLOWED, DENIED]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command(&args));
    std::fs::write(place.path().join("end"), "").unwrap();
    other.wait().unwrap();
    let verdicts = [ALLOWED, OTHER_ALLOWED, DENIED].map(|id| ran.verdict(id));
    assert_eq!(verdicts[..2], ["pass", "pass"], "{ran:#?}");
    assert!(!verdicts[2].starts_with("leak"), "{ran:#?}");
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

/// A line of Python that makes one System V object of each kind.
const MAKES_IPC: &str = "import ctypes; c = ctypes.CDLL(None)
print(c.shmget(0, 4096, 0o1600), c.msgget(0, 0o1600), c.semget(0, 1, 0o1600))";

/// Leaves objects in places that every program shares: they are a leak of the backend that makes
/// them, and of no other one in the same run.
fn leaves_objects(context: &RowContext) {
    let word = format!("left-{}", std::process::id());
    let ipc = format!("python3 -c '{MAKES_IPC}' >> $STATE/ipc\nexec \"$@\"");
    let mut files = String::new();
    for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
        files += &format!("mktemp {directory}/{word}-XXXXXX >> $STATE/files\n");
    }
    let leaky = [
        context.backend("leaves-files", &format!("{files}exec \"$@\"")),
        context.backend("leaves-ipc", &ipc),
        context.native("honest", "", ""),
    ];
    let args = context.arguments(&leaky.each_ref().map(String::as_str), &[ALLOWED, OTHER_ALLOWED]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command(&args));
    remove_objects(context);
    ran.is_bounded();
    for id in [ALLOWED, OTHER_ALLOWED] {
        let of = |backend: &str| {
            let row = ran.rows.iter().find(|row| row["id"] == id && row["backend"] == backend);
            row.unwrap()["verdict"].clone()
        };
        let verdicts = ["leaves-files", "leaves-ipc", "honest"].map(of);
        assert_eq!(verdicts, ["leak", "leak", "pass"], "{ran:#?}");
    }
}

/// Removes what `leaves_objects` has left, all of which is in its lists.
fn remove_objects(context: &RowContext) {
    let read = |name: &str| std::fs::read_to_string(context.place.path(name)).unwrap();
    for file in read("state/files").lines() {
        std::fs::remove_file(file).unwrap();
    }
    for line in read("state/ipc").lines() {
        let ids: Vec<&str> = line.split(' ').collect();
        let [shm, msg, sem] = ids.as_slice() else { panic!("{line}") };
        let remove = format!(
            "import ctypes; c = ctypes.CDLL(None)
c.shmctl({shm}, 0, None); c.msgctl({msg}, 0, None); c.semctl({sem}, 0, 0)"
        );
        assert!(Command::new("python3").args(["-c", &remove]).status().unwrap().success());
    }
}

/// Runs another program that makes such objects all the time: no arm is blamed for them.
fn objects_of_others(context: &RowContext) {
    let word = format!("other-{}", std::process::id());
    let busy = format!(
        "i=0; while [ ! -e $STATE/end ] && [ $i -lt 20000 ]; do i=$((i + 1)); \
         : > /tmp/{word}-$i; sleep 0.005; done; rm -f /tmp/{word}-*"
    );
    let busy = busy.replace("$STATE/end", "end");
    let mut other = Command::new("setpriv");
    if context.user == User::Ordinary && nix::unistd::geteuid().is_root() {
        let id = ORDINARY.to_string();
        other.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
    }
    // Its command line does not name this place, the processes of which count as left behind.
    other.current_dir(context.place.path("state"));
    let mut other = other.args(["--", "sh", "-c", &busy]).spawn().unwrap();
    let spec = context.native("honest", "", "");
    let args = context.arguments(&[&spec], &[ALLOWED, OTHER_ALLOWED]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command(&args));
    std::fs::write(context.place.path("state/end"), "").unwrap();
    other.wait().unwrap();
    assert_eq!([ran.verdict(ALLOWED), ran.verdict(OTHER_ALLOWED)], ["pass", "pass"], "{ran:#?}");
}
