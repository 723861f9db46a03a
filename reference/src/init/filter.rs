//! The seccomp filter: it closes what namespaces and dropped capabilities leave open.

use std::io;

pub(super) use seccompiler::BpfProgram as Filter;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Calls that reach state no namespace separates: kernel keyrings, and rings whose operations
/// bypass every later filter.
const CLOSED_CALLS: [i64; 6] = [
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Terminal requests that put bytes into the terminal's input (TIOCSTI; TIOCLINUX pastes).
const CLOSED_REQUESTS: [u64; 2] = [0x5412, 0x541C];

/// Prepares the filter for a command in namespaces of its own.
pub(super) fn prepare() -> io::Result<Filter> {
    program(SocketFamilies::ButVsock, GuardedLimits::Init).map_err(io::Error::other)
}

/// Prepares the filter for a command among the host's processes. One that is `offline` has no network
/// although it is on the host's: of all sockets it can make unix ones only.
pub(super) fn prepare_shared(offline: bool) -> io::Result<Filter> {
    let sockets = if offline { SocketFamilies::UnixAlone } else { SocketFamilies::ButVsock };
    program(sockets, GuardedLimits::Others).map_err(io::Error::other)
}

/// The socket families that can be created.
#[derive(Clone, Copy)]
enum SocketFamilies {
    /// All but the one that leads to the hypervisor past every network namespace.
    ButVsock,
    /// Only the unix family.
    UnixAlone,
}

impl SocketFamilies {
    /// The families that are refused, as a condition on the family.
    fn refused(self) -> Result<SeccompRule, seccompiler::BackendError> {
        let (operator, family) = match self {
            Self::ButVsock => (SeccompCmpOp::Eq, libc::AF_VSOCK),
            Self::UnixAlone => (SeccompCmpOp::Ne, libc::AF_UNIX),
        };
        // The kernel reads an int.
        let width = match fault!("mechanism.vsock-high-bits") {
            true => SeccompCmpArgLen::Qword,
            false => SeccompCmpArgLen::Dword,
        };
        SeccompRule::new(vec![SeccompCondition::new(0, width, operator, family as u64)?])
    }
}

/// The processes whose resource limits the command cannot set. With none to open, the init could not look at what
/// is refused, and a launcher not find what is left.
#[derive(Clone, Copy)]
enum GuardedLimits {
    /// The init of its own pid namespace.
    Init,
    /// All but the calling process: the launcher and the host's have numbers as its own children have.
    Others,
}

impl GuardedLimits {
    /// The limits that are refused to be set, as a condition on process and new limit.
    fn refused(self) -> Result<SeccompRule, seccompiler::BackendError> {
        let (operator, process) = match self {
            Self::Init => (SeccompCmpOp::Eq, 1),
            Self::Others => (SeccompCmpOp::Ne, 0),
        };
        SeccompRule::new(vec![
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, process)?,
            SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?,
        ])
    }
}

/// Installs the filter for this process and its descendants; sets no_new_privs.
pub(super) fn install(filter: &Filter) -> io::Result<()> {
    seccompiler::apply_filter(filter).map_err(io::Error::other)
}

fn program(
    sockets: SocketFamilies,
    limits: GuardedLimits,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> = CLOSED_CALLS
        .into_iter()
        .filter(|call| !is_open(*call))
        .map(|call| (call, Vec::new()))
        .collect();
    let requests: Result<Vec<SeccompRule>, _> =
        CLOSED_REQUESTS.into_iter().map(|number| equals(1, number)).collect();
    if !fault!("mechanism.typing") {
        rules.insert(libc::SYS_ioctl, requests?);
    }
    if !fault!("mechanism.vsock") {
        rules.insert(libc::SYS_socket, vec![sockets.refused()?]);
    }
    rules.insert(libc::SYS_prlimit64, vec![limits.refused()?]);
    if !fault!("mechanism.unshare-cgroup") {
        rules.insert(libc::SYS_unshare, vec![new_cgroup_namespace()?]);
    }
    if !fault!("mechanism.clone-cgroup") {
        rules.insert(libc::SYS_clone, vec![new_cgroup_namespace()?]);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?;
    Ok(behind_numbers(filter.try_into()?))
}

/// Returns whether a fault leaves `call` open.
fn is_open(call: i64) -> bool {
    match call {
        libc::SYS_keyctl => fault!("mechanism.keyctl"),
        libc::SYS_add_key => fault!("mechanism.add-key"),
        libc::SYS_request_key => fault!("mechanism.request-key"),
        _ => fault!("mechanism.io-uring"),
    }
}

/// Closes cgroup namespaces: with one of its own, made in a user namespace of its own, the command
/// could mount the host's control groups writable and stop or kill their processes.
fn new_cgroup_namespace() -> Result<SeccompRule, seccompiler::BackendError> {
    let flag = libc::CLONE_NEWCGROUP as u64;
    let masked = SeccompCmpOp::MaskedEq(flag);
    SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, masked, flag)?])
}

