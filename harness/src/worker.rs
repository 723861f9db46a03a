//! A worker: a process of ours that executes one arm at a time, in a session and (as root) a
//! mount namespace of its own, and takes over every orphan of it.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, Uid, setsid};
use serde::{Deserialize, Serialize};

use crate::arm_context::ArmContext;
use crate::execution::{ArmKind, ArmRecord, ArmReport, ExecutedArm};
use crate::names::ArmNames;
use crate::probe::InstalledProbe;
use crate::receipts;
use crate::removal::OwnedDirectory;
use crate::run::run_arm;
use crate::schedule::{ArmJob, JobSchedule};
use crate::workspace::HeldDirectories;
use crate::{strays, sweep, sys};

/// The context that every worker is forked with.
#[derive(Debug, Clone, Copy)]
pub struct WorkerContext<'a> {
    /// Everything there is to do; jobs travel as indices into it.
    pub order: &'a JobSchedule,
    /// The run's directory.
    pub scratch: &'a Path,
    /// The probe program.
    pub probe: &'a InstalledProbe,
    /// The run's word.
    pub run_id: &'a str,
    /// The process that removes the run's directory in the end; it is no orphan of an arm.
    pub janitor: Pid,
}

/// A worker's answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct WorkerAnswer {
    /// The job.
    pub job: usize,
    /// The word that came with it, which nothing of the job has seen.
    pub token: String,
    /// The observations of the arm.
    pub arm: ExecutedArm,
}

/// The most bytes of an answer: leftovers of an arm may make it long.
pub(crate) const ANSWER_LIMIT: usize = 32 << 20;

