//! The check of nested hosts: files of its own in `/run` and `/etc`, and mounts within the
//! directories that every arm has for itself.

use super::{FieldFault, fixture};
use crate::case::{Case, EntryKind, FixtureEntry, HostFact, Nested};

/// Directories of a host that a case can add to.
const ADDED_TO: [&str; 2] = ["/run/", "/etc/"];

/// Everything that such a host has to keep to.
pub(super) fn check(case: &Case) -> Result<(), FieldFault> {
    let Some(nested) = &case.launcher.nested else { return Ok(()) };
    let found = facts(case, nested)
        .or_else(|| nested.files.iter().find_map(|(path, entry)| file(path, entry)))
        .or_else(|| mounts(nested));
    found.map_or(Ok(()), |why| Err(("launcher", why)))
}

fn facts(case: &Case, nested: &Nested) -> Option<String> {
    let built = !nested.files.is_empty() || !nested.mounts.is_empty() || nested.chroot;
    if built && !case.host.contains(&HostFact::Userns) {
        return Some(
            "a host with files or mounts of its own needs a fact: `host: [userns]`".into(),
        );
    }
    let names = nested.files.keys().any(|path| path.starts_with("/etc/"));
    let both = names && !case.launcher.hosts.is_empty();
    both.then(|| "`hosts` and files in /etc would hide each other: use one of them".into())
}

fn file(path: &str, entry: &FixtureEntry) -> Option<String> {
    let below = ADDED_TO.iter().find_map(|directory| path.strip_prefix(directory));
    let names = |rest: &str| rest.split('/').all(|name| !["", ".", ".."].contains(&name));
    if !below.is_some_and(names) {
        return Some(format!("{path}: such a file lies below {}", ADDED_TO.join(" or ")));
    }
    let plain = matches!(entry.kind, EntryKind::File(_) | EntryKind::Dir | EntryKind::Link(_));
    if !plain || entry.becomes_another() {
        return Some(format!("{path}: a host's own is a text, {{file}}, {{dir}} or {{link}}"));
    }
    None
}

fn mounts(nested: &Nested) -> Option<String> {
    let places = nested.mounts.iter().flat_map(|(place, mount)| [place, &mount.bind]);
    places.into_iter().find_map(|path: &String| fixture::outside(path))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use rstest::rstest;

    use crate::suite::Suite;

    fn errors(nested: &str, more: &str) -> String {
        let text = format!(
            "purpose: Works.\nrequirement: R-x\nlauncher: {{nested: {nested}{more}\n\
             act: {{sh: 'true'}}\nexpect: {{allowed: {{}}}}\n"
        );
        let requirement = "R-x: {text: It works., source: a test}\n".to_owned();
        let suite = Suite::from_files(
            "test",
            BTreeMap::from([(PathBuf::from("host/case.yaml"), text)]),
            &BTreeMap::from([(PathBuf::from("r.yaml"), requirement)]),
        );
        suite.err().map(|errors| errors[0].to_string()).unwrap_or_default()
    }

    #[rstest]
    #[case("{files: {/run/x: y}}", "}", "`host: [userns]`")]
    #[case("{chroot: true}", "}", "`host: [userns]`")]
    #[case("{files: {/usr/x: y}}", "}\nhost: [userns]", "/usr/x: such a file lies below /run/")]
    #[case("{files: {/run/../etc: y}}", "}\nhost: [userns]", "lies below /run/")]
    #[case("{files: {/run/x: {git: {}}}}", "}\nhost: [userns]", "is a text, {file}")]
    #[case("{files: {/run/x: {file: y, mode: '4755'}}}", "}\nhost: [userns, root]", "is a text")]
    #[case("{mounts: {/mnt: {bind: $OUT/d}}}", "}\nhost: [userns]", "/mnt lies outside")]
    #[case("{mounts: {d: {bind: /usr}}}", "}\nhost: [userns]", "/usr lies outside")]
    #[case(
        "{files: {/etc/x: y}}",
        ", hosts: {a.test: 127.0.0.1}}\nhost: [userns, netns]",
        "hide each other"
    )]
    #[case("{mounts: {d: {bind: $UNKNOWN}}}", "}\nhost: [userns]", "unknown variable $UNKNOWN")]
    fn what_such_a_host_cannot_have_is_refused(
        #[case] nested: &str,
        #[case] more: &str,
        #[case] message: &str,
    ) {
        let error = errors(nested, more);
        assert!(error.contains(message) && error.contains("case.yaml:"), "{error}");
    }

    #[rstest]
    #[case("{without: [user]}", "}")]
    #[case("{files: {/run/a/b: {link: $OUT/d}, /etc/x: y}}", "}\nhost: [userns]")]
    #[case("{mounts: {d: {bind: $OUT/d}}, chroot: true}", "}\nhost: [userns]")]
    fn what_it_can_have_loads(#[case] nested: &str, #[case] more: &str) {
        assert_eq!(errors(nested, more), "");
    }
}
