//! The parser of one line of a stream: the refusal that it reports, and the paths that it names.
//! Shells, languages and quotes differ; all have a phrase, and a path beside it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::errno_messages::{self, RefusalClass};

/// Paths that are longer than any system takes are none.
const LONGEST: usize = 4096;
/// The maximum number of paths that are read from one line.
const MOST: usize = 8;

/// A refusal in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusalMessage {
    pub(super) class: RefusalClass,
    /// The paths as written, the likeliest first.
    pub(super) paths: Vec<String>,
    /// The text of the line around the paths.
    pub(super) words: String,
}

/// Opening and closing quotes.
const QUOTES: [(char, char); 11] = [
    ('\'', '\''),
    ('"', '"'),
    ('`', '\''),
    ('`', '`'),
    ('‘', '’'),
    ('“', '”'),
    ('„', '“'),
    ('«', '»'),
    ('»', '«'),
    ('「', '」'),
    ('‚', '‘'),
];

static SHELL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^\S+: (?:[^:0-9/]{0,12}[0-9]+[^:0-9/]{0,6}): ?|^(?:\S*/)?zsh:[0-9]+: ?|^\S+:[0-9]+:(?:[0-9]+:)? |^\S+:[0-9]+:in [`'][^']+': ?",
    )
    .ok()
});
static VERBS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^(?:(?:cannot|can't|can not|could not|couldn't|unable to|failed to|error|while|on)\s+)*(?:create|creating|open|opening|write|writing|remove|unlink|unlinking|mkdir|rmdir|rename|link|symlink|touch|chmod|chown|lock|stat|access|read|reading|delete|make|update|truncate|cd to)(?:\s+(?:to|for|in|into|dir|directory|directory|file|lock|temporary|output|regular|new))*\s+(\S.*)$",
    )
    .ok()
});

/// Bytes of `line` that are a shell's own: its name and where it is.
pub(super) fn shell_prefix(line: &str) -> usize {
    // Bash names no line of its own where an interpreter is at fault.
    if line.contains(": bad interpreter: ")
        && let Some((shell, _)) = line.split_once(": ").filter(|(first, _)| first.ends_with("sh"))
    {
        return shell.len() + 2;
    }
    SHELL.as_ref().and_then(|shell| shell.find(line)).map_or(0, |found| found.end())
}

/// Returns the complaint in `line`, if it is one.
pub(super) fn read(line: &str) -> Option<RefusalMessage> {
    let line = line.replace('：', ": ").replace(['\u{a0}', '\u{202f}'], " ").replace(" : ", ": ");
    let line = line.trim_end();
    let (class, at) = errno_messages::find(line).or_else(|| errno_messages::unreasoned(line))?;
    let said = &line[at.clone()];
    let mut found = match ["cd to", "open file", "jarfile", "or open", "match:", "found:"]
        .iter()
        .any(|end| said.to_lowercase().ends_with(end))
    {
        // unzip goes on with the names that it tried besides.
        true => line[at.end..].split(", ").take(1).map(|name| name.trim().to_owned()).collect(),
        false => of_ruby(line).or_else(|| of_call(line)).unwrap_or_else(|| paths(line, &at)),
    };
    found.retain(|path| is_path(path));
    if let Some(name) = unquoted_for_shell(&line[..at.start]) {
        found = vec![name];
    }
    found.dedup();
    found.truncate(MOST);
    let mut words = line.to_owned();
    for path in &found {
        words = words.replace(path.as_str(), " ");
    }
    Some(RefusalMessage { class, paths: found, words: words.to_lowercase() })
}

/// Ruby's message behind the position: `FILE:LINE:in 'f': WHY @ CALL - PATH (Errno::NAME)`.
static RUBY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r" @ [[:word:]]+ - (.+?)(?: \(Errno::[[:word:]]+\))?$").ok());

/// The path of a Java exception that is about a file, and the other one of a move; or that of a call
/// in OpenSSL's list of errors.
static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"java\.nio\.file\.(?:AccessDenied|NoSuchFile)Exception: ([^:]+?)(?: -> ([^:]+))?$|:calling [[:word:]]+\((.+?)(?:, [a-z+]+)?\)$",
    )
    .ok()
});

fn of_call(line: &str) -> Option<Vec<String>> {
    let found = CALL.as_ref()?.captures(line)?;
    Some(found.iter().skip(1).flatten().map(|path| path.as_str().to_owned()).collect())
}

fn of_ruby(line: &str) -> Option<Vec<String>> {
    let named = RUBY.as_ref()?.captures(line)?.get(1)?.as_str();
    let both = named.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')?.split_once(", "));
    Some(both.map_or_else(|| vec![named.to_owned()], |(a, b)| vec![b.to_owned(), a.to_owned()]))
}

/// Returns `line` with names unquoted: a coreutils program quotes special names for a shell.
fn unquoted_for_shell(line: &str) -> Option<String> {
    let begin = line.find('\'')?;
    if !line.contains("'\\''") && !line.contains("'$'") {
        return None;
    }
    let end = line.rfind('\'').filter(|end| *end > begin)?;
    let mut name = String::new();
    let mut left = &line[begin..=end];
    while let Some(sign) = left.chars().next() {
        let special = left.strip_prefix("$'");
        let quoted = special.or_else(|| left.strip_prefix('\''));
        if let Some(rest) = quoted {
            let close = rest.find('\'')?;
            let text = &rest[..close];
            let text = match special {
                Some(_) => text.replace("\\n", "\n").replace("\\t", "\t"),
                None => text.to_owned(),
            };
            name.push_str(&text);
            left = &rest[close + 1..];
        } else {
            let escaped = left.strip_prefix('\\').and_then(|rest| rest.chars().next());
            let skipped = if escaped.is_some() { 1 } else { 0 };
            let sign = escaped.unwrap_or(sign);
            name.push(sign);
            left = &left[skipped + sign.len_utf8()..];
        }
    }
    (!name.contains(' ') || !line[begin..=end].contains("' '")).then_some(name)
}

/// Absolute or quoted paths of a line that complains of nothing itself.
pub(super) fn mentioned(line: &str) -> Vec<String> {
    let mut found: Vec<String> = quoted(line).into_iter().map(|(text, _)| text).collect();
    found.extend(bare(line));
    found.retain(|path| is_path(path) && path.contains('/'));
    found.truncate(MOST);
    found
}

fn is_path(text: &str) -> bool {
    let odd = ["://", "::", "()", "\n", "$(", "[Errno"];
    !text.is_empty()
        && text != "I/O"
        && text.len() <= LONGEST
        && !odd.iter().any(|part| text.contains(part))
        && errno_messages::find(text).is_none()
}

fn paths(line: &str, at: &Range<usize>) -> Vec<String> {
    let shell = SHELL.as_ref().and_then(|shell| shell.find(line)).map(|found| found.end());
    let start = shell.filter(|end| *end <= at.start).unwrap_or(0);
    let mut quoted = quoted(&line[start..]);
    quoted.retain(|(_, range)| range.end + start <= at.start || range.start + start >= at.end);
    // The nearest before the phrase first, then those behind it.
    let near = |range: &Range<usize>| match range.end + start <= at.start {
        true => at.start - (range.end + start),
        false => LONGEST + range.start + start - at.end,
    };
    quoted.sort_by_key(|(_, range)| near(range));
    let mut found: Vec<String> = quoted.into_iter().map(|(text, _)| text).collect();
    let program = shell.is_none();
    let mut bare = before(&line[start..at.start], program, !found.is_empty());
    bare.extend(after(&line[at.end..], shell.is_some()));
    bare.retain(|path| {
        found.is_empty() || !path.contains(['\'', '"', '`', '‘', '“', '„', '«', '»'])
    });
    for path in bare {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Texts in quotes, and where. An apostrophe inside a word opens nothing.
fn quoted(line: &str) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some((open, ch)) = line[from..].char_indices().map(|(i, c)| (i + from, c)).next() {
        let inner = open + ch.len_utf8();
        let in_word = line[..open].chars().next_back().is_some_and(char::is_alphanumeric);
        let closes = QUOTES.iter().filter(|(o, _)| *o == ch && !(in_word && ch.is_ascii()));
        let end = closes
            .filter_map(|(_, close)| Some((closing(&line[inner..], *close)? + inner, *close)))
            .min_by_key(|(end, _)| *end);
        match end {
            Some((end, close)) => {
                let after = end + close.len_utf8();
                found.push((line[inner..end].trim().to_owned(), open..after));
                from = after;
            }
            None => from = inner,
        }
    }
    found
}

