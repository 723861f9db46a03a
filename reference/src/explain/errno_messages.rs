//! The phrases of a refusal: the message of each errno ([`RefusalClass`]) in the languages of the C
//! library, as interpreters spell it, and as name resolvers do.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// A family of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalClass {
    /// EROFS: only ever an answer to a change.
    ReadOnly,
    /// EACCES.
    Access,
    /// EPERM.
    Permission,
    /// EBUSY: something is mounted there.
    Busy,
    /// EXDEV.
    CrossDevice,
    /// No route to a network, or to a name server.
    Network,
    /// A program cannot gain privileges.
    Privileges,
    /// ENOENT: most of the time there is nothing indeed.
    Missing,
}

/// The messages of the GNU C library's catalogues, one a line: errno, tab, text in lower case.
const TRANSLATED: &str = include_str!("phrases.tsv");

/// Phrases in English and in code, for all libraries and languages.
const PLAIN: &[(RefusalClass, &[&str])] = &[
    (
        RefusalClass::ReadOnly,
        &["read-only file system", "read-only filesystem", "readonlyfilesystem"],
    ),
    (
        RefusalClass::Access,
        &[
            "permission denied",
            "permissiondenied",
            "accessdeniedexception",
            "insufficient permission for adding an object to repository database",
        ],
    ),
    (RefusalClass::Permission, &["operation not permitted"]),
    (RefusalClass::Busy, &["device or resource busy", "resource busy", "resource busy or locked"]),
    // The shorter one is dash's.
    (
        RefusalClass::Missing,
        &[
            "no such file or directory",
            "no such file",
            "directory nonexistent",
            "not a directory",
            "can't cd to",
            ": not found",
            "(37) couldn't open file",
            "nosuchfileexception",
        ],
    ),
    (RefusalClass::CrossDevice, &["invalid cross-device link", "cross-device link"]),
    (
        RefusalClass::Network,
        &[
            "network is unreachable",
            "network unreachable",
            "no route to host",
            "host is unreachable",
            "could not resolve host",
            "couldn't resolve host",
            "unable to resolve host",
            "could not resolve proxy",
            "couldn't connect to server",
            "could not resolve hostname",
            "name or service not known",
            "temporary failure in name resolution",
            "nodename nor servname provided",
            "name does not resolve",
            "no such host",
            "failed to lookup address information",
            "getaddrinfo failed",
            "temporary failure resolving",
            "failed to resolve host",
            "bad address '",
            "no address associated with hostname",
            "hostname lookup failed",
            "ping: unknown host",
            "unknown host: ",
            "name resolution failure",
            "unknownhostexception",
        ],
    ),
    (
        RefusalClass::Privileges,
        &["the \"no new privileges\" flag is set", "effective uid is not 0, is"],
    ),
];

/// Bare names of errnos, where letters are as they are.
const NAMES: &[(RefusalClass, &str)] = &[
    (RefusalClass::ReadOnly, "EROFS"),
    (RefusalClass::Access, "EACCES"),
    (RefusalClass::Permission, "EPERM"),
    (RefusalClass::Busy, "EBUSY"),
    (RefusalClass::CrossDevice, "EXDEV"),
    (RefusalClass::Missing, "ENOENT"),
    (RefusalClass::Network, "ENETUNREACH"),
    (RefusalClass::Network, "EHOSTUNREACH"),
    (RefusalClass::Network, "EAI_AGAIN"),
    (RefusalClass::Network, "ENOTFOUND"),
];

