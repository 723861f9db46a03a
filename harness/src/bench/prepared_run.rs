//! One prepared run of a workload under a backend ([`PreparedRun`]): started again and again, it
//! tells what each start cost.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use boxproof_cases::protocol::{self, PROTOCOL, Policy, Run, RunRequest};
use boxproof_reports::excerpt;
use boxproof_reports::timing::TimingLane;

use super::catalogue::BenchWorkload;
use super::harness_corpus::HarnessCorpus;
use super::operations::{self, InsideOperation, OperationCost};
use super::verdict::CallCounts;
use crate::backend::{Backend, BackendKind, LaunchContext, LaunchPlan, SpawnPlan};
use crate::sys::measured_child::{ProcessCost, run_measured};
use crate::sys::syscall_trace::count_calls;

/// The most characters of a message of a program.
const MESSAGE: usize = 300;

/// The places of a bench that every preparation needs.
#[derive(Debug, Clone)]
pub(super) struct BenchPlaces {
    /// The directory of this preparation.
    pub(super) directory: PathBuf,
    /// The program that does operations inside.
    pub(super) probe: PathBuf,
}

/// The values of one run by lane; a lane that the workload has not is absent.
pub(super) type RunValues = BTreeMap<TimingLane, f64>;

/// A run that is ready to be started.
#[derive(Debug)]
pub(super) struct PreparedRun {
    spawn: SpawnPlan,
    stdout: PathBuf,
    stderr: PathBuf,
    reading: CostReading,
    /// The exit code of a run that did what it should.
    wanted: i32,
}

/// The way in which costs become values.
#[derive(Debug, Clone, Copy)]
enum CostReading {
    Whole,
    Inside(u64),
    AfterCommand,
    BeyondMs(u64),
    Divided(u64),
}

