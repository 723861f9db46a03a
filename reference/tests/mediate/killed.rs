//! Nothing is left of a run, however it ends, and many runs at once do not disturb each other.

use std::fs;
use std::process::Stdio;

use libtest_mimic::Trial;
use serde_json::json;

use crate::acts::{both, stage};
use crate::bed::{TestBed, is_alive, wait_until};

pub(crate) fn trials() -> Vec<Trial> {
    both("killed_runs_leave_nothing", half_of_them_killed).into()
}

/// Runs at once.
const RUNS: usize = 20;

fn half_of_them_killed(who: &'static str) {
    let (bed, actor) = stage(who);
    fs::write(bed.ws("kept"), "text").unwrap();
    let argv = [actor.to_str().unwrap(), "act", "loop", &bed.nonce()].map(str::to_owned);
    let policy = json!({"protect": "metadata", "deny_write": [bed.ws("a/b")]});
    bed.write_request(&policy, json!({"argv": argv}), &json!({}));
    let before = listing(&bed);
    let mut runs: Vec<_> = (0..RUNS).map(|number| start(&bed, number)).collect();
    for run in &mut runs {
        wait_for_a_line(run);
    }
    for (number, run) in runs.iter_mut().enumerate() {
        if number % 2 == 0 {
            run.kill().unwrap();
        } else {
            // The end of its input ends the actor.
            drop(run.stdin.take());
        }
    }
    for (number, run) in runs.into_iter().enumerate() {
        let output = run.wait_with_output().unwrap();
        if number % 2 == 1 {
            assert_eq!(
                output.status.code(),
                Some(0),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let _of_its_own = fs::remove_file(result(&bed, number));
    }
    wait_until("every command is dead", || !is_alive(&bed.nonce()));
    assert_eq!(listing(&bed), before);
    assert_eq!(fs::read_to_string(bed.ws("kept")).unwrap(), "text");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(bed.ws("").to_str().unwrap()));
}

/// Names in the workspace and outside it; results of killed launchers lie elsewhere.
fn listing(bed: &TestBed) -> Vec<std::path::PathBuf> {
    let places = [bed.ws(""), bed.out("")];
    let names = bed.listing().into_iter();
    names.filter(|name| places.iter().any(|place| name.starts_with(place))).collect()
}

fn result(bed: &TestBed, number: usize) -> std::path::PathBuf {
    bed.request_file().with_file_name(format!("result-{number}.json"))
}

fn start(bed: &TestBed, number: usize) -> std::process::Child {
    let mut refbox = bed.refbox_with_result(&result(bed, number));
    refbox.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the actor has said something; what follows may be lost.
fn wait_for_a_line(run: &mut std::process::Child) {
    use std::io::Read;
    let mut one = [0];
    run.stdout.as_mut().unwrap().read_exact(&mut one).unwrap();
}

/// Tries to make denied names, and opens what is there, until its input ends.
pub(crate) fn act() {
    use std::os::fd::AsFd;
    println!("ready");
    let input = std::io::stdin();
    loop {
        let _refused = fs::create_dir(".git");
        let _refused = fs::write(".mcp.json", "evil");
        let _refused = fs::rename("kept", ".envrc");
        let _refused = std::os::unix::fs::symlink("kept", ".claude");
        drop(fs::File::options().append(true).create(true).open("kept").unwrap());
        let mut ended = [nix::poll::PollFd::new(input.as_fd(), nix::poll::PollFlags::POLLIN)];
        if nix::poll::poll(&mut ended, nix::poll::PollTimeout::ZERO).unwrap() > 0 {
            return;
        }
    }
}
