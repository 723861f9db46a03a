//! The operation behind a refusal, a change or a read: from the words of the message, else from the
//! role of the path in the command line ([`PathRoles`]).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::command_parser::{NOTHING, ParsedCommand};
use super::errno_messages::RefusalClass;
use super::policy_index::AccessKind;
use super::resolve_path::{ReadLink, resolve};

static WRITES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"creat|touch|remov|unlink|delet|mkdir|rmdir|mkstemp|mktemp|make dir|mkfifo|mknod|renam|\bmov|\bwrit|truncat|chmod|chown|chgrp|changing|setting|set perm|set time|utime|copyfile|symlink|hard ?link|\blink\b|\block|temporary|for output|output file|dependency file|append|overwrit|replac|\bsave|adding an object|not writable|install|backup|failed to open the file").ok()
});
static READS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"for reading|\bread\b|reading|cannot access|\bstat\b|lstat|opendir|open dir|scandir|readdir|readlink|\blist|chdir|cd to|\bcd\b|change dir|changing dir|working dir|for input|cannot execute|execvp|\bexec\b|spawn|traverse").ok()
});

/// Change everything they name.
const CHANGE: [&str; 20] = [
    "touch", "tee", "mkdir", "rmdir", "rm", "unlink", "truncate", "chmod", "chown", "chgrp",
    "mktemp", "mkfifo", "mknod", "shred", "setfattr", "mv", "install", "gzip", "gunzip", "bzip2",
];
/// Read everything they name.
const READ: [&str; 37] = [
    "cat",
    "less",
    "more",
    "head",
    "tail",
    "grep",
    "rg",
    "egrep",
    "fgrep",
    "ls",
    "stat",
    "file",
    "wc",
    "diff",
    "cmp",
    "cut",
    "uniq",
    "awk",
    "gawk",
    "mawk",
    "od",
    "xxd",
    "hexdump",
    "strings",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "source",
    ".",
    "test",
    "[",
    "readlink",
    "realpath",
    "du",
    "tree",
    "cd",
    "jq",
];
/// Take sources first and a destination last.
const COPY: [&str; 5] = ["cp", "rsync", "scp", "ln", "link"];
/// Run code that is given as an argument.
const INTERPRETERS: [&str; 10] =
    ["python", "python3", "node", "nodejs", "perl", "ruby", "php", "deno", "bun", "lua"];

/// The paths of a command line, and the operation on each.
pub(super) struct PathRoles {
    paths: Vec<(PathBuf, AccessKind)>,
    written: Vec<String>,
    code: Vec<String>,
    /// Directories that relative paths may start at, the likeliest first.
    pub(super) bases: Vec<PathBuf>,
}

/// Returns the operation that the words of a message name.
pub(super) fn said(class: RefusalClass, words: &str) -> AccessKind {
    let has = |words_of: &LazyLock<Option<Regex>>| {
        words_of.as_ref().is_some_and(|regex: &Regex| regex.is_match(words))
    };
    match class {
        RefusalClass::ReadOnly | RefusalClass::Busy | RefusalClass::CrossDevice => {
            AccessKind::Write
        }
        _ if has(&READS) => AccessKind::Read,
        _ if has(&WRITES) => AccessKind::Write,
        _ => AccessKind::Unknown,
    }
}

impl PathRoles {
    /// Reads the paths of `commands`, started in `cwd`.
    pub(super) fn new(commands: &[ParsedCommand], cwd: &Path, link: ReadLink<'_>) -> Self {
        let mut bases: Vec<PathBuf> = Vec::new();
        for one in commands {
            let entered = match one.program() {
                "cd" | "pushd" => one.operands().next(),
                "tar" | "make" | "git" | "ninja" | "bsdtar" => one.option(&["-C", "--directory"]),
                "unzip" => one.option(&["-d"]),
                _ => None,
            };
            let last = bases.last().map_or(cwd, PathBuf::as_path).to_owned();
            bases.extend(entered.map(|directory| last.join(directory)));
        }
        bases.reverse();
        bases.push(cwd.to_owned());
        let mut roles = Self { paths: Vec::new(), written: Vec::new(), code: Vec::new(), bases };
        for one in commands {
            roles.add(one, link);
        }
        roles
    }