impl PreparedRun {
    /// Prepares `workload` under `backend`.
    ///
    /// # Errors
    /// The reason why it cannot be asked of this backend, for a person.
    pub(super) fn prepare(
        workload: BenchWorkload,
        backend: &Backend,
        places: &BenchPlaces,
    ) -> Result<Self, String> {
        let directory = &places.directory;
        let at = |error: std::io::Error| format!("{}: {error}", directory.display());
        let workspace = directory.join("ws");
        fs::create_dir_all(&workspace).map_err(at)?;
        fs::write(workspace.join("file"), "content").map_err(at)?;
        let (spawn, reading) = match workload {
            BenchWorkload::HarnessRun => {
                let corpus = HarnessCorpus::write(directory).map_err(at)?;
                (corpus.spawn(backend, directory)?, CostReading::Divided(HarnessCorpus::ARMS))
            }
            _ => (launch(workload, backend, places, &workspace)?, reading(workload)),
        };
        for (path, content) in &spawn.files {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(at)?;
            }
            fs::write(path, content).map_err(at)?;
        }
        let (stdout, stderr) = (directory.join("stdout"), directory.join("stderr"));
        let timed_out = matches!(workload, BenchWorkload::TimeOut(_));
        let wanted = if timed_out { protocol::exit::TIMEOUT } else { 0 };
        Ok(Self { spawn, stdout, stderr, reading, wanted })
    }

    /// Starts it once.
    ///
    /// # Errors
    /// A run that did not do what it should: nothing of it is a measurement.
    pub(super) fn measure(&self) -> Result<RunValues, String> {
        let mut command = self.command()?;
        self.steps(&self.spawn.set_up)?;
        let (status, cost) = run_measured(&mut command).map_err(|error| self.unstarted(&error))?;
        self.steps(&self.spawn.tear_down)?;
        self.check(status)?;
        self.values(&cost)
    }

    /// Starts it once under a tracer and returns its system calls.
    ///
    /// # Errors
    /// A tracer that is refused, or a run that does not do under it what it should.
    pub(super) fn count(&self) -> Result<CallCounts, String> {
        let mut command = self.command()?;
        self.steps(&self.spawn.set_up)?;
        let counted = count_calls(&mut command);
        self.steps(&self.spawn.tear_down)?;
        let (status, calls) = counted.map_err(|error| format!("ptrace: {error}"))?;
        self.check(status).map_err(|message| format!("under ptrace: {message}"))?;
        if calls.is_empty() {
            return Err("the tracer was told no system call".to_owned());
        }
        Ok(calls)
    }

    fn command(&self) -> Result<Command, String> {
        let open = |path: &Path| {
            File::create(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let mut command = Command::new(&self.spawn.argv[0]);
        command.args(&self.spawn.argv[1..]).env_clear().envs(&self.spawn.env);
        command.current_dir(&self.spawn.cwd).stdin(Stdio::null());
        command.stdout(open(&self.stdout)?).stderr(open(&self.stderr)?);
        Ok(command)
    }

    /// Steps of the recipe, which are not measured.
    fn steps(&self, steps: &[Vec<std::ffi::OsString>]) -> Result<(), String> {
        for step in steps {
            let mut command = Command::new(&step[0]);
            command.args(&step[1..]).env_clear().envs(&self.spawn.env).stdin(Stdio::null());
            let output = command.output().map_err(|error| self.unstarted(&error))?;
            if !output.status.success() {
                return Err(format!("step {}: {}", step[0].display(), output.status));
            }
        }
        Ok(())
    }

    fn unstarted(&self, error: &std::io::Error) -> String {
        format!("{}: {error}", self.spawn.argv[0].display())
    }

    fn check(&self, status: ExitStatus) -> Result<(), String> {
        if status.code() == Some(self.wanted) {
            return Ok(());
        }
        let said = fs::read(&self.stderr).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
        Err(format!("{status}, not exit code {}: {}", self.wanted, excerpt(line, MESSAGE)))
    }

    fn values(&self, cost: &ProcessCost) -> Result<RunValues, String> {
        let (wall, cpu) = (cost.wall.as_nanos() as f64, cost.cpu.as_nanos() as f64);
        let times = |wall: f64, cpu: f64| [(TimingLane::Wall, wall), (TimingLane::Cpu, cpu)];
        let sizes =
            [(TimingLane::Faults, cost.faults as f64), (TimingLane::Rss, cost.rss_kib as f64)];
        Ok(match self.reading {
            CostReading::Whole => times(wall, cpu).into_iter().chain(sizes).collect(),
            CostReading::Divided(parts) => {
                times(wall / parts as f64, cpu / parts as f64).into_iter().chain(sizes).collect()
            }
            CostReading::Inside(count) => {
                let own = self.said()?;
                let (wall, cpu) = (own.wall_ns as f64, own.cpu_ns as f64);
                times(wall / count as f64, cpu / count as f64).into()
            }
            CostReading::AfterCommand => {
                let after = cost.ended_ns.checked_sub(self.said()?.ended_ns);
                let after = after.ok_or("the command's clock is not that of this host")?;
                [(TimingLane::Wall, after as f64)].into()
            }
            CostReading::BeyondMs(limit) => {
                let beyond = wall - limit as f64 * 1e6;
                if beyond <= 0.0 {
                    return Err(format!("it ended before its time-out of {limit} ms"));
                }
                [(TimingLane::Wall, beyond)].into()
            }
        })
    }

    /// The cost that the program inside has told.
    fn said(&self) -> Result<OperationCost, String> {
        let text = fs::read(&self.stdout)
            .map_err(|error| format!("{}: {error}", self.stdout.display()))?;
        serde_json::from_slice(&text).map_err(|_| {
            let text = String::from_utf8_lossy(&text);
            format!("the program inside told no cost: {}", excerpt(&text, MESSAGE))
        })
    }
}

fn reading(workload: BenchWorkload) -> CostReading {
    match workload {
        BenchWorkload::Inside(_, count) => CostReading::Inside(count),
        BenchWorkload::ExitDetection => CostReading::AfterCommand,
        BenchWorkload::TimeOut(limit) => CostReading::BeyondMs(limit),
        BenchWorkload::Start { .. } | BenchWorkload::HarnessRun => CostReading::Whole,
    }
}

/// Has `backend` render the start of `workload`.
fn launch(
    workload: BenchWorkload,
    backend: &Backend,
    places: &BenchPlaces,
    workspace: &Path,
) -> Result<SpawnPlan, String> {
    let directory = &places.directory;
    let is_native = matches!(backend.kind, BackendKind::Native { .. });
    if matches!(workload, BenchWorkload::TimeOut(_)) && !is_native {
        return Err("only a backend that speaks the protocol ends a run by itself".to_owned());
    }
    let mut policy = Policy::new(workspace.to_owned());
    workload.shape(&mut policy, &masked(directory, workload.masks())?);
    let command = protocol::Command::Argv(argv(workload, &places.probe, workspace));
    let mut run = Run::new(command, workspace.to_owned());
    if let BenchWorkload::TimeOut(limit) = workload {
        run.timeout_ms = Some(limit);
    }
    let request = RunRequest { protocol: PROTOCOL, policy, run };
    let state = directory.join("state");
    fs::create_dir_all(&state).map_err(|error| format!("{}: {error}", state.display()))?;
    let env = base_env(directory);
    let context = LaunchContext {
        state: &state,
        home: directory,
        uid: nix::unistd::geteuid().as_raw(),
        probe: &places.probe,
        unprotects: false,
        base_env: &env,
        documents: None,
        settings: None,
        request_file: &state.join("request.json"),
        result_file: &state.join("result.json"),
    };
    match backend.launch(&request, &context).map_err(|error| error.to_string())? {
        LaunchPlan::Spawn(spawn) => Ok(*spawn),
        LaunchPlan::Refuse { message } => Err(message),
    }
}

/// The environment of every start.
pub(super) fn base_env(home: &Path) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("HOME".to_owned(), home.display().to_string()),
        ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
    ])
}

fn argv(workload: BenchWorkload, probe: &Path, workspace: &Path) -> Vec<String> {
    let probe = probe.display().to_string();
    let inside = |operation: InsideOperation, count: u64| {
        let word = operation.keyword().to_owned();
        let directory = workspace.display().to_string();
        vec![probe.clone(), operations::VERB.to_owned(), word, count.to_string(), directory]
    };
    match workload {
        BenchWorkload::Inside(operation, count) => inside(operation, count),
        BenchWorkload::ExitDetection => inside(InsideOperation::Exit, 0),
        BenchWorkload::TimeOut(_) => vec!["sleep".to_owned(), "30".to_owned()],
        BenchWorkload::Start { .. } | BenchWorkload::HarnessRun => vec!["true".to_owned()],
    }
}

/// Files that can be denied, one by one.
fn masked(directory: &Path, count: usize) -> Result<Vec<PathBuf>, String> {
    let secrets = directory.join("secret");
    let made = fs::create_dir_all(&secrets).and_then(|()| {
        let make = |index: usize| {
            let path = secrets.join(index.to_string());
            fs::write(&path, "secret").map(|()| path)
        };
        (0..count).map(make).collect()
    });
    made.map_err(|error| format!("{}: {error}", secrets.display()))
}