/// An argument that is this number. The kernel reads 32 bits of it, so only those are compared.
fn equals(argument: u8, number: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    let width = match fault!("mechanism.typing-high-bits") {
        true => SeccompCmpArgLen::Qword,
        false => SeccompCmpArgLen::Dword,
    };
    SeccompRule::new(vec![SeccompCondition::new(argument, width, SeccompCmpOp::Eq, number)?])
}

/// Puts `program` behind two checks of the call's number that answer ENOSYS, as if this kernel had
/// no such call: x32 calls share the architecture mark of x86_64 but not its numbers, and the flags
/// of clone3 lie in memory, where no filter sees them (callers fall back to clone).
fn behind_numbers(program: BpfProgram) -> BpfProgram {
    let answer = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let mut whole = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (compare, number) in ABSENT {
        let is_open = match number == libc::SYS_clone3 as u32 {
            true => fault!("mechanism.clone3"),
            false => fault!("mechanism.x32-calls"),
        };
        if is_open {
            continue;
        }
        whole.push(statement(libc::BPF_JMP | compare | libc::BPF_K, number, 1));
        whole.push(statement(libc::BPF_RET | libc::BPF_K, answer, 0));
    }
    whole.extend(program);
    whole
}

/// Comparisons of the call's number that end in ENOSYS; the first is `__X32_SYSCALL_BIT`.
#[cfg(target_arch = "x86_64")]
const ABSENT: [(u32, u32); 2] =
    [(libc::BPF_JGE, 0x4000_0000), (libc::BPF_JEQ, libc::SYS_clone3 as u32)];
#[cfg(not(target_arch = "x86_64"))]
const ABSENT: [(u32, u32); 1] = [(libc::BPF_JEQ, libc::SYS_clone3 as u32)];

