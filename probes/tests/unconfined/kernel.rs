//! Kernel surface: the probe's observations match the kernel's answers to this process.

use rstest::rstest;

use crate::support::{Call, Ran, is_root, number, probe};
use crate::sys;

/// Compares with a call of our own: both succeeded, or both were refused with the same errno.
fn agrees<T>(ran: &Ran, truth: &nix::Result<T>, call: &str) {
    match truth {
        Ok(_) => drop(ran.succeeded()),
        Err(errno) => ran.refused(&format!("{errno:?}"), call),
    }
}

#[test]
fn sysctl_same_writes_back_what_it_read() {
    // A setting of the network namespace, which is the probe's own.
    let ours = "/proc/sys/net/ipv4/ip_default_ttl";
    sys::private(probe("sysctl-same").path(ours)).run().succeeded();
    probe("sysctl-same")
        .ordinary()
        .path("/proc/sys/kernel/hostname")
        .run()
        .refused("EACCES", "openat");
}

#[test]
fn io_uring_setup_agrees_with_ours() {
    agrees(&probe("io-uring-setup").run(), &sys::io_uring(), "io_uring_setup");
}

#[test]
fn personality_agrees_with_ours() {
    let detail = probe("personality").run().succeeded();
    assert_eq!(number(&detail, "value"), sys::personality());
}

#[test]
fn keyrings_agree_with_ours() {
    let ours = sys::session_keyring();
    let asked = probe("keyctl-get").run();
    agrees(&asked, &ours, "keyctl");
    let joined = probe("keyctl-join").run();
    agrees(&joined, &ours, "keyctl");
    if let Ok(serial) = ours {
        assert_eq!(number(&asked.succeeded(), "serial"), serial);
        assert_ne!(number(&joined.succeeded(), "serial"), serial);
    }
}

#[test]
fn sysv_shm_attaches_to_what_exists() {
    let key = 0x0b0e_0000 | (std::process::id() & 0xffff).cast_signed();
    let attach = || probe("sysv-shm").arg("key", key.to_string()).run();
    attach().refused("ENOENT", "shmget");
    let segment = sys::Segment::new(key);
    attach().succeeded();
    drop(segment);
    attach().refused("ENOENT", "shmget");
}

#[test]
fn unshare_user_agrees_with_the_host() {
    // The call runs in a child, since it can't be taken back.
    let truth = sys::before_exec(probe("cwd"), || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER)
    });
    let mut truth = truth.command;
    let errno = truth.output().err().and_then(|error| error.raw_os_error());
    let truth = errno.map_or(Ok(()), |errno| Err(nix::errno::Errno::from_raw(errno)));
    agrees(&probe("unshare-user").run(), &truth, "unshare");
}

#[test]
fn calls_that_must_not_succeed_say_whether_they_were_permitted() {
    probe("reboot-invalid").ordinary().run().refused("EPERM", "reboot");
    // A kernel without modules knows no such call.
    let modules = std::path::Path::new("/proc/modules").exists();
    let answer = |errno: &'static str| if modules { errno } else { "ENOSYS" };
    let ordinary = probe("init-module-empty").ordinary().run();
    ordinary.refused(answer("EPERM"), "init_module");
    if is_root() {
        probe("reboot-invalid").run().refused("EINVAL", "reboot");
        probe("init-module-empty").run().refused(answer("ENOEXEC"), "init_module");
    }
}

#[rstest]
#[case::bpf(probe("bpf-map"), libc::SYS_bpf, "bpf")]
#[case::perf(probe("perf-event"), libc::SYS_perf_event_open, "perf_event_open")]
#[case::faults(probe("userfaultfd"), libc::SYS_userfaultfd, "userfaultfd")]
fn root_gets_what_the_kernel_has(
    #[case] call: Call,
    #[case] number: libc::c_long,
    #[case] name: &str,
) {
    // Called with nothing at all, a call that exists finds fault with something else.
    match (is_root(), sys::bare(number)) {
        (true, Err(nix::errno::Errno::ENOSYS)) => call.run().refused("ENOSYS", name),
        (true, _) => drop(call.run().succeeded()),
        (false, _) => {
            let action = sys::fail(nix::errno::Errno::EXFULL);
            let rule = sys::Rule { call: number, only: None, action };
            sys::filtered(call, rule).run().refused("EXFULL", name);
        }
    }
}

#[test]
fn a_key_is_added_where_it_goes_with_the_process() {
    let name = crate::support::fresh();
    match sys::session_keyring() {
        Err(errno) if errno != nix::errno::Errno::ENOKEY => {
            probe("keyctl-add").arg("name", &name).run().refused(&format!("{errno:?}"), "add_key");
        }
        _ => {
            let detail = probe("keyctl-add").arg("name", &name).run().succeeded();
            assert_ne!(number(&detail, "serial"), 0);
            let gone = probe("keyctl-request").arg("name", &name).run();
            gone.refused("ENOKEY", "request_key");
        }
    }
}
