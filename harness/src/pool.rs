//! The pool: feeds the order's jobs to worker processes and gathers what they saw. One loop, woken
//! by workers and signals; a worker that holds a job for too long is killed. Main function:
//! [`run`].

mod child_changes;
mod connection;
mod loss;

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid};

use crate::case_pair::CasePair;
use crate::execution::{ExecutedArm, GatheredArms};
use crate::schedule::SharedState;
use crate::worker::{WorkerContext, live};
use crate::{sweep, sys, termination};
use child_changes::ChildChanges;
use connection::{BrokenLine, WorkerLine, WorkerMessage};
use loss::{WorkerLoss, end};

/// The time after which an arm that is taken to use the CPU is taken to wait: another begins beside it.
const LINGERING: Duration = Duration::from_secs(3);
/// The number of times that a worker may die on a job before the job is given up.
const LIVES: usize = 2;
/// The most arms that wait at the same time; each is a process that sleeps.
const WAITING: usize = 512;
/// The most of them that are still being started: all at once would make each of them late. While
/// so many are, nothing else begins; the job that waits longest is to wait from the start.
const STARTING: usize = 6;

/// An answer of at most so many bytes is small, as nearly all are.
const SMALL: usize = 64 << 10;
/// The most bytes of all others together: they are kept until they are judged.
const LARGE: usize = 64 << 20;
/// The time that workers have to clean up after they were hung up on.
const PARTING: Duration = Duration::from_secs(5);
/// The interval at which the clock is read: for any time beyond that, this host stood still.
const TICK: Duration = Duration::from_secs(5);
/// The delay with which a busy host may wake us all the same.
const LATE: Duration = Duration::from_secs(1);
/// The time for which a worker may live on after this process has ended.
const ORPHANED: Duration = Duration::from_secs(20);
/// The divisor of the number of workers when the host refuses another process: one in so many
/// stays, as every arm needs processes of its own.
const SHRINK: usize = 8;

/// The end of the run.
#[derive(Debug)]
pub enum PoolEnd {
    /// Every arm was executed: what was seen.
    Complete(GatheredArms),
    /// The signal that came first, or none if the caller wants no more; and the observations until
    /// then.
    Cut(Option<Signal>, GatheredArms),
}

/// The progress of the pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolProgress<'a> {
    /// The number of arms that are done.
    pub done: usize,
    /// Of how many.
    pub total: usize,
    /// The pairs of which an arm was seen since this was told last.
    pub touched: &'a [CasePair],
    /// The observations of every pair.
    pub seen: &'a GatheredArms,
}

/// One worker process and what it is doing.
#[derive(Debug)]
struct WorkerProcess {
    pid: Pid,
    line: WorkerLine,
    waits: bool,
    job: Option<HeldJob>,
}

/// A job that a worker holds.
#[derive(Debug, Clone, Copy)]
struct HeldJob {
    job: usize,
    /// True if it has not yet begun to wait.
    starting: bool,
    /// The time at which the worker was given it.
    begun: Instant,
    /// The time at which it counts as one that never ends.
    deadline: Instant,
}