fn statement(code: u32, k: u32, jf: u8) -> seccompiler::sock_filter {
    seccompiler::sock_filter { code: code as u16, jt: 0, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::raw::call;
    use rstest::rstest;

    /// `KEYCTL_GET_KEYRING_ID` of the session keyring.
    const KEYCTL: (i64, [i64; 3]) = (libc::SYS_keyctl, [0, -3, 0]);

    fn ioctl(request: i64) -> (i64, [i64; 3]) {
        // Descriptor -1: past the filter the kernel answers EBADF for every request.
        (libc::SYS_ioctl, [-1, request, 0])
    }

    /// Returns the results of `(number, args)` in a thread with the filter, and without it.
    fn with_and_without(act: (i64, [i64; 3])) -> [Result<i64, i32>; 2] {
        let filtered = std::thread::spawn(move || {
            install(&prepare().unwrap()).unwrap();
            call(act.0, act.1)
        });
        [filtered.join().unwrap(), call(act.0, act.1)]
    }

    #[rstest]
    #[case::tiocsti(ioctl(0x5412), libc::EBADF)]
    #[case::high_bits_hide_nothing(ioctl(0x1_0000_5412), libc::EBADF)]
    #[case::tioclinux(ioctl(0x541C), libc::EBADF)]
    #[case::io_uring((libc::SYS_io_uring_enter, [-1, 0, 0]), libc::EBADF)]
    #[case::vsock((libc::SYS_socket, [40, 0xfff, 0]), libc::EINVAL)]
    #[case::request_key((libc::SYS_request_key, [0, 0, 0]), libc::EFAULT)]
    fn closed_calls_are_refused(#[case] act: (i64, [i64; 3]), #[case] open: i32) {
        assert_eq!(with_and_without(act), [Err(libc::EPERM), Err(open)]);
    }

    #[test]
    fn keyrings_are_closed() {
        let [with, without] = with_and_without(KEYCTL);
        assert_eq!(with, Err(libc::EPERM));
        assert_ne!(without, Err(libc::EPERM));
    }

    #[rstest]
    #[case::window_size(ioctl(0x5413), Err(libc::EBADF))]
    #[case::other_family((libc::SYS_socket, [1, 0xfff, 0]), Err(libc::EINVAL))]
    #[case::plain_call((libc::SYS_getppid, [0, 0, 0]), Ok(i64::from(std::os::unix::process::parent_id())))]
    fn everything_else_passes(#[case] act: (i64, [i64; 3]), #[case] expected: Result<i64, i32>) {
        assert_eq!(with_and_without(act), [expected, expected]);
    }

    /// Flags that no kernel takes together, so that nothing is made where they get through.
    #[rstest]
    #[case::unshare(libc::SYS_unshare, libc::CLONE_NEWCGROUP | 1)]
    #[case::clone(libc::SYS_clone, libc::CLONE_NEWCGROUP | libc::CLONE_NEWUSER | libc::CLONE_FS)]
    fn cgroup_namespaces_are_refused(#[case] number: i64, #[case] flags: i32) {
        let act = |flags: i32| (number, [i64::from(flags), 0, 0]);
        assert_eq!(with_and_without(act(flags)), [Err(libc::EPERM), Err(libc::EINVAL)]);
        let other = act(flags & !libc::CLONE_NEWCGROUP | libc::CLONE_NEWNS | libc::CLONE_FS);
        assert_eq!(with_and_without(other), [Err(libc::EINVAL), Err(libc::EINVAL)]);
    }

    /// The address 8 holds no limit: past the filter, and before any permission, the kernel answers EFAULT.
    #[rstest]
    #[case::init(1, [Err(libc::EPERM), Err(libc::EPERM)])]
    #[case::init_with_high_bits(0x1_0000_0001, [Err(libc::EPERM), Err(libc::EPERM)])]
    #[case::other_process(2, [Err(libc::EFAULT), Err(libc::EPERM)])]
    #[case::itself(0, [Err(libc::EFAULT), Err(libc::EFAULT)])]
    fn limits_of_others_are_not_set(#[case] process: i64, #[case] expected: [Result<i64, i32>; 2]) {
        let filtered = [prepare(), prepare_shared(false)].map(|filter| {
            let act = move || {
                install(&filter.unwrap()).unwrap();
                call(libc::SYS_prlimit64, [process, i64::from(libc::RLIMIT_NOFILE), 8])
            };
            std::thread::spawn(act).join().unwrap()
        });
        assert_eq!(filtered, expected);
    }

    #[test]
    fn limits_of_others_can_be_read() {
        let own = i64::from(std::process::id());
        let act = move || {
            install(&prepare_shared(false).unwrap()).unwrap();
            call(libc::SYS_prlimit64, [own, i64::from(libc::RLIMIT_NOFILE), 0])
        };
        // Past the filter: the kernel may take offence at where the old limit goes.
        assert_ne!(std::thread::spawn(act).join().unwrap(), Err(libc::EPERM));
    }

    #[rstest]
    #[case::inet(2, Err(libc::EPERM))]
    #[case::inet6(10, Err(libc::EPERM))]
    #[case::netlink(16, Err(libc::EPERM))]
    #[case::packet(17, Err(libc::EPERM))]
    #[case::high_bits_hide_nothing(0x1_0000_0002, Err(libc::EPERM))]
    #[case::unix(1, Err(libc::EINVAL))]
    fn offline_there_are_unix_sockets_alone(
        #[case] family: i64,
        #[case] expected: Result<i64, i32>,
    ) {
        let filtered = std::thread::spawn(move || {
            install(&prepare_shared(true).unwrap()).unwrap();
            call(libc::SYS_socket, [family, 0xfff, 0])
        });
        assert_eq!(filtered.join().unwrap(), expected);
    }

    #[test]
    fn clone3_is_absent() {
        let act = (libc::SYS_clone3, [0, 0, 0]);
        assert_eq!(with_and_without(act), [Err(libc::ENOSYS), Err(libc::EINVAL)]);
    }

    /// The kernel's own answer is the same where it has no x32, so the program itself is checked.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn x32_numbers_are_turned_away_first() {
        let program = program(SocketFamilies::ButVsock, GuardedLimits::Init).unwrap();
        let first: Vec<_> = program[..3].iter().map(|step| (step.code, step.jf, step.k)).collect();
        let answer = 0x0005_0000 | libc::ENOSYS as u32;
        assert_eq!(first, [(0x20, 0, 0), (0x35, 1, 0x4000_0000), (0x06, 0, answer)]);
    }
}