/// The messages with their classes by first letter, the longest of a letter first.
///
/// No regular expression: one of these messages takes 7 ms to compile, which every run that is
/// refused something would pay.
type ErrnoMessages = HashMap<char, Vec<(&'static str, RefusalClass)>>;

static MESSAGES: LazyLock<ErrnoMessages> = LazyLock::new(|| {
    let translated = TRANSLATED.lines().filter_map(|line| {
        let (name, text) = line.split_once('\t')?;
        Some((text, named(name)?))
    });
    let plain =
        PLAIN.iter().flat_map(|(class, texts)| texts.iter().map(move |text| (*text, *class)));
    let mut messages = ErrnoMessages::new();
    for (text, class) in translated.chain(plain) {
        if let Some(first) = text.chars().next() {
            messages.entry(first).or_default().push((text, class));
        }
    }
    for of_letter in messages.values_mut() {
        of_letter.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }
    messages
});

fn named(name: &str) -> Option<RefusalClass> {
    match name {
        "EAI" => Some(RefusalClass::Network),
        name => NAMES.iter().find(|(_, known)| *known == name).map(|(class, _)| *class),
    }
}

/// Messages of programs that give one reason, or none, for every failure to use a file.
const UNREASONED: [&str; 13] = [
    "unable to access jarfile",
    "cannot find or open",
    "not a git repository:",
    "does not appear to be a git repository",
    "does not exist",
    "file not found:",
    "cannot find module",
    "could not access",
    "failed to load external entity",
    " is unavailable",
    "bad file descriptor",
    "no match:",
    "no matches found:",
];

/// Finds the message in `line` that a file could not be used, without a reason, and its position.
pub(super) fn unreasoned(line: &str) -> Option<(RefusalClass, Range<usize>)> {
    let line = line.to_ascii_lowercase();
    let at = |text: &&str| line.find(text).map(|at| at..at + text.len());
    UNREASONED.iter().find_map(at).map(|range| (RefusalClass::Missing, range))
}

/// Finds the first refusal that `line` reports, and its position.
pub(super) fn find(line: &str) -> Option<(RefusalClass, Range<usize>)> {
    match (find_message(line), find_name(line)) {
        (Some(text), Some(name)) if name.1.start < text.1.start => Some(name),
        (text, name) => text.or(name),
    }
}

/// Finds the first message in any case; of two that start there, the longest.
fn find_message(line: &str) -> Option<(RefusalClass, Range<usize>)> {
    let lower: Vec<(usize, char)> = line
        .char_indices()
        .flat_map(|(at, letter)| letter.to_lowercase().map(move |lower| (at, lower)))
        .collect();
    (0..lower.len()).find_map(|start| {
        let of_letter = MESSAGES.get(&lower[start].1)?;
        let (class, end) = of_letter.iter().find_map(|(text, class)| {
            let mut rest = lower[start..].iter();
            let mut next_is = |wanted| rest.next().is_some_and(|(_, found)| *found == wanted);
            let starts = text.chars().all(&mut next_is);
            starts.then(|| (*class, rest.next().map_or(line.len(), |(at, _)| *at)))
        })?;
        Some((class, lower[start].0..end))
    })
}

/// Finds the first errno that stands by its bare name, as a word.
fn find_name(line: &str) -> Option<(RefusalClass, Range<usize>)> {
    let in_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words = NAMES.iter().filter_map(|(class, name)| {
        line.match_indices(name).map(|(at, _)| at..at + name.len()).find_map(|range| {
            let joined =
                line[..range.start].ends_with(in_word) || line[range.end..].starts_with(in_word);
            (!joined).then_some((*class, range))
        })
    });
    words.min_by_key(|(_, range)| range.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("touch: '/x': Das Dateisystem ist nur lesbar", Some(RefusalClass::ReadOnly))]
    #[case("bash: /x: Permission non accordée", Some(RefusalClass::Access))]
    #[case("Error: EROFS: read-only file system, open '/x'", Some(RefusalClass::ReadOnly))]
    #[case("mv: cannot move 'a': Device or resource busy", Some(RefusalClass::Busy))]
    #[case("getaddrinfo ENOTFOUND example.com", Some(RefusalClass::Network))]
    #[case("curl: (6) Could not resolve host: x", Some(RefusalClass::Network))]
    #[case("AEROFSX: nothing", None)]
    #[case("cat: /x: No such file or directory", Some(RefusalClass::Missing))]
    #[case("dash: 1: cannot open /x: No such file", Some(RefusalClass::Missing))]
    #[case("cat: /x: Datei oder Verzeichnis nicht gefunden", Some(RefusalClass::Missing))]
    #[case("cat: /x: Not a directory", Some(RefusalClass::Missing))]
    #[case("connection refused", None)]
    #[case("xEROFS EROFS_ EACCES", Some(RefusalClass::Access))]
    #[case("EACCES, then: permission denied: EPERM", Some(RefusalClass::Access))]
    #[case("ÖÄ: CAN'T CD TO /x", Some(RefusalClass::Missing))]
    fn lines_have_a_class(#[case] line: &str, #[case] class: Option<RefusalClass>) {
        assert_eq!(find(line).map(|found| found.0), class);
    }

    #[test]
    fn the_position_is_that_of_the_longest_message() {
        let line = "ß İ: Resource BUSY or LOCKED: x";
        let found = find(line).map(|(_, range)| &line[range]);
        assert_eq!(found, Some("Resource BUSY or LOCKED"));
    }

    #[test]
    fn every_line_of_the_catalogues_is_known() {
        for line in TRANSLATED.lines() {
            let (name, text) = line.split_once('\t').unwrap();
            assert_eq!(find(text).map(|found| found.0), named(name), "{line}");
        }
    }
}
