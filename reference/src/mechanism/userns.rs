//! The reasons for which this host refuses user namespaces, and the remedy of each.

/// Kernel switches that forbid namespaces: name, refusing value, remedy.
const SWITCHES: [(&str, &str, &str); 9] = [
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user.max_user_namespaces", "0", "15000"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_mnt_namespaces", "0", "15000"),
    ("user.max_pid_namespaces", "0", "15000"),
    ("user.max_net_namespaces", "0", "15000"),
    ("user.max_ipc_namespaces", "0", "15000"),
    ("user.max_uts_namespaces", "0", "15000"),
    ("user.max_cgroup_namespaces", "0", "15000"),
];

/// The reason why a private `/proc` is refused, and the remedy.
pub(super) const MASKED_PROC: &str = "a container that masks parts of /proc forbids a fresh one; \
    run it outside, or unmask /proc there";

/// Names the switches that refuse here, with the remedy.
pub(super) fn remedy() -> String {
    refusing_switches(&|name| std::fs::read_to_string(name).ok())
}

/// Names the kernel switches that forbid user namespaces, with the remedy.
fn refusing_switches(read: &dyn Fn(&str) -> Option<String>) -> String {
    let refusing = SWITCHES.iter().filter(|(name, refusing, _)| {
        let value = read(&format!("/proc/sys/{}", name.replace('.', "/")));
        value.is_some_and(|value| value.trim() == *refusing)
    });
    let remedies: Vec<String> =
        refusing.map(|(name, _, remedy)| format!("run `sysctl -w {name}={remedy}`")).collect();
    match remedies.is_empty() {
        true => "allow them for this program, run it outside the container, or ask for the mechanism landlock, which holds less".to_owned(),
        false => format!(
            "{}, or ask for the mechanism landlock, which holds less",
            remedies.join(" and ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(
        "kernel/apparmor_restrict_unprivileged_userns",
        "1\n",
        "run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
    )]
    #[case("user/max_user_namespaces", "0\n", "run `sysctl -w user.max_user_namespaces=15000`")]
    #[case(
        "kernel/unprivileged_userns_clone",
        "0\n",
        "run `sysctl -w kernel.unprivileged_userns_clone=1`"
    )]
    #[case(
        "user/max_user_namespaces",
        "15000\n",
        "allow them for this program, run it outside the container"
    )]
    fn the_refusing_switch_is_named(#[case] file: &str, #[case] value: &str, #[case] remedy: &str) {
        let read = |name: &str| (name == format!("/proc/sys/{file}")).then(|| value.to_owned());
        let said = refusing_switches(&read);
        assert_eq!(said, format!("{remedy}, or ask for the mechanism landlock, which holds less"));
    }
}