/// Executes the whole order on `slots` CPU-bound workers and as many waiting ones as it takes.
/// `progress` hears what is done, and may end it. Call before any thread exists, and while a
/// [`crate::termination::Termination`] catches the signals.
///
/// # Errors
/// Returns an error when workers cannot be made or waited for.
pub fn run(
    birthright: &WorkerContext<'_>,
    slots: usize,
    mut progress: impl FnMut(PoolProgress<'_>) -> ControlFlow<()>,
) -> io::Result<PoolEnd> {
    sys::subreaper()?;
    let changes = ChildChanges::watch()?;
    let mut pool = WorkerPool::new(birthright, slots, changes.ends)?;
    let total = birthright.order.jobs.len();
    loop {
        if let Some(signal) = termination::received() {
            return Ok(PoolEnd::Cut(Some(signal), std::mem::take(&mut pool.seen)));
        }
        if pool.done >= total {
            return Ok(PoolEnd::Complete(std::mem::take(&mut pool.seen)));
        }
        pool.hand_out()?;
        pool.wait(changes.line.as_fd())?;
        pool.listen()?;
        if changes.came() {
            pool.lose(|worker| {
                (worker.job.is_some() && stands_still(worker)).then_some(WorkerLoss::Stopped)
            })?;
        }
        let now = Instant::now();
        let overdue = |worker: &WorkerProcess| worker.job.is_some_and(|held| held.deadline <= now);
        pool.lose(|worker| overdue(worker).then_some(WorkerLoss::Overdue))?;
        let touched = std::mem::take(&mut pool.touched);
        let (done, seen) = (pool.done, &pool.seen);
        if progress(PoolProgress { done, total, touched: &touched, seen }).is_break() {
            return Ok(PoolEnd::Cut(None, std::mem::take(&mut pool.seen)));
        }
    }
}

fn stands_still(worker: &WorkerProcess) -> bool {
    sys::stands_still(worker.pid).unwrap_or(false)
}

impl WorkerProcess {
    /// Returns when its job will have been taken for one that waits, if it is not a waiting one from the start.
    fn lingers_from(&self) -> Option<Instant> {
        self.job.filter(|_| !self.waits).map(|held| held.begun + LINGERING)
    }
}

struct WorkerPool<'a> {
    birthright: &'a WorkerContext<'a>,
    /// The number of jobs at once that use the CPU.
    slots: usize,
    /// The most workers for these: as many may linger as compute.
    most: usize,
    /// Descriptors of this process that no worker needs.
    ends: [RawFd; 2],
    workers: Vec<WorkerProcess>,
    born: usize,
    /// Jobs still to do, by pool, the next one last.
    queues: [Vec<usize>; 2],
    held: HashSet<SharedState>,
    deaths: HashMap<usize, usize>,
    seen: GatheredArms,
    /// The pairs of which that is news.
    touched: Vec<CasePair>,
    done: usize,
    /// The number of bytes of answers that are not small.
    large: usize,
}

impl<'a> WorkerPool<'a> {
    fn new(birthright: &'a WorkerContext<'a>, slots: usize, ends: [RawFd; 2]) -> io::Result<Self> {
        let jobs = &birthright.order.jobs;
        let mut queues: [Vec<usize>; 2] = Default::default();
        for (at, job) in jobs.iter().enumerate().rev() {
            queues[usize::from(job.waits)].push(at);
        }
        queues[1].sort_by_key(|at| jobs[*at].weight);
        let slots = slots.max(1);
        let (busy, waiting) = (queues[0].len().min(slots), queues[1].len().min(wide()));
        let mut pool = Self {
            birthright,
            slots,
            // With one slot no arm is executed beside another.
            most: if slots > 1 { 2 * slots } else { 1 },
            ends,
            workers: Vec::new(),
            born: 0,
            queues,
            held: HashSet::new(),
            deaths: HashMap::new(),
            seen: HashMap::new(),
            touched: Vec::new(),
            done: 0,
            large: 0,
        };
        pool.staff(busy, waiting)?;
        Ok(pool)
    }

    /// Makes workers, one of each kind first. Where the host allows fewer processes, fewer.
    fn staff(&mut self, busy: usize, waiting: usize) -> io::Result<()> {
        for (waits, count) in [(false, busy), (true, waiting)] {
            if count > 0 {
                self.spawn_worker(waits).map_err(|error| unborn(&error))?;
            }
        }
        let more = |waits, count: usize| std::iter::repeat_n(waits, count.saturating_sub(1));
        for waits in more(true, waiting).chain(more(false, busy)) {
            if self.spawn_worker(waits).is_err() {
                self.shrink();
                break;
            }
        }
        // The job that waits longest is to wait from the start.
        self.workers.sort_by_key(|worker| !worker.waits);
        Ok(())
    }

    /// Lets most workers of each kind go.
    fn shrink(&mut self) {
        let workers = std::mem::take(&mut self.workers);
        let (waiting, busy): (Vec<_>, Vec<_>) = workers.into_iter().partition(|w| w.waits);
        for mut kind in [waiting, busy] {
            let stay = kind.len().div_ceil(SHRINK);
            let gone = kind.split_off(stay);
            self.workers.extend(kind);
            self.retire(gone);
        }
    }

