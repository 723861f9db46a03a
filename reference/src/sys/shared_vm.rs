//! A process that shares our memory: it has no page tables of its own, so that its start and its
//! end cost the same for any size of our memory.
//!
//! Until it releases the thread that started it, it may do what a child of vfork(2) may, because
//! that thread is blocked. From then on it must neither allocate nor use thread-local state, errno
//! included: it makes bare system calls (rustix) on data of its own stack.

use std::ffi::{c_int, c_void};
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::Pid;
use rustix::io::retry_on_intr;

use super::{ProcessHandle, ReleasePipe};

/// Bytes of stack for such a process.
const STACK: NonZeroUsize = NonZeroUsize::new(1 << 18).unwrap();

/// The stack of a process that shares our memory. It is [released](Self::release) once that process
/// is dead or has executed a program; otherwise it is leaked.
pub(crate) struct SharedStack(NonNull<c_void>);

/// Giving one back costs as much as the end of the process that used it.
static IDLE: Mutex<Vec<SharedStack>> = Mutex::new(Vec::new());
/// Stacks that are kept.
const MOST_IDLE: usize = 64;

fn idle() -> MutexGuard<'static, Vec<SharedStack>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

// SAFETY: plain memory that no thread has a claim on.
unsafe impl Send for SharedStack {}

impl SharedStack {
    /// Pages of its own: only those that are used cost anything.
    pub(super) fn new() -> nix::Result<Self> {
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_STACK | MapFlags::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps no other.
        unsafe { mmap_anonymous(None, STACK, access, flags) }.map(Self)
    }

    /// Returns its upper end: it grows down.
    pub(super) fn top(&self) -> *mut c_void {
        // SAFETY: one past the end of the mapping.
        unsafe { self.0.byte_add(STACK.get()) }.as_ptr()
    }

    /// One that was put by, or a new one.
    fn take() -> nix::Result<Self> {
        idle().pop().map_or_else(Self::new, Ok)
    }

    /// Keeps the memory for the next. The caller has seen the process end.
    pub(crate) fn put_by(self) {
        let mut idle = idle();
        match idle.len() < MOST_IDLE {
            true => idle.push(self),
            false => self.release(),
        }
    }

    /// Gives the memory back. The caller has seen the process end.
    pub(super) fn release(self) {
        // SAFETY: the mapping is ours, and by contract it is not used any more.
        let _cannot_fail = unsafe { munmap(self.0, STACK.get()) };
    }
}

/// Starts `body` beside us with every signal blocked, and waits until it releases the leash or
/// ends. The process exits with the result of `body`. Returns a descriptor of it, a child of ours.
pub(crate) fn start_beside<F: FnOnce(ReleasePipe) -> i32>(
    body: F,
) -> io::Result<(ProcessHandle, SharedStack)> {
    let (held, leash) = io::pipe()?;
    let stack = SharedStack::take()?;
    let ours = ReleasePipe::at(leash.as_raw_fd());
    let mut body = Some(|| {
        super::signals::forget_calls();
        body(ours)
    });
    // A handler that ran there would be taken for one of ours, and one here could move errno.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let started = clone_on(&stack, 0, &mut body);
    drop(leash);
    if started.is_ok() {
        // End of file: its copy was closed, by itself or by its end.
        let _ended = retry_on_intr(|| rustix::io::read(&held, &mut [0_u8]));
    }
    mask.thread_set_mask()?;
    match started {
        Ok((_, process)) => Ok((process, stack)),
        Err(errno) => {
            stack.release();
            Err(errno.into())
        }
    }
}

/// Starts a process in our memory that runs `body` on `stack` and exits with its result; returns
/// its pid and a descriptor. Both arguments must live until it has taken `body` and left the stack.
pub(super) fn clone_on<F: FnOnce() -> i32>(
    stack: &SharedStack,
    flags: c_int,
    body: &mut Option<F>,
) -> nix::Result<(Pid, ProcessHandle)> {
    extern "C" fn enter<F: FnOnce() -> i32>(body: *mut c_void) -> c_int {
        // SAFETY: `clone_on` passes its own body, and its callers are blocked while it is taken.
        let body = unsafe { &mut *body.cast::<Option<F>>() };
        body.take().map_or(1, |body| body())
    }
    let flags = flags | libc::CLONE_VM | libc::CLONE_PIDFD | libc::SIGCHLD;
    let body: *mut Option<F> = body;
    let mut process: RawFd = -1;
    // SAFETY: the stack is ours, aligned, grows down from its end, and the callers keep it and the
    // body for as long as the process uses them; `process` is written before this returns.
    let pid = unsafe { libc::clone(enter::<F>, stack.top(), flags, body.cast(), &raw mut process) };
    let pid = Errno::result(pid).map(Pid::from_raw)?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(process) }))
}
