//! The control of an act runs without a sandbox: names below the host's temporary directories would
//! be the host's own.

use super::{LintFinding, finding};
use crate::case::{Case, Control};

/// The directories in which every program of the host may have something.
const SHARED: [&str; 3] = ["/tmp/", "/var/tmp/", "/dev/shm/"];

/// Checks that an act whose control runs on the host names nothing in a shared directory that another
/// program may have made, or that would be left there.
pub(super) fn host_paths(case: &Case) -> Option<LintFinding> {
    if case.control != Control::Host || case.question().is_some() || case.channel().is_some() {
        return None;
    }
    let acts = case.steps.iter().flat_map(|step| step.act.strings());
    let scripts = case.fixture.values().flat_map(|entry| entry.strings());
    let path = acts.chain(scripts).find_map(shared_name)?;
    let message = format!(
        "{}: without a sandbox `{path}` is the host's: name it by $TMPDIR or $NONCE, or make it by mktemp",
        case.id
    );
    Some(finding(&case.file, "host-path", message))
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
}