    fn add(&mut self, one: &ParsedCommand, link: ReadLink<'_>) {
        for (paths, op) in parts(one) {
            for path in paths {
                let bases = self.bases.clone();
                let real = bases.iter().map(|base| resolve(base, path.as_ref(), true, link));
                self.paths.extend(real.map(|real| (real, op)));
                if op == AccessKind::Write && path != NOTHING {
                    self.written.push(path);
                }
            }
        }
        self.code.extend(code(one).cloned());
    }

    /// Returns the operation on `path`, which the message writes as `text`.
    pub(super) fn access_to(&self, path: &Path, text: &str) -> AccessKind {
        let named = self.paths.iter().filter(|(named, _)| path.starts_with(named));
        let nearest =
            named.max_by_key(|(named, op)| (named.components().count(), *op == AccessKind::Write));
        match nearest {
            Some((_, op)) => *op,
            None => self
                .code
                .iter()
                .filter(|code| *code != text)
                .map(|code| in_code(code, text))
                .find(|op| *op != AccessKind::Unknown)
                .unwrap_or(AccessKind::Unknown),
        }
    }

    /// Paths as written that the command line changes.
    pub(super) fn written(&self) -> &[String] {
        &self.written
    }
}

/// Returns whether `one` changes files by writing others in their place.
pub(super) fn edits_in_place(one: &ParsedCommand) -> bool {
    let mut words = one.words.iter().skip(1);
    words.any(|word| word.starts_with("-i") || word.starts_with("--in-place") || word == "-pi")
        && ["sed", "perl", "ruby"].contains(&one.program())
}

/// Returns the operands of one command, by operation.
pub(super) fn parts(one: &ParsedCommand) -> Vec<(Vec<String>, AccessKind)> {
    let mut found =
        vec![(one.writes.clone(), AccessKind::Write), (one.reads.clone(), AccessKind::Read)];
    let operands: Vec<String> = one.operands().map(str::to_owned).collect();
    let in_place = edits_in_place(one);
    let option = |names: &[&str]| -> Vec<String> {
        one.option(names).map(str::to_owned).into_iter().collect()
    };
    let program = one.program();
    match program {
        "sed" | "perl" | "ruby" if in_place => {
            found.push((operands.into_iter().skip(1).collect(), AccessKind::Write));
        }
        "sed" => found.push((operands.into_iter().skip(1).collect(), AccessKind::Read)),
        "cp" | "rsync" | "scp" | "ln" | "link" => {
            debug_assert!(COPY.contains(&program));
            found.extend(copied(operands, option(&["-t", "--target-directory"])));
        }
        "install" if !one.words.iter().any(|word| word == "-d") => {
            found.extend(copied(operands, option(&["-t"])));
        }
        "dd" => found.extend(converted(&operands)),
        "find" => {
            let changes = one.words.iter().any(|word| {
                matches!(word.as_str(), "-delete" | "rm" | "touch" | "chmod" | "chown" | "mv")
            });
            found.push((operands, if changes { AccessKind::Write } else { AccessKind::Read }));
        }
        "tar" | "bsdtar" => found.extend(archived(one)),
        "curl" => {
            let bundled = one.bundled('o').map(str::to_owned);
            found.push((option(&["-o", "--output"]), AccessKind::Write));
            found.push((bundled.into_iter().collect(), AccessKind::Write));
        }
        "gcc" | "cc" | "clang" | "sort" | "ld" | "rustc" | "go" => {
            found.push((option(&["-o", "--output"]), AccessKind::Write));
        }
        "git" => found.extend(of_repositories(one)),
        "zip" => {
            let mut operands = operands.into_iter();
            found.push((operands.next().into_iter().collect(), AccessKind::Write));
            found.push((operands.collect(), AccessKind::Read));
        }
        "make" | "gmake" => found.push((option(&["-f", "--file"]), AccessKind::Read)),
        "patch" => found.extend(patched(operands, option(&["-i", "--input"]))),
        "wget" => found.push((option(&["-O", "--output-document", "-P"]), AccessKind::Write)),
        "gzip" | "gunzip" | "bzip2" if shows_only(one) => found.push((operands, AccessKind::Read)),
        _ if CHANGE.contains(&program) => found.push((operands, AccessKind::Write)),
        "grep" | "egrep" | "fgrep" | "rg" if !one.words.iter().any(|word| word == "-e") => {
            found.push((operands.into_iter().skip(1).collect(), AccessKind::Read));
        }
        _ if READ.contains(&program) => found.push((operands, AccessKind::Read)),
        _ => {}
    }
    found
}

