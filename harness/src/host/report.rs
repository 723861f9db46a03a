//! Facts for reports about the host: kernel, distribution, settings.

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::path::Path;

use serde_json::Value;

use crate::sys::host as sys;

/// Report key → the kernel setting below `/proc/sys` for it. Settings that a kernel lacks are left
/// out.
pub(super) const SETTINGS: &[(&str, &str)] = &[
    (APPARMOR_SWITCH, "kernel/apparmor_restrict_unprivileged_userns"),
    (CLONE_SWITCH, "kernel/unprivileged_userns_clone"),
    (MAX_SWITCH, "user/max_user_namespaces"),
    ("dev.tty.legacy_tiocsti", "dev/tty/legacy_tiocsti"),
    ("kernel.yama.ptrace_scope", "kernel/yama/ptrace_scope"),
];

/// Ubuntu's switch: 1 strips unprivileged user namespaces of their rights.
pub(super) const APPARMOR_SWITCH: &str = "kernel.apparmor_restrict_unprivileged_userns";
/// Debian's switch: 0 refuses user namespaces to all but root.
pub(super) const CLONE_SWITCH: &str = "kernel.unprivileged_userns_clone";
/// The most user namespaces that there may be; 0 refuses them to all users.
pub(super) const MAX_SWITCH: &str = "user.max_user_namespaces";

/// Files that only container engines make, and what each tells.
const CONTAINER_FILES: &[(&str, &str)] =
    &[("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];

/// Words in the first process's control group that tell of a container.
const CONTAINER_GROUPS: &[&str] = &["docker", "kubepods", "libpod", "containerd", "lxc"];

pub(super) fn collect() -> BTreeMap<String, Value> {
    let mut report = BTreeMap::new();
    let mut add = |key: &str, value: Option<Value>| {
        report.extend(value.map(|value| (key.to_owned(), value)));
    };
    add("os", Some(std::env::consts::OS.into()));
    add("arch", Some(std::env::consts::ARCH.into()));
    add("kernel", kernel().map(Value::from));
    add("distro", distro().map(Value::from));
    add("cpus", std::thread::available_parallelism().ok().map(|cpus| cpus.get().into()));
    add("lsm", line_of("/sys/kernel/security/lsm").map(Value::from));
    add("landlock", Some(sys::landlock_abi().into()));
    add("seccomp", line_of("/proc/sys/kernel/seccomp/actions_avail").map(Value::from));
    add("container", container().map(Value::from));
    add("virtualization", virtualization().map(Value::from));
    for (key, path) in SETTINGS {
        add(key, line_of(&format!("/proc/sys/{path}")).map(Value::from));
    }
    report
}

fn kernel() -> Option<String> {
    let uname = nix::sys::utsname::uname().ok()?;
    uname.release().to_str().map(str::to_owned)
}

fn distro() -> Option<String> {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    files.iter().find_map(|file| pretty_name(&read_to_string(file).ok()?))
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned())
}

fn line_of(file: &str) -> Option<String> {
    read_to_string(file).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn container() -> Option<String> {
    let by_file = CONTAINER_FILES.iter().find(|(file, _)| Path::new(file).exists());
    let by_file = by_file.map(|(_, engine)| (*engine).to_owned());
    let by_group = || container_in(&read_to_string("/proc/1/cgroup").ok()?);
    by_file.or_else(|| std::env::var("container").ok()).or_else(by_group)
}

fn container_in(cgroup: &str) -> Option<String> {
    CONTAINER_GROUPS.iter().find(|word| cgroup.contains(**word)).map(|word| (*word).to_owned())
}

/// Returns the kind of machine, where the firmware or the processor tells that it is a virtual one.
fn virtualization() -> Option<String> {
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flagged = cpuinfo.lines().any(|line| {
        line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor")
    });
    let product = || line_of("/sys/class/dmi/id/product_name");
    flagged.then(|| product().unwrap_or_else(|| "hypervisor".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("NAME=x\nPRETTY_NAME=\"Box Linux 1\"\n", Some("Box Linux 1"))]
    #[case("PRETTY_NAME=Plain", Some("Plain"))]
    #[case("NAME=x", None)]
    fn the_distribution_is_its_pretty_name(#[case] text: &str, #[case] name: Option<&str>) {
        assert_eq!(pretty_name(text).as_deref(), name);
    }

    #[rstest]
    #[case("0::/kubepods/pod1", Some("kubepods"))]
    #[case("0::/init.scope", None)]
    fn control_groups_tell_of_containers(#[case] text: &str, #[case] engine: Option<&str>) {
        assert_eq!(container_in(text).as_deref(), engine);
    }

    #[test]
    fn the_kernel_is_the_one_that_runs() {
        let report = collect();
        let kernel = report["kernel"].as_str().unwrap();
        assert!(kernel.starts_with(|c: char| c.is_ascii_digit()), "{kernel}");
        assert_eq!(report["os"], std::env::consts::OS);
    }
}