/// A worker's life: it takes job numbers from `boss` and answers each, until `boss` hangs up.
pub fn live(number: usize, boss: &UnixStream, birthright: &WorkerContext<'_>) -> i32 {
    let worker = ArmNames::for_run(birthright.run_id).worker;
    let directory = birthright.scratch.join(format!("{worker}{number}"));
    let lived = match isolate(&directory) {
        Ok(place) => {
            let lived = serve(boss, birthright, &place);
            sweep::kill_children(&[]);
            // Entries that stay here are met again, and reported, when the run's directory goes.
            place.directory.remove();
            lived
        }
        Err(error) => Err(error),
    };
    match lived {
        Ok(()) => 0,
        // The boss has hung up: the run is over, and no process waits for an answer.
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

/// The place of a worker.
struct WorkerPlace {
    directory: OwnedDirectory,
    /// True if its mount table is its own, so that a change there is an arm's doing.
    own_mounts: bool,
}

fn isolate(directory: &Path) -> std::io::Result<WorkerPlace> {
    setsid()?;
    sys::default_signals()?;
    umask(Mode::from_bits_truncate(0o022));
    sys::subreaper()?;
    sys::hand_nothing_on()?;
    let mut directory = match OwnedDirectory::create(directory) {
        // A directory that an earlier worker with this number could not remove.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let name = format!("{}-{}", directory.display(), sys::random::<4>()?);
            OwnedDirectory::create(name.as_ref())
        }
        made => made,
    }?;
    let own_mounts = Uid::effective().is_root() && sys::private_mounts().is_ok();
    if own_mounts {
        // A change between two looks shows whether the kernel tells of changes.
        sweep::mounts();
        sys::own_tmpfs(directory.path())?;
        directory.resurface()?;
    }
    Ok(WorkerPlace { directory, own_mounts })
}

fn serve(
    boss: &UnixStream,
    birthright: &WorkerContext<'_>,
    place: &WorkerPlace,
) -> std::io::Result<()> {
    let context = ArmContext {
        directory: place.directory.path(),
        probe: &birthright.probe.path,
        run_id: birthright.run_id,
        boss: Some(boss.as_fd()),
        own_mounts: place.own_mounts,
    };
    let held = HeldDirectories::open(&[birthright.scratch, place.directory.path()])?;
    let table = || place.own_mounts.then(sweep::mounts);
    let mounts = table();
    for line in BufReader::new(boss).lines() {
        let line = line?;
        let (number, token) = line.split_once(' ').ok_or(ErrorKind::InvalidData)?;
        let number: usize = number.parse().map_err(std::io::Error::other)?;
        let Some(job) = birthright.order.jobs.get(number) else { continue };
        held.restore()?;
        let times = held.times();
        let mut arm = execute(job, birthright, &context);
        if held.were_closed(&times) {
            name_who_closed(&mut arm, birthright.order);
        }
        // The next arm is not to pay for what this one did to the place: another worker takes it.
        let spoilt = held.restore().is_err() || !place.directory.is_in_place() || table() != mounts;
        let mut answer = written(number, token, &arm)?;
        answer.push(b'\n');
        let mut boss = boss;
        boss.write_all(&answer)?;
        // With something left that cannot be killed, the next arm would be another one's.
        if !sweep::kill_children(&[]) {
            return Err(std::io::Error::other("processes of an arm cannot be killed"));
        }
        if spoilt {
            boss.shutdown(Shutdown::Both)?;
            return Ok(());
        }
    }
    Ok(())
}

/// The answer as it travels; one that is too long is a fault.
fn written(job: usize, token: &str, arm: &ExecutedArm) -> serde_json::Result<Vec<u8>> {
    let answer = |arm| serde_json::to_vec(&WorkerAnswer { job, token: token.to_owned(), arm });
    let bytes = answer(arm.clone())?;
    if bytes.len() < ANSWER_LIMIT {
        return Ok(bytes);
    }
    let why = format!("what the arm left is too much to tell: {} bytes of names", bytes.len());
    drop(bytes);
    answer(arm.failed(why))
}

/// Says of an arm that failed, or saw nothing, that it was another one's doing: a directory that
/// arms share was closed meanwhile.
fn name_who_closed(arm: &mut ExecutedArm, order: &JobSchedule) {
    let done = format!("the mode of a directory that arms share was changed{}", order.suspects());
    match arm {
        ExecutedArm::Act(ArmRecord::Fault(why)) | ExecutedArm::Channel(ArmRecord::Fault(why)) => {
            *why = format!("{why}; {done}");
        }
        ExecutedArm::Act(ArmRecord::Done(report)) if is_half_seen(report) => {
            report.distrust.get_or_insert(done);
        }
        _ => {}
    }
}

/// Returns whether a part of an arm could not be observed.
fn is_half_seen(report: &ArmReport) -> bool {
    !report.unseen.is_empty() || report.oracles.iter().any(|reading| reading.unread)
}

fn execute(job: &ArmJob, birthright: &WorkerContext<'_>, context: &ArmContext<'_>) -> ExecutedArm {
    let WorkerContext { order, probe, .. } = birthright;
    let (case, backend) = (&order.cases[job.case], &order.backends[job.backend]);
    let distrust = || probe.change().map(|change| format!("{change}{}", order.suspects()));
    if let Some(why) = distrust() {
        return ExecutedArm::fault(case, why);
    }
    if let Some(channel) = case.channel() {
        return ExecutedArm::Channel(receipts::attend(case, channel, job.arm, backend, context));
    }
    let run = || run_arm(case, job.arm, backend, context);
    let mut arm = match order.confirms_strays && job.arm != ArmKind::Control {
        true => strays::confirm(run),
        false => run(),
    };
    if let Some(report) = arm.done_mut() {
        report.distrust = distrust();
    }
    ExecutedArm::Act(arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::SpecialExit;
    use crate::execution::{
        ArmReport, BrokenStep, CapturedStream, MomentStamp, OracleReading, OwnOutput,
        ProbeObservation, ProcessExit, RunReport,
    };
    use boxproof_cases::case::Moment;
    use boxproof_probes::{ActOutcome, ProbeRecord};
    use rstest::rstest;
    use std::collections::BTreeMap;

    fn report(
        exit: ProcessExit,
        observation: ProbeObservation,
        special: Option<SpecialExit>,
    ) -> ExecutedArm {
        let stdout = CapturedStream {
            text: "\n\u{1e}\u{fffd}".to_owned(),
            bytes: u64::MAX,
            sha256: "00".to_owned(),
            found: vec!["a".to_owned()],
        };
        let result_fault = Some("no result".to_owned());
        let stderr = CapturedStream::default();
        let run = RunReport {
            command: "sh -c true".to_owned(),
            exit,
            stdout,
            stderr,
            observation,
            besides: Vec::new(),
            ready: true,
            result: None,
            result_fault,
            special,
            shown: Some(OwnOutput {
                stdout: CapturedStream::default(),
                stderr: CapturedStream::default(),
            }),
            moments: vec![MomentStamp { moment: Moment::Mark("term".to_owned()), at_ms: 0.5 }],
            watched_ms: 7.25,
            stopped: false,
        };
        ExecutedArm::Act(ArmRecord::Done(Box::new(ArmReport {
            nonce: "n".to_owned(),
            broken: Some(BrokenStep { number: 1, run: run.clone() }),
            runs: vec![run],
            oracles: vec![OracleReading {
                oracle: "unchanged f".to_owned(),
                positive: false,
                holds: true,
                saw: "as before".to_owned(),
                unread: false,
            }],
            tree: BTreeMap::from([("$WS/f".to_owned(), "0644".to_owned())]),
            laid: BTreeMap::new(),
            appeared: vec!["$WS/f".to_owned()],
            leaks: vec!["process 7".to_owned()],
            outlasting: Vec::new(),
            shortages: vec!["space: 0 bytes".to_owned()],
            spoilt: Vec::new(),
            unseen: Vec::new(),
            distrust: None,
            strays: vec!["/tmp/x".to_owned()],
            duration_ms: 0.1,
        })))
    }

    fn refused_observation() -> ProbeObservation {
        let outcome = ActOutcome::Refused { errno: "EROFS".to_owned(), call: "openat".to_owned() };
        ProbeObservation::Seen(ProbeRecord {
            probe: "write".to_owned(),
            outcome,
            detail: BTreeMap::new(),
        })
    }

    #[rstest]
    #[case(report(ProcessExit::Code(-1), refused_observation(), None))]
    #[case(report(ProcessExit::Signal(9), ProbeObservation::Missing, Some(SpecialExit::SetupFailed("no".into()))))]
    #[case(report(ProcessExit::TimedOut, ProbeObservation::NotExpected, None))]
    #[case(report(ProcessExit::Refused, ProbeObservation::Untrusted("two".into()), Some(SpecialExit::Refused("no".into()))))]
    #[case(ExecutedArm::Act(ArmRecord::Inexpressible("no such flag".into())))]
    #[case(ExecutedArm::Channel(ArmRecord::Inexpressible("no channel".into())))]
    #[case(ExecutedArm::Act(ArmRecord::Fault("line\nbreak".into())))]
    fn an_answer_travels_on_one_line_and_loses_nothing(#[case] arm: ExecutedArm) {
        let line = written(3, "token", &arm).unwrap();
        assert!(!line.contains(&b'\n'), "{line:?}");
        let answer: WorkerAnswer = serde_json::from_slice(&line).unwrap();
        assert_eq!((answer.job, answer.token.as_str(), answer.arm), (3, "token", arm));
    }

    #[test]
    fn an_answer_that_is_too_long_is_a_fault() {
        let arm = ExecutedArm::Act(ArmRecord::Inexpressible("x".repeat(ANSWER_LIMIT)));
        let line = written(3, "token", &arm).unwrap();
        let answer: WorkerAnswer = serde_json::from_slice(&line).unwrap();
        let ExecutedArm::Act(ArmRecord::Fault(why)) = answer.arm else {
            unreachable!("{:?}", answer.arm)
        };
        assert!(why.contains("too much to tell"), "{why}");
    }
}
