//! Seccomp user notification, and reading the memory of callers.

use std::ffi::{c_int, c_long};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

use super::{capabilities, set_capabilities};
use crate::sys::kernel_file;

/// `PIDFD_THREAD`.
const THREAD: c_int = libc::O_EXCL;

/// One step of a filter program.
pub(crate) use libc::sock_filter as Step;

/// `CAP_SYS_PTRACE` as a bit.
const PTRACE: u32 = 1 << 19;

/// A call that waits for our answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeccompNotification {
    /// The id that the answer must name.
    pub(crate) id: u64,
    /// The calling thread.
    pub(crate) thread: Pid,
    /// The call's number.
    pub(crate) number: c_long,
    /// Its arguments.
    pub(crate) args: [u64; 6],
}

/// Installs `program` for this thread and its children; returns the listener's descriptor. Callers
/// wait for answers until they are killed (Linux 5.19, else EINVAL).
pub(crate) fn listen(program: &[Step]) -> nix::Result<OwnedFd> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::EINVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let set = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the program lives through the call, which copies it.
    let fd = unsafe { libc::syscall(libc::SYS_seccomp, set, flags, &raw const program) };
    let fd = Errno::result(fd)?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Installs `program`, which sends no call here, for this thread and its children.
pub(crate) fn restrict(program: &[Step]) -> nix::Result<()> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::EINVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let set = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the program lives through the call, which copies it.
    Errno::result(unsafe { libc::syscall(libc::SYS_seccomp, set, 0, &raw const program) }).map(drop)
}

/// Sends `listener` over `socket`, by a call whose flags have the high half `mark`.
pub(crate) fn pass_on(socket: &OwnedFd, listener: &OwnedFd, mark: u32) -> nix::Result<()> {
    /// A control message with one descriptor.
    #[repr(C, align(8))]
    struct Passed {
        head: libc::cmsghdr,
        number: RawFd,
        _end: u32,
    }
    // SAFETY: all zeroes is a valid head, filled below.
    let head: libc::cmsghdr = unsafe { std::mem::zeroed() };
    let mut passed = Passed { head, number: listener.as_raw_fd(), _end: 0 };
    passed.head.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<RawFd>()) as _;
    (passed.head.cmsg_level, passed.head.cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
    let mut data = IoSlice::new(b"!");
    // SAFETY: all zeroes is a valid header of an empty message.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = ((&raw mut data).cast(), 1);
    header.msg_control = (&raw mut passed).cast();
    header.msg_controllen = size_of::<Passed>() as _;
    let flags = libc::MSG_NOSIGNAL as u64 | u64::from(mark) << 32;
    // SAFETY: the header leads to a slice and a control message that live through the call.
    let sent =
        unsafe { libc::syscall(libc::SYS_sendmsg, socket.as_raw_fd(), &raw const header, flags) };
    Errno::result(sent).map(drop)
}

/// Waits for the listener that comes over `socket`; `None` if its other end was closed first.
pub(crate) fn passed_on(socket: &OwnedFd) -> nix::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!(RawFd);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let received = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let number = received.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
        _ => None,
    });
    // SAFETY: the kernel just made this descriptor for us.
    Ok(number.map(|number| unsafe { OwnedFd::from_raw_fd(number) }))
}

/// Has a call wake a waiting thread on the processor of the caller, which goes to sleep there (Linux
/// 6.6). Fails where the kernel cannot.
pub(crate) fn wake_beside_callers(listener: BorrowedFd<'_>) -> nix::Result<()> {
    /// `SECCOMP_IOCTL_NOTIF_SET_FLAGS`: `_IOW('!', 4, __u64)`.
    const SET_FLAGS: u32 = 0x4008_2104;
    /// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`.
    const SYNC_WAKE_UP: u64 = 1;
    // SAFETY: the kernel takes the flags by value.
    let set = unsafe { libc::ioctl(listener.as_raw_fd(), SET_FLAGS as _, SYNC_WAKE_UP) };
    Errno::result(set).map(drop)
}

