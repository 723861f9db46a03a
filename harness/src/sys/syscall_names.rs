//! Names of system calls ([`call_name`]).

/// Makes the table of a list of constants of libc, whose names are those of the calls.
macro_rules! table {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

/// The calls of every architecture.
#[rustfmt::skip]
const COMMON: &[(libc::c_long, &str)] = table! {
    SYS_accept SYS_accept4 SYS_bind SYS_brk SYS_capget SYS_capset SYS_chdir SYS_chroot
    SYS_clock_gettime SYS_clock_nanosleep SYS_clone SYS_clone3 SYS_close SYS_close_range
    SYS_connect SYS_copy_file_range SYS_dup SYS_dup3 SYS_epoll_create1 SYS_epoll_ctl
    SYS_epoll_pwait SYS_eventfd2 SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_faccessat
    SYS_faccessat2 SYS_fadvise64 SYS_fchdir SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat
    SYS_fcntl SYS_fdatasync SYS_flock SYS_fsconfig SYS_fsmount SYS_fsopen SYS_fspick SYS_fstat
    SYS_fstatfs SYS_fsync SYS_ftruncate SYS_futex SYS_getcwd SYS_getdents64 SYS_getegid
    SYS_geteuid SYS_getgid SYS_getgroups SYS_getpeername SYS_getpgid SYS_getpid SYS_getppid
    SYS_getpriority SYS_getrandom SYS_getresgid SYS_getresuid SYS_getrusage SYS_getsid
    SYS_getsockname SYS_getsockopt SYS_gettid SYS_gettimeofday SYS_getuid SYS_inotify_add_watch
    SYS_inotify_init1 SYS_ioctl SYS_kcmp SYS_keyctl SYS_kill SYS_landlock_add_rule
    SYS_landlock_create_ruleset SYS_landlock_restrict_self SYS_linkat SYS_listen SYS_lseek
    SYS_lsetxattr SYS_madvise SYS_membarrier SYS_memfd_create SYS_mkdirat SYS_mknodat SYS_mlock
    SYS_mmap SYS_mount SYS_mount_setattr SYS_move_mount SYS_mprotect SYS_mremap SYS_munmap
    SYS_name_to_handle_at SYS_nanosleep SYS_newfstatat SYS_open_tree SYS_openat SYS_openat2
    SYS_personality SYS_pidfd_getfd SYS_pidfd_open SYS_pidfd_send_signal SYS_pipe2
    SYS_pivot_root SYS_ppoll SYS_prctl SYS_pread64 SYS_preadv SYS_prlimit64 SYS_pselect6
    SYS_ptrace SYS_pwrite64 SYS_pwritev SYS_read SYS_readahead SYS_readlinkat SYS_readv
    SYS_recvfrom SYS_recvmmsg SYS_recvmsg SYS_renameat2 SYS_rseq SYS_rt_sigaction
    SYS_rt_sigpending SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigsuspend SYS_rt_sigtimedwait
    SYS_sched_getaffinity SYS_sched_setaffinity SYS_sched_setscheduler SYS_sched_yield
    SYS_seccomp SYS_sendfile SYS_sendmmsg SYS_sendmsg SYS_sendto SYS_set_robust_list
    SYS_set_tid_address SYS_setdomainname SYS_setfsgid SYS_setfsuid SYS_setgid SYS_setgroups
    SYS_sethostname SYS_setitimer SYS_setns SYS_setpgid SYS_setpriority SYS_setresgid
    SYS_setresuid SYS_setsid SYS_setsockopt SYS_setuid SYS_shutdown SYS_sigaltstack
    SYS_signalfd4 SYS_socket SYS_socketpair SYS_splice SYS_statfs SYS_statx SYS_symlinkat
    SYS_sync SYS_sysinfo SYS_tee SYS_tgkill SYS_timer_create SYS_timer_delete SYS_timer_settime
    SYS_timerfd_create SYS_timerfd_gettime SYS_timerfd_settime SYS_times SYS_tkill SYS_truncate
    SYS_umask SYS_umount2 SYS_uname SYS_unlinkat SYS_unshare SYS_utimensat SYS_wait4 SYS_waitid
    SYS_write SYS_writev
};

/// The calls that newer architectures lack.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const FORMER: &[(libc::c_long, &str)] = table! {
    SYS_access SYS_alarm SYS_arch_prctl SYS_chmod SYS_chown SYS_creat SYS_dup2 SYS_epoll_create
    SYS_epoll_wait SYS_eventfd SYS_fork SYS_getdents SYS_getpgrp SYS_inotify_init SYS_lchown
    SYS_link SYS_lstat SYS_mkdir SYS_mknod SYS_open SYS_pause SYS_pipe SYS_poll SYS_readlink
    SYS_rename SYS_rmdir SYS_select SYS_stat SYS_symlink SYS_time SYS_unlink SYS_utime
    SYS_utimes SYS_vfork
};
#[cfg(not(target_arch = "x86_64"))]
const FORMER: &[(libc::c_long, &str)] = &[];

/// Returns the name of the system call `number`, or the number where it is in no table.
pub(crate) fn call_name(number: u64) -> String {
    let named = |(own, _): &&(libc::c_long, &str)| u64::try_from(*own) == Ok(number);
    let found = COMMON.iter().chain(FORMER).find(named);
    found.map_or_else(|| format!("call {number}"), |(_, name)| name.replacen("SYS_", "", 1))
}