/// The first letter of scripts that put no blank between a quoted name and what follows it.
const UNSPACED: char = '\u{1100}';

/// Returns the position of the closing quote: the first mark that no letter follows.
fn closing(rest: &str, close: char) -> Option<usize> {
    let marks = rest.match_indices(close).map(|(at, _)| at);
    let mut ends = marks.filter(|at| {
        let next = rest[at + close.len_utf8()..].chars().next();
        !(close.is_ascii() && next.is_some_and(|c| c.is_alphanumeric() && c < UNSPACED))
    });
    ends.next()
}

/// Paths without quotes before the phrase: in the last of the parts that colons make.
fn before(text: &str, program: bool, quoted: bool) -> Vec<String> {
    let text = text.trim_end_matches([' ', ':', '(', '-', ',', '[', '"', '\'']);
    let text = text.strip_suffix("[Errno").unwrap_or(text);
    let parts: Vec<&str> =
        text.split(": ").map(str::trim).filter(|part| !part.is_empty()).collect();
    let skipped = usize::from(program && parts.len() > 1 && !parts[0].contains(' '));
    for part in parts.iter().skip(skipped).rev() {
        let found = bare(part);
        if !found.is_empty() {
            return found;
        }
        if quoted {
            continue;
        }
        let named = VERBS.as_ref().and_then(|verbs| verbs.captures(part));
        let named = named
            .and_then(|found| found.get(1))
            .filter(|name| !["stream", "temp name"].contains(&name.as_str()));
        if let Some(name) = named {
            return vec![name.as_str().to_owned()];
        }
        if !part.contains(' ') && (parts.len() > 1 || !program) {
            return vec![(*part).to_owned()];
        }
    }
    Vec::new()
}