/// Has this thread run soon after it wakes: it asks for short turns (Linux 6.12, without effect
/// before).
pub(crate) fn take_short_turns() -> nix::Result<()> {
    /// `struct sched_attr` of its first version.
    #[derive(Default)]
    #[repr(C)]
    struct SchedAttr {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    /// The shortest turn, in nanoseconds.
    const TURN: u64 = 100_000;
    let size = size_of::<SchedAttr>() as u32;
    let mut attr = SchedAttr::default();
    // SAFETY: the attributes live through the call, which writes at most their size.
    Errno::result(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) })?;
    let attr = SchedAttr { size, runtime: TURN, ..attr };
    // SAFETY: the attributes live through the call, which reads the size that they give.
    Errno::result(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) })
        .map(drop)
}

/// Returns whether no process is left whose calls come to `listener` (Linux 5.9). Waiting for a call
/// fails with ENOENT at once from then on.
pub(crate) fn is_abandoned(listener: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(listener, PollFlags::empty())];
    let found = poll(&mut polled, PollTimeout::ZERO);
    found.is_ok() && polled[0].revents().is_some_and(|seen| seen.contains(PollFlags::POLLHUP))
}

/// Waits for a call; ENOENT if its caller was killed meanwhile, or if no caller is left.
pub(crate) fn next(listener: BorrowedFd<'_>) -> nix::Result<SeccompNotification> {
    // SAFETY: all zeroes is a valid notice, as the kernel requires.
    let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    let request = libc::SECCOMP_IOCTL_NOTIF_RECV as _;
    // SAFETY: the notice lives through the call and has the layout that the request writes.
    Errno::result(unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw mut notice) })?;
    Ok(SeccompNotification {
        id: notice.id,
        thread: Pid::from_raw(notice.pid as i32),
        number: c_long::from(notice.data.nr),
        args: notice.data.args,
    })
}

/// Returns whether the caller still waits; only then is the data read about its thread valid.
pub(crate) fn is_waiting(listener: BorrowedFd<'_>, id: u64) -> bool {
    let request = libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _;
    // SAFETY: the number lives through the call, which reads it.
    unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw const id) == 0 }
}

/// Ends the call with a value or an errno. A caller that has ended is no error.
pub(crate) fn answer(listener: BorrowedFd<'_>, id: u64, answer: Result<i64, Errno>) {
    let (val, error) = match answer {
        Ok(value) => (value, 0),
        Err(errno) => (0, -(errno as i32)),
    };
    let answer = libc::seccomp_notif_resp { id, val, error, flags: 0 };
    let request = libc::SECCOMP_IOCTL_NOTIF_SEND as _;
    // SAFETY: the answer lives through the call, which reads it.
    let _gone = unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw const answer) };
}

/// Has the caller's own call go on. Only for calls whose effect was decided on nothing that anyone can
/// still change.
pub(crate) fn let_go_on(listener: BorrowedFd<'_>, id: u64) {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    let answer = libc::seccomp_notif_resp { id, val: 0, error: 0, flags };
    let request = libc::SECCOMP_IOCTL_NOTIF_SEND as _;
    // SAFETY: the answer lives through the call, which reads it.
    let _gone = unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw const answer) };
}

/// Returns whether a command's calls can come here: the kernel has it, and no filter that is in effect
/// sends them elsewhere already. Where there are filters, that is found by trying, in another process.
pub(crate) fn can_listen() -> bool {
    static FOUND: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *FOUND.get_or_init(|| {
        let flags =
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        let (set, none) = (libc::SECCOMP_SET_MODE_FILTER, std::ptr::null::<libc::sock_fprog>());
        // SAFETY: without a program the call fails, by EFAULT where it knows the flags.
        let known = unsafe { libc::syscall(libc::SYS_seccomp, set, flags, none) };
        let status = kernel_file::text("/proc/thread-self/status").unwrap_or_default();
        let unfiltered = status.lines().any(|line| line == "Seccomp_filters:\t0");
        Errno::result(known) == Err(Errno::EFAULT) && (unfiltered || listens())
    })
}

