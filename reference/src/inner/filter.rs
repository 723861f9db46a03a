//! The seccomp filter: what namespaces and dropped capabilities leave open.

use std::io;

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

/// Installs the filter for this process and its descendants; sets no_new_privs.
pub(super) fn install() -> io::Result<()> {
    let program = program().map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
        CLOSED_CALLS.into_iter().map(|call| (call, Vec::new())).collect();
    let requests: Result<Vec<SeccompRule>, _> = CLOSED_REQUESTS.into_iter().map(request).collect();
    rules.insert(libc::SYS_ioctl, requests?);
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?;
    Ok(with_x32_closed(filter.try_into()?))
}

/// The kernel reads 32 bits of the request, so only those are compared.
fn request(number: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    let width = SeccompCmpArgLen::Dword;
    SeccompRule::new(vec![SeccompCondition::new(1, width, SeccompCmpOp::Eq, number)?])
}

/// x32 calls share the architecture mark of x86_64 but not its numbers: all answer ENOSYS.
#[cfg(target_arch = "x86_64")]
fn with_x32_closed(program: BpfProgram) -> BpfProgram {
    /// `__X32_SYSCALL_BIT`.
    const X32: u32 = 0x4000_0000;
    let statement =
        |code: u32, k: u32, jf: u8| seccompiler::sock_filter { code: code as u16, jt: 0, jf, k };
    let answer = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let mut whole = vec![
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, X32, 1),
        statement(libc::BPF_RET | libc::BPF_K, answer, 0),
    ];
    whole.extend(program);
    whole
}

#[cfg(not(target_arch = "x86_64"))]
fn with_x32_closed(program: BpfProgram) -> BpfProgram {
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_for_this_machine() {
        let program = program().unwrap();
        // One comparison at least for each closed call and request.
        assert!(program.len() > CLOSED_CALLS.len() + CLOSED_REQUESTS.len(), "{}", program.len());
    }
}
