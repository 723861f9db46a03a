//! The pool: feeds the order's jobs to worker processes and gathers what they saw. One loop, woken
//! by workers and signals. Main function: [`run`].

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use boxproof_cases::case::Exclusive;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::Signal;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use signal_hook::{SigId, flag, low_level};

use crate::execution::{Arm, ArmKind, Execution};
use crate::run::SETTLED;
use crate::worker::{Answer, Birthright, live};
use crate::{sweep, sys};

/// How often a worker may die on a job before the job is given up.
const LIVES: usize = 2;
/// The most arms that wait at the same time; each is a process that sleeps.
const WAITING: usize = 512;
/// The most of them that are still being started: all at once would make each of them late. While
/// so many are, nothing else begins; what waits longest is to wait from the start.
const STARTING: usize = 6;

/// How the run ended.
#[derive(Debug)]
pub enum Ended {
    /// Every arm was executed: (case, backend) → what was seen.
    Complete(HashMap<(usize, usize), Execution>),
    /// This signal came first.
    Interrupted(Signal),
}

/// One worker process and what it is doing.
#[derive(Debug)]
struct Worker {
    pid: Pid,
    line: UnixStream,
    waits: bool,
    job: Option<usize>,
    /// Whether its job has not yet begun to wait.
    starting: bool,
    heard: Vec<u8>,
}

/// Executes the whole order on `slots` CPU-bound workers and as many waiting ones as it takes.
/// `progress` hears the number of arms done. Call before any thread exists.
///
/// # Errors
/// When workers cannot be made or waited for.
pub fn run(
    birthright: &Birthright<'_>,
    slots: usize,
    mut progress: impl FnMut(usize, usize),
) -> io::Result<Ended> {
    sys::subreaper()?;
    let mut pool = Pool::new(birthright, slots)?;
    let signals = Signals::catch()?;
    let total = birthright.order.jobs.len();
    while pool.done < total {
        pool.hand_out()?;
        pool.wait(signals.line.as_fd())?;
        if let Some(signal) = signals.received() {
            return Ok(Ended::Interrupted(signal));
        }
        pool.listen()?;
        progress(pool.done, total);
    }
    Ok(Ended::Complete(std::mem::take(&mut pool.seen)))
}

/// The signals that end a run early.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// The signals that end a run, caught while this lives.
struct Signals {
    line: UnixStream,
    which: Arc<AtomicUsize>,
    ids: Vec<SigId>,
}

impl Signals {
    fn catch() -> io::Result<Self> {
        let (line, write) = UnixStream::pair()?;
        line.set_nonblocking(true)?;
        let which = Arc::new(AtomicUsize::new(0));
        let mut ids = Vec::new();
        for signal in ENDING {
            let number = signal as i32;
            // The number first: whoever is woken by the byte finds it there.
            ids.push(flag::register_usize(number, which.clone(), number.unsigned_abs() as usize)?);
            ids.push(low_level::pipe::register(number, write.try_clone()?)?);
        }
        Ok(Self { line, which, ids })
    }

    fn received(&self) -> Option<Signal> {
        let number = self.which.load(Ordering::SeqCst);
        ENDING.into_iter().find(|signal| *signal as usize == number)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            low_level::unregister(id);
        }
    }
}

struct Pool<'a> {
    birthright: &'a Birthright<'a>,
    workers: Vec<Worker>,
    born: usize,
    /// Jobs still to do, by pool, the next one last.
    queues: [Vec<usize>; 2],
    held: HashSet<Exclusive>,
    deaths: HashMap<usize, usize>,
    seen: HashMap<(usize, usize), Execution>,
    done: usize,
}

impl<'a> Pool<'a> {
    fn new(birthright: &'a Birthright<'a>, slots: usize) -> io::Result<Self> {
        let jobs = &birthright.order.jobs;
        let mut queues: [Vec<usize>; 2] = Default::default();
        for (at, job) in jobs.iter().enumerate().rev() {
            queues[usize::from(job.waits)].push(at);
        }
        queues[1].sort_by_key(|at| jobs[*at].weight);
        let (busy, waiting) = (queues[0].len().min(slots.max(1)), queues[1].len().min(wide()));
        let mut pool = Self {
            birthright,
            workers: Vec::new(),
            born: 0,
            queues,
            held: HashSet::new(),
            deaths: HashMap::new(),
            seen: HashMap::new(),
            done: 0,
        };
        for waits in std::iter::repeat_n(true, waiting).chain(std::iter::repeat_n(false, busy)) {
            pool.bear(waits)?;
        }
        Ok(pool)
    }

    fn bear(&mut self, waits: bool) -> io::Result<()> {
        let (ours, theirs) = UnixStream::pair()?;
        let number = self.born;
        self.born += 1;
        let siblings: Vec<_> = self.workers.iter().map(|worker| worker.line.as_fd()).collect();
        let pid = sys::fork(|| {
            // A sibling's line kept open here would hide its boss's death from it.
            for line in siblings.iter().chain([&ours.as_fd()]) {
                let _ = nix::unistd::close(std::os::fd::AsRawFd::as_raw_fd(line));
            }
            live(number, &theirs, self.birthright)
        })?;
        self.workers.push(Worker {
            pid,
            line: ours,
            waits,
            job: None,
            starting: false,
            heard: Vec::new(),
        });
        Ok(())
    }