    fn spawn_worker(&mut self, waits: bool) -> io::Result<()> {
        let (ours, theirs) = UnixStream::pair()?;
        let number = self.born;
        // A sibling's line kept open here would hide its boss's death from it; by the others, a
        // process that reaches into a worker would reach the boss.
        let mut foreign = vec![ours.as_raw_fd()];
        foreign.extend(self.workers.iter().map(|worker| worker.line.as_fd().as_raw_fd()));
        foreign.extend(self.ends.iter().chain(termination::own_descriptors()));
        let boss = getpid();
        let pid = sys::fork(|| {
            let _ = sys::default_signals();
            for number in foreign {
                let _ = nix::unistd::close(number);
            }
            // Without this call the line alone reports the boss's end.
            let _ = sys::end_after(boss, ORPHANED);
            let _ = sys::deny_tracing();
            live(number, &theirs, self.birthright)
        })?;
        self.born += 1;
        self.workers.push(WorkerProcess { pid, line: WorkerLine::new(ours)?, waits, job: None });
        Ok(())
    }

    /// Returns the number of jobs that use the CPU, as far as is known.
    fn computing(&self, now: Instant) -> usize {
        let from = self.workers.iter().filter_map(WorkerProcess::lingers_from);
        from.filter(|from| now < *from).count()
    }

    /// Makes another worker where jobs that were to use the CPU linger, so that these hold up no others.
    fn relieve(&mut self, now: Instant) {
        let own: Vec<&WorkerProcess> = self.workers.iter().filter(|worker| !worker.waits).collect();
        let is_short = own.iter().all(|worker| worker.job.is_some())
            && self.computing(now) < self.slots
            && own.len() < self.most
            && !self.queues[0].is_empty();
        if is_short && self.spawn_worker(false).is_err() {
            self.most = 0;
        }
    }