/// Returns the repositories on the host that a command of git names: it makes or changes the last, or reads them.
fn of_repositories(one: &ParsedCommand) -> Vec<(Vec<String>, AccessKind)> {
    let verb = one.git_subcommand().unwrap_or_default();
    let behind = one.operands().skip_while(|word| *word != verb).skip(1);
    let is_path = |word: &&str| word.contains('/') && !word.contains("://") && !word.contains(':');
    let of_url = |word: &str| word.strip_prefix("file://").unwrap_or(word).to_owned();
    match verb {
        "clone" => {
            let named: Vec<String> = behind.map(of_url).collect();
            let is_local = named.first().is_some_and(|from| is_path(&from.as_str()));
            let from = named.iter().take(1).filter(|_| is_local).cloned().collect();
            let to = named.into_iter().skip(1).take(1).collect();
            vec![(to, AccessKind::Write), (from, AccessKind::Read)]
        }
        "fetch" | "pull" | "ls-remote" => {
            let from = behind.take(1).map(of_url).filter(|word| is_path(&word.as_str()));
            vec![(from.collect(), AccessKind::Read)]
        }
        _ => Vec::new(),
    }
}

/// Returns whether a compressor writes to its stdout alone, or only lists or tests.
fn shows_only(one: &ParsedCommand) -> bool {
    let long = ["--stdout", "--to-stdout", "--list", "--test"];
    let bundled = |word: &str| word.starts_with('-') && word[1..].contains(['c', 'l', 't']);
    let mut words = one.words.iter().skip(1);
    words.any(|word| long.contains(&word.as_str()) || !word.starts_with("--") && bundled(word))
}

/// Returns the files of dd, `if=` and `of=`.
fn converted(operands: &[String]) -> [(Vec<String>, AccessKind); 2] {
    let of = |name: &str| {
        let named = operands.iter().filter_map(|word| word.strip_prefix(name));
        named.map(str::to_owned).collect()
    };
    [(of("of="), AccessKind::Write), (of("if="), AccessKind::Read)]
}

/// Returns the files that a patch changes, and the patch, which is the value of an option.
fn patched(operands: Vec<String>, input: Vec<String>) -> [(Vec<String>, AccessKind); 2] {
    let changed = operands.into_iter().filter(|one| !input.contains(one)).collect();
    [(changed, AccessKind::Write), (input, AccessKind::Read)]
}

/// Returns the paths of an archiver: it writes the archive and reads its members, or the reverse.
fn archived(one: &ParsedCommand) -> Vec<(Vec<String>, AccessKind)> {
    let packs = one.words.get(1).is_some_and(|word| word.trim_start_matches('-').contains('c'));
    let at = one.words.iter().skip(1).position(|word| word.contains('f'));
    let archive = at.and_then(|at| one.words.get(at + 2)).cloned().into_iter().collect();
    if packs {
        let archive: Vec<String> = archive;
        let members = one.operands().filter(|word| one.words.get(1).is_none_or(|it| it != word));
        let members = members.filter(|word| !archive.iter().any(|it| it == word));
        return vec![
            (members.map(str::to_owned).collect(), AccessKind::Read),
            (archive, AccessKind::Write),
        ];
    }
    let unpacks = one.words.get(1).is_some_and(|word| word.contains('x'));
    let directory = one.option(&["-C", "--directory"]).or(unpacks.then_some("."));
    let directory = directory.map(str::to_owned).into_iter().collect();
    vec![(directory, AccessKind::Write), (archive, AccessKind::Read)]
}

/// The destination is written, the sources are read.
fn copied(mut operands: Vec<String>, target: Vec<String>) -> Vec<(Vec<String>, AccessKind)> {
    let to = match target.is_empty() {
        true => operands.pop().into_iter().collect(),
        false => target,
    };
    vec![(to, AccessKind::Write), (operands, AccessKind::Read)]
}

