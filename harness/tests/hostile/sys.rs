//! The seccomp filter of a row: the only unsafe code of the rows.

use std::ffi::c_long;

/// Installs a filter that answers each of `calls` with `errno`, and allows all others.
pub(crate) fn refuse(calls: &[c_long], errno: u32) {
    let step = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let give = |answer: u32| step(libc::BPF_RET | libc::BPF_K, answer, 0);
    // The number of the call is the first word of what a filter sees.
    let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for call in calls {
        let number = u32::try_from(*call).unwrap();
        steps.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number, 1));
        steps.push(give(libc::SECCOMP_RET_ERRNO | errno));
    }
    steps.push(give(libc::SECCOMP_RET_ALLOW));
    let len = u16::try_from(steps.len()).unwrap();
    let program = libc::sock_fprog { len, filter: steps.as_mut_ptr() };
    // SAFETY: takes numbers and changes only this process.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    let (mode, none) = (libc::SECCOMP_SET_MODE_FILTER, 0);
    // SAFETY: the program points to `len` steps, which outlive the call.
    let installed = unsafe { libc::syscall(libc::SYS_seccomp, mode, none, &raw const program) };
    assert_eq!(installed, 0);
}