/// Tries to listen in a process that ends at once.
fn listens() -> bool {
    let pass = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_ALLOW,
    };
    let tried = || i32::from(super::gain_nothing().and_then(|()| listen(&[pass])).is_err());
    let process = super::fork_into(nix::sched::CloneFlags::empty(), tried);
    let ended = process.map(|(_, process)| super::reap_process(&process));
    ended.is_ok_and(|ended| {
        ended.is_ok_and(|ended| ended.is_some_and(|ended| ended.code() == Some(0)))
    })
}

/// Adds a descriptor of `file` to the caller's table; returns its number there. The call still
/// waits.
pub(crate) fn hand_over(
    listener: BorrowedFd<'_>,
    id: u64,
    file: BorrowedFd<'_>,
    close_on_exec: bool,
) -> nix::Result<RawFd> {
    let addition = libc::seccomp_notif_addfd {
        id,
        flags: 0,
        srcfd: file.as_raw_fd() as u32,
        newfd: 0,
        newfd_flags: if close_on_exec { libc::O_CLOEXEC as u32 } else { 0 },
    };
    let request = libc::SECCOMP_IOCTL_NOTIF_ADDFD as _;
    // SAFETY: the request lives through the call, which reads it.
    Errno::result(unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw const addition) })
}

/// Reads memory of `thread` from `address`; how many bytes could be read.
pub(crate) fn read_memory(thread: Pid, address: u64, into: &mut [u8]) -> nix::Result<usize> {
    let base = usize::try_from(address).map_err(|_| Errno::EFAULT)?;
    let from = [RemoteIoVec { base, len: into.len() }];
    process_vm_readv(thread, &mut [IoSliceMut::new(into)], &from)
}

/// Writes to memory of `thread` from `address`, all or an error.
pub(crate) fn write_memory(thread: Pid, address: u64, bytes: &[u8]) -> nix::Result<()> {
    let base = usize::try_from(address).map_err(|_| Errno::EFAULT)?;
    let to = [RemoteIoVec { base, len: bytes.len() }];
    let written = process_vm_writev(thread, &[IoSlice::new(bytes)], &to)?;
    if written == bytes.len() { Ok(()) } else { Err(Errno::EFAULT) }
}

/// Sends SIGPIPE to `thread`, as a call of its own would.
pub(crate) fn break_pipe(process: Pid, thread: Pid) {
    // SAFETY: tgkill takes three numbers.
    let _gone = unsafe {
        libc::syscall(libc::SYS_tgkill, process.as_raw(), thread.as_raw(), libc::SIGPIPE)
    };
}

/// A copy of descriptor `number` of `thread`, or of its process on kernels before 6.9.
pub(crate) fn take_descriptor(
    thread: Pid,
    process: impl Fn() -> nix::Result<Pid>,
    number: RawFd,
) -> nix::Result<OwnedFd> {
    let opened = open_process(thread, THREAD).or_else(|_| open_process(process()?, 0))?;
    // SAFETY: pidfd_getfd takes three numbers and returns a new descriptor.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_getfd, opened.as_raw_fd(), number, 0) };
    let fd = Errno::result(fd)?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Returns the id of `thread` in `/proc`; of one that does not lead its process since Linux 6.9.
pub(crate) fn shown_thread(thread: Pid) -> nix::Result<Pid> {
    let opened = open_process(thread, THREAD).or_else(|_| open_process(thread, 0))?;
    super::shown(&opened)
        .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))
}

/// Returns a descriptor for the process or thread `pid`.
pub(crate) fn open_process(pid: Pid, flags: c_int) -> nix::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers and returns a new descriptor.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), flags) };
    let fd = Errno::result(fd)?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// The end of a process as far as its parent took note of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReapedEnd {
    /// It runs, or was not waited for.
    Unreaped,
    /// The status that its parent got.
    Status(i32),
}