    /// Gives every idle worker something to do, if its pool has something that may run now.
    fn hand_out(&mut self) -> io::Result<()> {
        let now = Instant::now();
        self.relieve(now);
        for at in 0..self.workers.len() {
            let is_full = !self.workers[at].waits && self.computing(now) >= self.slots;
            if self.workers[at].job.is_some() || is_full {
                continue;
            }
            let starting = |worker: &&WorkerProcess| worker.job.is_some_and(|held| held.starting);
            if self.workers.iter().filter(starting).count() >= STARTING {
                break;
            }
            let waits = self.workers[at].waits;
            let Some(job) = self.next(waits) else { continue };
            let exclusive = &self.birthright.order.jobs[job].exclusive;
            self.held.extend(exclusive);
            let begun = Instant::now();
            let deadline = begun + self.birthright.order.patience(job);
            self.workers[at].job = Some(HeldJob { job, starting: waits, begun, deadline });
            self.workers[at].line.hand_out(job)?;
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

    /// Sleeps until there is something to do. Time for which this host stood still meanwhile counts
    /// for no deadline.
    fn wait(&mut self, changes: BorrowedFd<'_>) -> io::Result<()> {
        let asked = Instant::now();
        let deadlines = self.workers.iter().filter_map(|worker| worker.job);
        let lingering = self.workers.iter().filter_map(WorkerProcess::lingers_from);
        let moments = deadlines.map(|held| held.deadline).chain(lingering.filter(|at| *at > asked));
        let next = moments.map(|at| at.saturating_duration_since(asked)).min();
        let patience = next.unwrap_or(TICK).min(TICK) + Duration::from_millis(1);
        let own = termination::descriptor().into_iter().chain([changes]);
        let busy = self.workers.iter().filter(|worker| worker.job.is_some());
        let lines = busy.map(|worker| worker.line.as_fd());
        let mut set: Vec<_> =
            own.chain(lines).map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match poll(&mut set, PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let late = asked.elapsed().saturating_sub(patience);
        if late > LATE {
            for held in self.workers.iter_mut().filter_map(|worker| worker.job.as_mut()) {
                held.deadline += late;
            }
        }
        Ok(())
    }

    /// Takes every answer that has come, and replaces workers that are lost.
    fn listen(&mut self) -> io::Result<()> {
        let mut at = 0;
        while at < self.workers.len() {
            let held = self.workers[at].job.map(|held| held.job);
            let (said, broken) = self.workers[at].line.read_messages(held);
            for said in said {
                let worker = &mut self.workers[at];
                match (said, &mut worker.job) {
                    (WorkerMessage::Settled, Some(held)) => held.starting = false,
                    (WorkerMessage::Answer(arm, bytes), Some(HeldJob { job, .. })) => {
                        let job = *job;
                        worker.job = None;
                        let arm = self.bounded(arm, bytes);
                        self.take(job, arm);
                    }
                    (_, None) => {}
                }
            }
            match broken {
                None => at += 1,
                Some(BrokenLine::Closed) => self.reap_worker(at, &WorkerLoss::Died)?,
                Some(BrokenLine::Forged(what)) => {
                    self.reap_worker(at, &WorkerLoss::Forged(what))?;
                }
            }
        }
        Ok(())
    }

    /// Replaces every worker that `loss` finds lost.
    fn lose(&mut self, loss: impl Fn(&WorkerProcess) -> Option<WorkerLoss>) -> io::Result<()> {
        let mut at = 0;
        while at < self.workers.len() {
            match loss(&self.workers[at]) {
                Some(loss) => self.reap_worker(at, &loss)?,
                None => at += 1,
            }
        }
        Ok(())
    }

    /// Returns `arm`, whose answer had so many bytes, as far as there is room for it.
    fn bounded(&mut self, arm: ExecutedArm, bytes: usize) -> ExecutedArm {
        if bytes > SMALL {
            self.large += bytes;
        }
        match self.large > LARGE && bytes > SMALL {
            true => arm.failed(format!(
                "the arms of this run have left too much to tell: {bytes} bytes more"
            )),
            false => arm,
        }
    }

    fn take(&mut self, job: usize, arm: ExecutedArm) {
        self.free(job);
        let job = &self.birthright.order.jobs[job];
        let arms = std::iter::repeat_n(arm, job.serves.len());
        for (pair, arm) in job.serves.iter().zip(arms) {
            self.seen.entry(*pair).or_default().insert(job.arm, arm);
            self.touched.push(*pair);
        }
        self.done += 1;
    }

    /// Frees the resources that the job shares with others.
    fn free(&mut self, job: usize) {
        for word in &self.birthright.order.jobs[job].exclusive {
            self.held.remove(word);
        }
    }

    /// A worker is lost: its orphans come to us and die, too; a job whose worker died gets another
    /// try, then up.
    fn reap_worker(&mut self, at: usize, loss: &WorkerLoss) -> io::Result<()> {
        let worker = self.workers.swap_remove(at);
        let why = end(worker.pid, loss);
        sweep::kill_children(&self.ours());
        if let Some(HeldJob { job, .. }) = worker.job {
            let deaths = self.deaths.entry(job).or_insert(0);
            *deaths += 1;
            if *deaths < LIVES && matches!(loss, WorkerLoss::Died | WorkerLoss::Stopped) {
                self.free(job);
                self.queues[usize::from(worker.waits)].push(job);
            } else {
                let case = &self.birthright.order.cases[self.birthright.order.jobs[job].case];
                self.take(job, ExecutedArm::fault(case, why));
            }
        }
        match self.spawn_worker(worker.waits) {
            Err(error) if self.workers.iter().all(|other| other.waits != worker.waits) => {
                Err(unborn(&error))
            }
            // Others do its work.
            _ => Ok(()),
        }
    }

    /// Lists the children of this process that are no orphans.
    fn ours(&self) -> Vec<i32> {
        let workers = self.workers.iter().map(|worker| worker.pid.as_raw());
        workers.chain([self.birthright.janitor.as_raw()]).collect()
    }

    /// Hangs up on `workers` and waits until they have cleaned up; a worker that takes too long is
    /// killed.
    fn retire(&self, workers: Vec<WorkerProcess>) {
        let mut left: Vec<Pid> = workers.into_iter().map(|worker| worker.pid).collect();
        let deadline = Instant::now() + PARTING;
        left.retain(|pid| !sweep::reaped(*pid));
        while !left.is_empty() && Instant::now() < deadline {
            sweep::wait_for_one(&left, deadline);
            left.retain(|pid| !sweep::reaped(*pid));
        }
        if !left.is_empty() {
            sweep::kill_children(&self.ours());
        }
    }
}

fn unborn(error: &io::Error) -> io::Error {
    let message = format!(
        "no process for a worker can be started: {error}; raise the limit of processes \
         (`ulimit -u`, pids.max)"
    );
    io::Error::new(error.kind(), message)
}

/// Returns the number of arms that may wait at the same time: each needs a descriptor here.
fn wide() -> usize {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((0, 0));
    WAITING.min(usize::try_from(soft / 2).unwrap_or(WAITING)).max(1)
}

impl Drop for WorkerPool<'_> {
    fn drop(&mut self) {
        let workers = std::mem::take(&mut self.workers);
        self.retire(workers);
        sweep::kill_children(&self.ours());
    }
}
