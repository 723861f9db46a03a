//! A worker: a process of ours that executes one arm at a time, in a session and (as root) a
//! mount namespace of its own, and takes over every orphan of it.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, Uid, setsid};
use serde::{Deserialize, Serialize};

use crate::execution::Arm;
use crate::run::{Scene, run_arm};
use crate::schedule::{Job, Order};
use crate::{sweep, sys};

/// What every worker is born with.
#[derive(Debug, Clone, Copy)]
pub struct Birthright<'a> {
    /// Everything there is to do; jobs travel as indices into it.
    pub order: &'a Order,
    /// The run's folder.
    pub scratch: &'a Path,
    /// The probe program.
    pub probe: &'a Path,
    /// The run's word.
    pub run_id: &'a str,
    /// The process that removes the run's folder in the end; nobody's orphan.
    pub janitor: Pid,
}

/// A worker's answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Which job.
    pub job: usize,
    /// What was seen.
    pub arm: Arm,
}

/// A worker's life: it takes job numbers from `boss` and answers each, until `boss` hangs up.
pub fn live(number: usize, boss: &UnixStream, birthright: &Birthright<'_>) -> i32 {
    let folder = birthright.scratch.join(format!("w{number}"));
    let lived = settle(&folder).and_then(|()| serve(&folder, boss, birthright));
    sweep::kill_children(&[]);
    let _ = std::fs::remove_dir_all(&folder);
    match lived {
        Ok(()) => 0,
        // The boss has hung up: the run is over, and nobody waits for an answer.
        Err(error)
            if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) =>
        {
            0
        }
        Err(error) => {
            eprintln!("boxproof: worker {number}: {error}");
            1
        }
    }
}

fn settle(folder: &Path) -> std::io::Result<()> {
    setsid()?;
    umask(Mode::from_bits_truncate(0o022));
    sys::subreaper()?;
    // Of an earlier worker with this number only the name can be left.
    std::fs::create_dir_all(folder)?;
    if Uid::effective().is_root() && sys::private_mounts().is_ok() {
        sys::own_tmpfs(folder)?;
    }
    Ok(())
}

fn serve(folder: &Path, boss: &UnixStream, birthright: &Birthright<'_>) -> std::io::Result<()> {
    let scene = Scene {
        folder,
        probe: birthright.probe,
        run_id: birthright.run_id,
        boss: Some(boss.as_fd()),
    };
    for line in BufReader::new(boss).lines() {
        let number: usize = line?.parse().map_err(std::io::Error::other)?;
        let Some(job) = birthright.order.jobs.get(number) else { continue };
        let arm = execute(job, birthright.order, &scene);
        let mut answer = serde_json::to_vec(&Answer { job: number, arm })?;
        answer.push(b'\n');
        let mut boss = boss;
        boss.write_all(&answer)?;
    }
    Ok(())
}

fn execute(job: &Job, order: &Order, scene: &Scene<'_>) -> Arm {
    run_arm(&order.cases[job.case], job.arm, &order.backends[job.backend], scene)
}