/// Paths in `part` that a slash gives away.
fn bare(part: &str) -> Vec<String> {
    let starts = |token: &str| {
        let token = token.trim_start_matches(['(', '=', '"', '\'', '`', '<', '[']);
        token.starts_with('/')
            || token.starts_with("./")
            || token.starts_with("../")
            || token.starts_with("~/")
            || token.contains('/') && !token.contains("://")
    };
    let mut offset = 0;
    let mut begin = None;
    for token in part.split(' ') {
        if starts(token) {
            begin = Some(offset);
            break;
        }
        offset += token.len() + 1;
    }
    let Some(begin) = begin else {
        // A call with its path: `write(/x)`.
        let inner = part.split_once("(/").and_then(|(_, rest)| rest.split_once(')'));
        return inner.map(|(path, _)| format!("/{path}")).into_iter().collect();
    };
    let rest = &part[begin..];
    if let Some((head, tail)) =
        rest.split_once('(').filter(|(head, _)| !head.starts_with('/') && !head.contains('/'))
    {
        let path = tail.split([')', ',']).next().unwrap_or(tail);
        let _call = head;
        return vec![cleaned(path)];
    }
    let arrow = [" -> ", " => ", " to "].iter().find_map(|mark| rest.split_once(mark));
    match arrow {
        Some((one, other)) => vec![cleaned(other), cleaned(one)],
        None => {
            // With its blanks first, then without.
            let whole = cleaned(rest);
            let first = cleaned(rest.split(' ').next().unwrap_or(rest));
            vec![first, whole]
        }
    }
}

fn cleaned(path: &str) -> String {
    let ends = [" for ", " failed", " (", " at ", ", ", " error", " fehl"];
    let end = ends.iter().filter_map(|mark| path.find(mark)).min().unwrap_or(path.len());
    let marks = [
        '(', ')', '"', '\'', '`', '<', '>', ',', ';', ':', ' ', '[', ']', '«', '»', '“', '”', '„',
        '‘', '’',
    ];
    path[..end].trim_matches(marks).to_owned()
}