static CHANGING_CODE: LazyLock<Option<(Regex, Regex)>> = LazyLock::new(|| {
    let before = Regex::new(r#"(?:write|append|WriteStream|mkdir|makedirs|rmdir|unlink|remove|rename|symlink|link|truncate|chmod|chown|utime|copy|move|touch|rmtree|replace|rmSync|rm|File\.open|mknod|mkfifo)[[:word:]]*\(\s*[^()]*(?:%[qQ]\()?$|['"](?:\+?>>?|w|a)['"]\s*,\s*['"]$|>\s*$"#).ok()?;
    let after = Regex::new(r#"^['"]\s*,\s*(?:mode\s*=\s*)?['"][rbt]*[wax+]|^['"]\)\.(?:write|touch|mkdir|unlink|rmdir|rename|chmod|symlink)|^['"]\s*,\s*(?:os\.)?O_(?:WR|RDWR|CREAT)|^['"]\s*,\s*(?:[a-z.]*\.)?W_OK"#).ok()?;
    Some((before, after))
});

/// Returns whether `program` runs code, of any version.
pub(super) fn is_interpreter(program: &str) -> bool {
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&program) || INTERPRETERS.contains(&plain)
}

/// The code that is given to an interpreter.
pub(super) fn code(one: &ParsedCommand) -> impl Iterator<Item = &String> {
    let runs = is_interpreter(one.program());
    let words = one.words.iter().skip(1).chain(&one.document);
    words.filter(move |word| runs && word.len() > 3)
}

/// Returns the operation that a piece of code performs on the path it names as `text`.
pub(super) fn in_code(code: &str, text: &str) -> AccessKind {
    let Some((before, after)) = CHANGING_CODE.as_ref() else { return AccessKind::Unknown };
    let mut op = AccessKind::Unknown;
    for (at, _) in code.match_indices(text).take(16) {
        let head = &code[code[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at)..at];
        let tail = &code[at + text.len()..];
        if before.is_match(head) || after.is_match(tail) {
            return AccessKind::Write;
        }
        op = AccessKind::Read;
    }
    op
}

#[cfg(test)]
mod tests {
    use super::super::command_parser::of_line;
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("echo x > /etc/x", "/etc/x", AccessKind::Write)]
    #[case("cat < /etc/x", "/etc/x", AccessKind::Read)]
    #[case("cp /etc/x /usr/", "/usr/x", AccessKind::Write)]
    #[case("cp /etc/x /usr/", "/etc/x", AccessKind::Read)]
    #[case("cd /etc && touch x", "/etc/x", AccessKind::Write)]
    #[case("tar -xf a.tar -C /etc", "/etc/b", AccessKind::Write)]
    #[case("sed -i s/a/b/ /etc/x", "/etc/x", AccessKind::Write)]
    #[case("python3 -c \"open('/etc/x','w')\"", "/etc/x", AccessKind::Write)]
    #[case("python3 -c \"open('/etc/x').read()\"", "/etc/x", AccessKind::Read)]
    #[case("node -e \"fs.writeFileSync('/etc/x', 'a')\"", "/etc/x", AccessKind::Write)]
    #[case("gunzip -c /etc/x", "/etc/x", AccessKind::Read)]
    #[case("gzip -kf /etc/x", "/etc/x", AccessKind::Write)]
    #[case("ruby -pi -e '$_.upcase!' /etc/x", "/etc/x", AccessKind::Write)]
    #[case("git clone -q /etc/x y", "/etc/x", AccessKind::Read)]
    #[case("git clone -q a /etc/x", "/etc/x/.git", AccessKind::Write)]
    #[case("git fetch file:///etc/x main", "/etc/x", AccessKind::Read)]
    #[case("git fetch origin topic/x", "/w/topic/x", AccessKind::Unknown)]
    #[case("./gen", "/etc/x", AccessKind::Unknown)]
    fn a_path_has_a_part(#[case] line: &str, #[case] path: &str, #[case] op: AccessKind) {
        let roles = PathRoles::new(&of_line(line), "/w".as_ref(), &|_| None);
        assert_eq!(roles.access_to(path.as_ref(), path), op);
    }

    #[rstest]
    #[case("touch: cannot touch ' ': permission denied", AccessKind::Write)]
    #[case("cat:  : permission denied", AccessKind::Unknown)]
    #[case("ls: cannot open directory ' ': permission denied", AccessKind::Read)]
    fn a_message_says_what_was_done(#[case] words: &str, #[case] op: AccessKind) {
        assert_eq!(said(RefusalClass::Access, words), op);
    }
}
