//! The control of an act runs without a sandbox: names below the host's temporary directories, and names
//! that a probe changes outside the case's own places, would be the host's own.

use super::{LintFinding, finding};
use crate::case::{Act, Case, Control};

/// The directories in which every program of the host may have something.
const SHARED: [&str; 3] = ["/tmp/", "/var/tmp/", "/dev/shm/"];
/// The directory and the root of the act's parent, which is boxproof itself where there is no sandbox.
const OF_PARENT: [&str; 2] = ["/proc/$PPID/cwd", "/proc/$PPID/root"];
/// Probes that change what their paths name.
const CHANGING: [&str; 18] = [
    "append",
    "chmod",
    "chown",
    "copy-file-range",
    "create",
    "link",
    "mkdir",
    "mknod-device",
    "mknod-fifo",
    "mmap-write",
    "rename",
    "rmdir",
    "setxattr",
    "symlink",
    "truncate",
    "unlink",
    "utimes",
    "write",
];

/// Checks that an act whose control runs on the host names nothing in a shared directory that another
/// program may have made, or that would be left there, and changes nothing outside the case's own places.
pub(super) fn host_paths(case: &Case) -> Option<LintFinding> {
    if case.control != Control::Host || case.question().is_some() || case.channel().is_some() {
        return None;
    }
    let acts = case.steps.iter().flat_map(|step| step.act.strings());
    let scripts = case.fixture.values().flat_map(|entry| entry.strings());
    let changed = case.steps.iter().find_map(|step| changed_on_host(&step.act));
    let named = |text| shared_name(text).or_else(|| of_parent(text));
    let path = acts.chain(scripts).find_map(named).or(changed)?;
    let message = format!(
        "{}: without a sandbox `{path}` is the host's: name it by $WS, $OUT, $TMPDIR or $NONCE, or make it by mktemp",
        case.id
    );
    Some(finding(&case.file, "host-path", message))
}

/// Returns the first path that the probe of `act` changes outside the case's own places, which are all named
/// by variables. A link may point to any text; `/proc` shows the places themselves.
fn changed_on_host(act: &Act) -> Option<&str> {
    let Act::Probe { probe, args } = act else { return None };
    let names: &[&str] = if probe == "symlink" { &["path"] } else { &["path", "from", "to"] };
    let paths = names.iter().filter_map(|name| args.get(*name)).flatten();
    let is_foreign =
        |path: &&str| path.starts_with('/') && !path.contains('$') && !path.starts_with("/proc/");
    let changes = CHANGING.contains(&probe.as_str());
    paths.map(String::as_str).find(is_foreign).filter(|_| changes)
}

/// Returns the path of the act's parent in `text`, unless a shell that the act starts reads the number.
fn of_parent(text: &str) -> Option<&'static str> {
    OF_PARENT.into_iter().find(|path| text.contains(path))
}

/// Returns the first path in `text` that may be another program's: in a shared directory, neither named
/// by the nonce nor a template of mktemp(1).
fn shared_name(text: &str) -> Option<&str> {
    let begins = |(at, _): (usize, &str)| {
        let before = text[..at].chars().next_back();
        (!before.is_some_and(|c| c.is_alphanumeric() || "_}/.-*".contains(c))).then_some(at)
    };
    let starts = SHARED.iter().flat_map(|directory| text.match_indices(directory));
    let names = starts.filter_map(begins).map(|at| {
        let rest = &text[at..];
        let end = rest.find(|c: char| c.is_whitespace() || "'\"`;|&<>()\\,]}".contains(c));
        &rest[..end.unwrap_or(rest.len())]
    });
    let own = |name: &str| name.contains("$NONCE") || name.contains("XXXXXX");
    let is_entry = |name: &str| {
        !SHARED.iter().any(|directory| name == *directory || *name == format!("{directory}."))
    };
    names.filter(|name| is_entry(name)).find(|name| !own(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("echo 1 > /tmp/x; rm /tmp/x", Some("/tmp/x"))]
    #[case("p /tmp/own-$$.sock", Some("/tmp/own-$$.sock"))]
    #[case("open(\"/dev/shm/a\")", Some("/dev/shm/a"))]
    #[case("f=$(mktemp /tmp/x.XXXXXX) && rm $f", None)]
    #[case("touch /var/tmp/$NONCE", None)]
    #[case("ls -ld /tmp/. /tmp/; ls ${d}/tmp/x $OUT/tmp/x", None)]
    fn a_name_that_may_be_taken_is_found(#[case] text: &str, #[case] name: Option<&str>) {
        assert_eq!(shared_name(text), name);
    }

    #[rstest]
    #[case("mkdir /proc/$PPID/cwd/.git", Some("/proc/$PPID/cwd"))]
    #[case("sh -c \"mkdir /proc/\\$PPID/cwd/.git\"; exit $?", None)]
    #[case("cat /proc/$PPID/environ", None)]
    fn a_place_of_the_parent_is_found(#[case] text: &str, #[case] path: Option<&str>) {
        assert_eq!(of_parent(text), path);
    }

    #[rstest]
    #[case("mkdir", "path", "/boxproof-new", true)]
    #[case("rename", "to", "/etc/new", true)]
    #[case("mkdir", "path", "/run/$NONCE", false)]
    #[case("read", "path", "/etc/passwd", false)]
    #[case("write", "path", "/proc/self/cwd/f", false)]
    #[case("symlink", "to", "/etc/passwd", false)]
    #[case("write", "text", "/etc/passwd", false)]
    fn a_name_that_a_probe_changes_on_the_host_is_found(
        #[case] probe: &str,
        #[case] name: &str,
        #[case] path: &str,
        #[case] found: bool,
    ) {
        let args = [(name.to_owned(), vec![path.to_owned()])].into();
        let act = Act::Probe { probe: probe.to_owned(), args };
        assert_eq!(changed_on_host(&act), Some(path).filter(|_| found));
    }
}