/// Paths without quotes after the phrase.
fn after(text: &str, shell: bool) -> Vec<String> {
    let text = text.trim_end();
    if let Some(name) = text.strip_prefix(": ").filter(|_| shell) {
        // A shell that names the reason first and then the path.
        return vec![name.to_owned()];
    }
    if let Some(name) = text.strip_prefix(" -- ") {
        return vec![cleaned(name)];
    }
    let begins = [
        ": /",
        " - /",
        ": ./",
        ": ../",
        ": ~/",
        " - .",
        ", open ",
        ", mkdir ",
        ", unlink ",
        ", rename ",
        ", rmdir ",
        ", symlink ",
        ", link ",
        ", chmod ",
        ", scandir ",
        ", copyfile ",
    ];
    let begin = begins.iter().find_map(|mark| {
        let at = text.find(mark)?;
        let skipped = mark.trim_end_matches(['/', '.', '~']).len();
        Some(&text[at + skipped..])
    });
    begin.map(bare).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("/bin/sh: 1: cannot create /etc/x: Permission denied", "/etc/x")]
    #[case("sh: 1: cannot create a: Read-only file system", "a")]
    #[case("bash: line 1: /etc/x: Read-only file system", "/etc/x")]
    #[case("bash: Zeile 1: /etc/x: Keine Berechtigung", "/etc/x")]
    #[case("bash: ligne 1: .git/x: Système de fichiers accessible en lecture seulement", ".git/x")]
    #[case("zsh:1: permission denied: /etc/x", "/etc/x")]
    #[case("zsh:1: read-only file system: x", "x")]
    #[case("touch: cannot touch '/etc/x': Permission denied", "/etc/x")]
    #[case("touch: cannot touch ‘/etc/x’: Permission denied", "/etc/x")]
    #[case("touch: „/etc/x“ kann nicht berührt werden: Keine Berechtigung", "/etc/x")]
    #[case("touch: »/etc/x« geht nicht: Das Dateisystem ist nur lesbar", "/etc/x")]
    #[case("touch: initialisation des dates de « /etc/x »: Permission non accordée", "/etc/x")]
    #[case("OSError: [Errno 30] Read-only file system: '/etc/x'", "/etc/x")]
    #[case("OSError: [Errno 18] Invalid cross-device link: 'a' -> '/etc/x'", "a,/etc/x")]
    #[case("Error: EROFS: read-only file system, open '/etc/x'", "/etc/x")]
    #[case(
        "fatal: Unable to create '/w/.git/index.lock': Read-only file system",
        "/w/.git/index.lock"
    )]
    #[case("open /etc/x: read-only file system", "/etc/x")]
    #[case("panic: mkdir /etc/a: permission denied", "/etc/a")]
    #[case("Can't open /etc/x: Read-only file system at -e line 1.", "/etc/x")]
    #[case(
        "-e:1:in `initialize': Read-only file system @ rb_sysopen - /etc/x (Errno::EROFS)",
        "/etc/x"
    )]
    #[case("awk: cannot open \"/etc/x\" for output (Read-only file system)", "/etc/x")]
    #[case("java.io.FileNotFoundException: /etc/x (Read-only file system)", "/etc/x")]
    #[case(
        "PHP Warning: file_put_contents(/etc/x): Failed to open stream: Read-only file system",
        "/etc/x"
    )]
    #[case("mv: cannot move 'a' to '/etc/a': Permission denied", "/etc/a,a")]
    #[case("dd: failed to open '/etc/x': Read-only file system", "/etc/x")]
    #[case("tar: x: Cannot open: Read-only file system", "x")]
    #[case("/home/u/repository/x: Permission denied", "/home/u/repository/x")]
    #[case("sed: couldn't open temporary file /etc/sedAb: Read-only file system", "/etc/sedAb")]
    #[case("permission denied", "")]
    #[case("-e:1:in `<main>': read-only file system (RuntimeError)", "")]
    #[case("-e:1: warning: Can't remove a/b: Device or resource busy, skipping file", "a/b")]
    #[case("touch: cannot touch '/o/it'\\''s \"q\"': Read-only file system", "/o/it's \"q\"")]
    #[case("touch: cannot touch '/o/a'$'\\n''b': Read-only file system", "/o/a\nb")]
    #[case(
        "/usr/lib/ruby/fileutils.rb:243:in `mkdir': Read-only file system @ dir_s_mkdir - .claude/agents (Errno::EROFS)",
        ".claude/agents"
    )]
    #[case(
        "-e:1:in 'File.rename': Invalid cross-device link @ rb_file_s_rename - (a, /o/b) (Errno::EXDEV)",
        "/o/b,a"
    )]
    #[case("ping: socket: Operation not permitted", "socket")]
    #[case("git@github.com: Permission denied (publickey).", "")]
    #[case("ruby: Permission denied -- a/k (LoadError)", "a/k")]
    #[case("strip: /x/y: Bad file descriptor", "/x/y")]
    #[case("File a/k is unavailable.", "a/k")]
    #[case("Error: Unable to access jarfile /o/x.jar", "/o/x.jar")]
    #[case("unzip:  cannot find or open /o/z, /o/z.zip or /o/z.ZIP.", "/o/z")]
    #[case("fatal: not a git repository: '/o/g'", "/o/g")]
    #[case("java.nio.file.NoSuchFileException: a/k", "a/k")]
    #[case(
        "Exception in thread \"main\" java.nio.file.AccessDeniedException: a/k -> b/k",
        "a/k,b/k"
    )]
    #[case(
        "80F:error:80000002:system library:file_open:No such file or directory:../x.c:2:calling stat(/o/c)",
        "/o/c"
    )]
    #[case(
        "80F:error:8:system library:BIO_new_file:Permission denied:b.c:6:calling fopen(k.pem, rb)",
        "k.pem"
    )]
    #[case(
        "head: '/o/f'을(를) 읽기 용도로 열 수 없습니다: 그런 파일이나 디렉터리가 없습니다",
        "/o/f"
    )]
    #[case("Can't do inplace edit on a: Cannot make temp name: Read-only file system.", "")]
    #[case("error: Could not access 'a/k'", "a/k")]
    fn a_line_names_its_paths(#[case] line: &str, #[case] paths: &str) {
        let paths: Vec<&str> = paths.split(',').filter(|path| !path.is_empty()).collect();
        assert_eq!(read(line).unwrap().paths, paths);
    }
}