/// Returns the end of the process behind `handle`; none on kernels before 6.15, which do not tell.
pub(crate) fn reaped_end(handle: impl AsFd) -> Option<ReapedEnd> {
    /// `PIDFD_GET_INFO` for the first size of its structure.
    const GET_INFO: u32 = 0xc040_ff0b;
    /// `PIDFD_INFO_EXIT`.
    const EXIT: u64 = 1 << 3;
    /// `struct pidfd_info`, with the mask first and the status last.
    #[repr(C)]
    struct PidfdInfo {
        mask: u64,
        control_group: u64,
        ids: [u32; 11],
        status: i32,
    }
    let mut info = PidfdInfo { mask: EXIT, control_group: 0, ids: [0; 11], status: 0 };
    let fd = handle.as_fd().as_raw_fd();
    // SAFETY: the call writes at most the size that its number says, which is that of the structure.
    let got = unsafe { libc::ioctl(fd, GET_INFO as _, &raw mut info) };
    Errno::result(got).ok()?;
    let is_reaped = info.mask & EXIT != 0;
    Some(if is_reaped { ReapedEnd::Status(info.status) } else { ReapedEnd::Unreaped })
}

/// Binds `socket` to `address`, given as bytes.
pub(crate) fn bind(socket: impl AsFd, address: &[u8]) -> nix::Result<()> {
    let length = address.len() as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel copies `length` bytes of the address, of any content.
    Errno::result(unsafe { libc::bind(socket, address.as_ptr().cast(), length) }).map(drop)
}

/// The number of the mount that `file` was found on (Linux 5.8).
pub(crate) fn mount_of(file: BorrowedFd<'_>) -> nix::Result<u64> {
    // SAFETY: all zeroes is a valid statx buffer.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    let (flags, mask) = (libc::AT_EMPTY_PATH, libc::STATX_MNT_ID);
    // SAFETY: the name is an empty C string and the buffer lives through the call.
    Errno::result(unsafe {
        libc::statx(file.as_raw_fd(), c"".as_ptr(), flags, mask, &raw mut found)
    })?;
    if found.stx_mask & mask == 0 { Err(Errno::ENOSYS) } else { Ok(found.stx_mnt_id) }
}

/// Runs `body` with the right to look into other processes, which this thread holds but does not
/// use otherwise.
pub(crate) fn looking<T>(body: impl FnOnce() -> nix::Result<T>) -> nix::Result<T> {
    let errno = |_| Errno::EPERM;
    let resting = capabilities().map_err(errno)?;
    let mut raised = resting;
    raised[0].effective |= PTRACE;
    set_capabilities(&raised).map_err(errno)?;
    let result = body();
    if set_capabilities(&resting).is_err() {
        // A thread that cannot give the right back must do nothing more.
        std::process::abort();
    }
    result
}

/// Ends this process and all its threads at once.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: _exit ends the process; nothing of ours has to run any more.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use nix::sched::CloneFlags;
    use nix::sys::signal::{Signal, kill};
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    use nix::unistd::pause;

    use super::*;
    use crate::sys::{fork_into, gain_nothing, reap_process};

    #[test]
    fn a_listener_without_callers_is_abandoned() {
        let pass = libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: libc::SECCOMP_RET_ALLOW,
        };
        let (family, kind) = (AddressFamily::Unix, SockType::SeqPacket);
        let (sender, receiver) = socketpair(family, kind, None, SockFlag::SOCK_CLOEXEC).unwrap();
        let caller = || {
            let listened = gain_nothing().and_then(|()| listen(&[pass]));
            if listened.and_then(|listener| pass_on(&sender, &listener, 0)).is_err() {
                return 1;
            }
            loop {
                pause();
            }
        };
        let (pid, process) = fork_into(CloneFlags::empty(), caller).unwrap();
        drop(sender);
        let listener = passed_on(&receiver).unwrap().unwrap();
        assert!(!is_abandoned(listener.as_fd()));
        kill(pid, Signal::SIGKILL).unwrap();
        reap_process(&process).unwrap();
        assert_eq!(next(listener.as_fd()).unwrap_err(), Errno::ENOENT);
        assert!(is_abandoned(listener.as_fd()));
    }
}