    /// Gives every idle worker something to do, if its pool has something that may run now.
    fn hand_out(&mut self) -> io::Result<()> {
        for at in 0..self.workers.len() {
            if self.workers[at].job.is_some() {
                continue;
            }
            if self.workers.iter().filter(|worker| worker.starting).count() >= STARTING {
                break;
            }
            let waits = self.workers[at].waits;
            let Some(job) = self.next(waits) else { continue };
            self.held.extend(&self.birthright.order.jobs[job].exclusive);
            self.workers[at].job = Some(job);
            self.workers[at].starting = waits;
            // A dead worker shows when it is listened to.
            let _ = writeln!(self.workers[at].line, "{job}");
        }
        Ok(())
    }

    fn next(&mut self, waits: bool) -> Option<usize> {
        let jobs = &self.birthright.order.jobs;
        let queue = &mut self.queues[usize::from(waits)];
        let free = |job: &usize| jobs[*job].exclusive.iter().all(|word| !self.held.contains(word));
        let at = queue.iter().rposition(free)?;
        Some(queue.remove(at))
    }

    fn wait(&self, signals: BorrowedFd<'_>) -> io::Result<()> {
        let mut set = vec![PollFd::new(signals, PollFlags::POLLIN)];
        let busy = self.workers.iter().filter(|worker| worker.job.is_some());
        set.extend(busy.map(|worker| PollFd::new(worker.line.as_fd(), PollFlags::POLLIN)));
        match poll(&mut set, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Takes every answer that has come, and replaces workers that died.
    fn listen(&mut self) -> io::Result<()> {
        let mut at = 0;
        while at < self.workers.len() {
            let alive = self.workers[at].hear();
            for answer in self.workers[at].answers() {
                self.workers[at].job = None;
                self.workers[at].starting = false;
                self.take(&answer);
            }
            if alive { at += 1 } else { self.bury(at)? }
        }
        Ok(())
    }

    fn take(&mut self, answer: &Answer) {
        let job = &self.birthright.order.jobs[answer.job];
        for word in &job.exclusive {
            self.held.remove(word);
        }
        for pair in &job.serves {
            let execution = self.seen.entry(*pair).or_default();
            let slot = match job.arm {
                ArmKind::Control => &mut execution.control,
                ArmKind::Twin => &mut execution.twin,
                ArmKind::Confined => &mut execution.confined,
            };
            *slot = Some(answer.arm.clone());
        }
        self.done += 1;
    }

    /// A worker died: its orphans came to us and die too; its job gets another try, then up.
    fn bury(&mut self, at: usize) -> io::Result<()> {
        let worker = self.workers.swap_remove(at);
        let status = waitpid(worker.pid, None).map(|status| format!("{status:?}"));
        let mut ours: Vec<i32> = self.workers.iter().map(|worker| worker.pid.as_raw()).collect();
        ours.push(self.birthright.janitor.as_raw());
        sweep::kill_children(&ours);
        if let Some(job) = worker.job {
            let deaths = self.deaths.entry(job).or_insert(0);
            *deaths += 1;
            if *deaths < LIVES {
                for word in &self.birthright.order.jobs[job].exclusive {
                    self.held.remove(word);
                }
                self.queues[usize::from(worker.waits)].push(job);
            } else {
                let why = format!("its worker died: {}", status.unwrap_or_else(|e| e.to_string()));
                self.take(&Answer { job, arm: Arm::Fault(why) });
            }
        }
        self.bear(worker.waits)
    }
}

/// How many arms may wait at the same time: each needs a descriptor here.
fn wide() -> usize {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((0, 0));
    WAITING.min(usize::try_from(soft / 2).unwrap_or(WAITING)).max(1)
}

impl Drop for Pool<'_> {
    /// Hangs up on every worker and waits until each has cleaned up.
    fn drop(&mut self) {
        for worker in self.workers.drain(..) {
            drop(worker.line);
            let _ = waitpid(worker.pid, None);
        }
    }
}

impl Worker {
    /// Reads what has come, without waiting for more; false when the worker is gone.
    fn hear(&mut self) -> bool {
        let mut buffer = [0; 64 << 10];
        let _ = self.line.set_nonblocking(true);
        loop {
            match self.line.read(&mut buffer) {
                Ok(0) => return false,
                Ok(n) => self.heard.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        let _ = self.line.set_nonblocking(false);
        true
    }

    /// The whole answers heard so far; one that cannot be read is a fault of its job.
    fn answers(&mut self) -> Vec<Answer> {
        let Some(end) = self.heard.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let whole: Vec<u8> = self.heard.drain(..=end).collect();
        if whole.split(|byte| *byte == b'\n').any(|line| line == SETTLED) {
            self.starting = false;
        }
        let lines = whole.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty() && *line != SETTLED);
        let answer = |line: &[u8]| match (serde_json::from_slice(line), self.job) {
            (Ok(answer), _) => Some(answer),
            (Err(error), Some(job)) => {
                Some(Answer { job, arm: Arm::Fault(format!("its worker's answer: {error}")) })
            }
            (Err(_), None) => None,
        };
        lines.filter_map(answer).collect()
    }
}
