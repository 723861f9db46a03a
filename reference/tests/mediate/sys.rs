//! Raw calls, for what no safe wrapper offers: odd flags, old forms, memory that changes meanwhile.

use std::ffi::{CStr, c_int, c_long};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use nix::errno::Errno;

/// Makes a call; pointers among `args` are to live memory of the caller.
pub(crate) fn call(number: c_long, args: [usize; 6]) -> Result<i64, Errno> {
    let [a, b, c, d, e, f] = args;
    // SAFETY: the callers pass numbers, null, or addresses of strings and buffers that they hold.
    Errno::result(unsafe { libc::syscall(number, a, b, c, d, e, f) })
}

/// The address of a string, for [`call`].
pub(crate) fn at(text: &CStr) -> usize {
    text.as_ptr() as usize
}

/// Bytes that one thread changes while the kernel reads them for another.
pub(crate) struct Shared(Vec<AtomicU8>);

impl Shared {
    /// Room for `length` bytes, all zero.
    pub(crate) fn new(length: usize) -> Self {
        Self((0..length).map(|_| AtomicU8::new(0)).collect())
    }

    /// Puts `text` and its NUL there, byte by byte.
    pub(crate) fn write(&self, text: &CStr) {
        self.put(0, text.to_bytes_with_nul());
    }

    /// Puts `bytes` at `offset`, one by one.
    pub(crate) fn put(&self, offset: usize, bytes: &[u8]) {
        for (to, byte) in self.0[offset..].iter().zip(bytes) {
            to.store(*byte, Ordering::Relaxed);
        }
    }

    /// The address, for [`call`].
    pub(crate) fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }
}

static STORMED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: c_int) {
    STORMED.fetch_add(1, Ordering::Relaxed);
}

/// Signals of a timer that were handled.
pub(crate) fn stormed() -> usize {
    STORMED.load(Ordering::Relaxed)
}

/// Has a timer send SIGALRM every `micros` microseconds to a counting handler.
pub(crate) fn storm(micros: i64, restart: bool) {
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
    let flags = if restart { SaFlags::SA_RESTART } else { SaFlags::empty() };
    let action = SigAction::new(SigHandler::Handler(count), flags, SigSet::empty());
    // SAFETY: the handler only adds to an atomic number.
    unsafe { sigaction(Signal::SIGALRM, &action) }.unwrap();
    let every = libc::timeval { tv_sec: 0, tv_usec: micros };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the timer lives through the call.
    let set = unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
    assert_eq!(set, 0);
}

/// Makes a directory by the other system-call entry of this processor (`int 0x80`), and returns the
/// result if the process survives.
#[cfg(target_arch = "x86_64")]
pub(crate) fn mkdir_by_int80(path_below_4g: u32) -> i64 {
    let result: i64;
    // SAFETY: mkdir (39) reads the string at this address, which the caller mapped below 4 GiB.
    unsafe {
        std::arch::asm!(
            "push rbx",
            "mov ebx, {path:e}",
            "int 0x80",
            "pop rbx",
            path = in(reg) path_below_4g,
            inlateout("rax") 39_i64 => result,
            in("rcx") 0o755_u64,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    result
}

/// Copies `text` to memory below 4 GiB; its address.
#[cfg(target_arch = "x86_64")]
pub(crate) fn below_4g(text: &CStr) -> u32 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh private mapping without other references.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, flags, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED);
    let bytes = text.to_bytes_with_nul();
    // SAFETY: the mapping is 4096 bytes, more than the tests' strings have.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.cast(), bytes.len()) };
    place as usize as u32
}

/// Forks; the child runs `body` and exits with what it returns.
pub(crate) fn forked(body: impl FnOnce() -> i32) -> nix::unistd::Pid {
    // SAFETY: the actor has one thread where it forks.
    match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Parent { child } => child,
        nix::unistd::ForkResult::Child => {
            let code = body();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(code) }
        }
    }
}
