//! Settings of git that are command lines, and the files in the working tree that such a line runs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::git_settings::GitSetting;
use super::paths;
use super::shell_words::{self, SplitWord};

/// Settings whose values are command lines, as section and key; `*` is any.
const COMMANDS: &[(&str, &str)] = &[
    ("core", "fsmonitor"),
    ("core", "sshcommand"),
    ("core", "editor"),
    ("core", "pager"),
    ("core", "askpass"),
    ("core", "gitproxy"),
    ("core", "alternaterefscommand"),
    ("sequence", "editor"),
    ("pager", "*"),
    ("credential", "helper"),
    ("gpg", "program"),
    ("gpg", "defaultkeycommand"),
    ("filter", "clean"),
    ("filter", "smudge"),
    ("filter", "process"),
    ("diff", "external"),
    ("diff", "command"),
    ("diff", "textconv"),
    ("merge", "driver"),
    ("mergetool", "cmd"),
    ("mergetool", "path"),
    ("difftool", "cmd"),
    ("difftool", "path"),
    ("guitool", "cmd"),
    ("browser", "cmd"),
    ("browser", "path"),
    ("man", "cmd"),
    ("man", "path"),
    ("web", "browser"),
    ("instaweb", "httpd"),
    ("instaweb", "browser"),
    ("interactive", "difffilter"),
    ("trailer", "command"),
    ("trailer", "cmd"),
    ("hook", "command"),
    ("gc", "recentobjectshook"),
    ("uploadpack", "packobjectshook"),
    ("remote", "uploadpack"),
    ("remote", "receivepack"),
    ("remote", "vcs"),
    ("tar", "command"),
    ("imap", "tunnel"),
    ("sendemail", "sendmailcmd"),
    ("sendemail", "tocmd"),
    ("sendemail", "cccmd"),
    ("sendemail", "headercmd"),
    ("sendemail", "smtpserver"),
    ("svn", "authorsprog"),
    ("lfs", "path"),
    ("lfs", "args"),
    ("lfs", "clean"),
    ("lfs", "smudge"),
];

/// Settings whose values are command lines if they begin with a sign, as section, key and sign.
const MARKED: &[(&str, &str, &str)] = &[
    ("alias", "*", "!"),
    ("submodule", "update", "!"),
    ("remote", "url", "ext::"),
    ("remote", "pushurl", "ext::"),
];

/// Programs that run the file which is their first argument.
const INTERPRETERS: &[&str] = &[
    ".", "source", "sh", "bash", "dash", "zsh", "ksh", "python", "python2", "python3", "node",
    "ruby", "perl", "php", "lua", "Rscript",
];

/// Words before a program that leave it the program.
const BEFORE_PROGRAMS: &[&str] = &[
    "!", "{", "if", "then", "else", "elif", "while", "until", "do", "env", "exec", "command",
    "nohup", "nice", "time", "sudo", "xargs",
];

/// Command lines in quoted words are followed so far.
const DEEPEST: usize = 3;

/// Returns the command line that `setting` holds, if it is one.
pub(super) fn command_line(setting: &GitSetting) -> Option<&[u8]> {
    let GitSetting { section, key, value } = setting;
    let value = value.as_bytes();
    let is = |known: &str, name: &str| section == known && (name == "*" || key == name);
    if COMMANDS.iter().any(|(section, key)| is(section, key)) {
        return Some(value.strip_prefix(b"!").unwrap_or(value));
    }
    let marked = MARKED.iter().find(|(section, key, _)| is(section, key));
    marked.and_then(|(_, _, sign)| value.strip_prefix(sign.as_bytes()))
}

/// Returns the paths that `line`, run in `tree`, runs or reads, as far as its words tell.
pub(super) fn command_paths(line: &[u8], tree: &Path) -> Vec<PathBuf> {
    let mut paths = CommandPaths { directory: tree.to_owned(), found: Vec::new() };
    paths.line(line, 0);
    paths.found
}

/// Returns a path of the configuration, from `directory` on.
pub(super) fn path_at(directory: &Path, value: &OsStr) -> PathBuf {
    let home = value.as_bytes().strip_prefix(b"~/").zip(std::env::var_os("HOME"));
    match home {
        Some((rest, home)) => Path::new(&home).join(OsStr::from_bytes(rest)),
        None => plain(&directory.join(value)),
    }
}

/// Returns the path without `.` components.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

struct CommandPaths {
    /// Where the command that is read would run.
    directory: PathBuf,
    found: Vec<PathBuf>,
}

/// What a word is to its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordUse {
    /// The program itself.
    Program,
    /// A path that the program surely runs, or works in.
    Runs,
    /// Another argument.
    Argument,
    /// An argument of git, which runs none.
    OfGit,
}

impl CommandPaths {
    fn line(&mut self, line: &[u8], depth: usize) {
        for command in shell_words::shell_commands(line) {
            self.command(&command);
            let inner = command.iter().skip(1).filter(|word| word.is_line());
            for word in inner.filter(|_| depth < DEEPEST) {
                // `-oProxyCommand="tools/a.sh %h"`
                let value = value_in(&word.text).filter(|_| word.text.starts_with(b"-"));
                self.line(value.unwrap_or(&word.text), depth + 1);
            }
        }
    }

    fn command(&mut self, words: &[SplitWord]) {
        let is_before = |word: &&SplitWord| {
            BEFORE_PROGRAMS.iter().any(|name| word.text == name.as_bytes()) || word.is_assignment()
        };
        let before = words.iter().take_while(is_before).count();
        let (before, mut own) = words.split_at(before);
        let outer = self.directory.clone();
        if before.iter().any(|word| word.text == b"env") {
            own = self.options_of_env(own);
        }
        self.own_command(before, own);
        let is_inside =
            own.first().is_some_and(|word| [&b"cd"[..], b"pushd"].contains(&&word.text[..]));
        if !is_inside {
            self.directory = outer;
        }
    }

    /// Follows the directory that `env` is told, and returns what stands behind its options.
    fn options_of_env<'a>(&mut self, words: &'a [SplitWord]) -> &'a [SplitWord] {
        let mut rest = words;
        while let Some((word, behind)) =
            rest.split_first().filter(|(word, _)| word.text.starts_with(b"-"))
        {
            rest = behind;
            match &word.text[..] {
                b"-C" | b"--chdir" => {
                    self.enter(&rest[..rest.len().min(1)]);
                    rest = rest.get(1..).unwrap_or_default();
                }
                b"-u" | b"--unset" => rest = rest.get(1..).unwrap_or_default(),
                [b'-', b'C', directory @ ..] => self.enter_directory(directory),
                text => {
                    let directory = text.strip_prefix(b"--chdir=");
                    directory.into_iter().for_each(|directory| self.enter_directory(directory));
                }
            }
        }
        rest
    }

    fn own_command(&mut self, before: &[SplitWord], own: &[SplitWord]) {
        let values = before.iter().filter_map(|word| value_in(&word.text));
        values.for_each(|value| self.take(value, WordUse::Argument));
        let Some((program, arguments)) = own.split_first() else { return };
        self.take(&program.text, WordUse::Program);
        let name = program.text.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if matches!(name, b"cd" | b"pushd") {
            return self.enter(arguments);
        }
        self.arguments(name, arguments);
    }

    /// Follows `cd`; a directory that the shell makes up is not known.
    fn enter(&mut self, arguments: &[SplitWord]) {
        let target = arguments.iter().find(|word| !word.text.starts_with(b"-"));
        target.into_iter().for_each(|target| self.enter_directory(&target.text));
    }

    fn enter_directory(&mut self, directory: &[u8]) {
        if !is_made_up(directory) {
            self.directory = path_at(&self.directory, OsStr::from_bytes(directory));
        }
    }

    fn arguments(&mut self, program: &[u8], arguments: &[SplitWord]) {
        let interprets = INTERPRETERS.iter().any(|name| program == name.as_bytes());
        let (mut previous, mut script) = (&b""[..], interprets);
        for word in arguments {
            let text = &word.text[..];
            let is_option = text.len() > 1 && text.starts_with(b"-");
            match previous {
                b"-m" if script => {
                    self.module(text);
                    script = false;
                }
                _ if is_option => self.option(program, text),
                b"-C" | b"--directory" if program != b"git" => self.take(text, WordUse::Runs),
                _ if script => {
                    script = false;
                    match is_code_option(program, previous) {
                        false => self.take(text, WordUse::Runs),
                        // A line in quotes is read as one besides.
                        true if program.ends_with(b"sh") && !word.is_line() => {
                            self.line(text, DEEPEST);
                        }
                        true => {}
                    }
                }
                _ if program == b"git" => self.parts(text, WordUse::OfGit),
                _ => self.parts(text, WordUse::Argument),
            }
            previous = text;
        }
    }

    /// Takes a path that is one word with its option: `-Ftools/ssh`, `--directory=tools`.
    fn option(&mut self, program: &[u8], text: &[u8]) {
        match text {
            [b'-', b'-', ..] => {
                let works_there = text.starts_with(b"--directory=");
                let role = if works_there { WordUse::Runs } else { WordUse::Argument };
                value_in(text).into_iter().for_each(|value| self.take(value, role));
            }
            [b'-', b'C', value @ ..] if program != b"git" => self.take(value, WordUse::Runs),
            [b'-', _, value @ ..] => self.take(value, WordUse::Argument),
            _ => {}
        }
    }

    /// Takes the files that `python3 -m NAME` can run.
    fn module(&mut self, name: &[u8]) {
        let path: Vec<u8> = name.iter().map(|b| if *b == b'.' { b'/' } else { *b }).collect();
        self.take(&path, WordUse::Runs);
        self.take(&[&path[..], b".py"].concat(), WordUse::Runs);
    }

    /// Takes a word, and what it says behind `=`.
    fn parts(&mut self, text: &[u8], role: WordUse) {
        self.take(text, role);
        value_in(text).into_iter().for_each(|value| self.take(value, role));
    }

    fn take(&mut self, text: &[u8], role: WordUse) {
        if text.is_empty() {
            return;
        }
        let path = path_at(&self.directory, OsStr::from_bytes(text));
        let has_slash = text.contains(&b'/');
        let named = match paths::find(&path) {
            Some(found) if found.directory => {
                let runs = role == WordUse::Runs || (has_slash && role == WordUse::Argument);
                runs && !self.directory.starts_with(&found.real)
            }
            Some(_) => true,
            None if is_made_up(text) || is_address(text) => false,
            None => has_slash || role == WordUse::Runs || is_file_name(text, role),
        };
        self.found.extend(named.then_some(path));
    }
}

/// Returns whether the word behind `option` is not a script but its text; `-e` is something else to
/// a shell.
fn is_code_option(program: &[u8], option: &[u8]) -> bool {
    // `python3 -Ximporttime`
    let is_value = [&b"-X"[..], b"-W"].iter().any(|known| option.starts_with(known));
    let is_short = option.starts_with(b"-") && !option.starts_with(b"--") && !is_value;
    let is_shell = program.ends_with(b"sh");
    is_short && (option.ends_with(b"c") || (option.ends_with(b"e") && !is_shell))
}

/// Returns what a word says behind `=`.
fn value_in(text: &[u8]) -> Option<&[u8]> {
    text.iter().position(|byte| *byte == b'=').map(|at| &text[at + 1..])
}

/// Returns whether the shell or git puts something into the word.
fn is_made_up(text: &[u8]) -> bool {
    text.iter().any(|byte| b"$%*".contains(byte))
}

fn is_address(text: &[u8]) -> bool {
    text.windows(3).any(|part| part == b"://")
}

/// Returns whether an argument without a slash looks like the name of a file: `conv.py`.
fn is_file_name(text: &[u8], role: WordUse) -> bool {
    let extension = Path::new(OsStr::from_bytes(text)).extension();
    let is_extension = |text: &OsStr| {
        let text = text.as_bytes();
        text.first().is_some_and(u8::is_ascii_alphabetic)
            && text.iter().all(u8::is_ascii_alphanumeric)
    };
    role == WordUse::Argument && extension.is_some_and(is_extension)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::fs;

    #[rstest]
    #[case::directory("python3 tools/fmt", &["tools/fmt"])]
    #[case::directory_by_name("python3 fmt", &["fmt"])]
    #[case::make("make -C tools/fmt all", &["tools/fmt"])]
    #[case::make_by_name("make -Cfmt test", &["fmt"])]
    #[case::make_directory("make --directory=fmt", &["fmt"])]
    #[case::tree_itself("make -C . && python3 ./", &[])]
    #[case::word_that_is_a_directory("npm test", &[])]
    #[case::of_git("git -C tools/fmt log -- tools/fmt", &[])]
    #[case::absent("python3 conv.py", &["conv.py"])]
    #[case::absent_of_another("deno run conv.ts %f", &["conv.ts"])]
    #[case::absent_script("sh -x conv", &["conv"])]
    #[case::absent_script_after_an_option("sh -e conv", &["conv"])]
    #[case::code("perl -pe tr && python3 -c pass conv.py", &["conv.py"])]
    #[case::branches("git log v1.0..main", &[])]
    #[case::module("python3 -m tools.conv", &["tools/conv", "tools/conv.py"])]
    #[case::entered("cd tools && ./run.sh", &["tools/run.sh"])]
    #[case::entered_elsewhere("cd \"$(git rev-parse --show-toplevel)\" && ./run.sh", &["run.sh"])]
    #[case::quoted("'tools/my run.sh' -x", &["tools/my run.sh"])]
    #[case::escaped("tools/my\\ run.sh", &["tools/my run.sh"])]
    #[case::line_in_quotes("bash -c 'cd tools; exec ./run.sh'", &["tools/run.sh"])]
    #[case::one_word("bash -c \"tools/run.sh\"", &["tools/run.sh"])]
    #[case::one_bare_word("env bash -lc tools/run.sh", &["tools/run.sh"])]
    #[case::one_word_of_two("sh -c 'tools/run.sh x'", &["tools/run.sh"])]
    #[case::directory_of_env("env -Ctools ./run.sh", &["tools/run.sh"])]
    #[case::directory_of_env_apart("env -u X --chdir tools ./run.sh", &["tools/run.sh"])]
    #[case::option_of_python("python3 -Ximporttime tools/run", &["tools/run"])]
    #[case::line_in_an_option("ssh -oProxyCommand=\"tools/run.sh %h\"", &["tools/run.sh"])]
    #[case::assigned("A=tools/a env B=b.txt tools/run.sh", &["tools/a", "b.txt", "tools/run.sh"])]
    #[case::option("ssh -Ftools/ssh --x=tools/y", &["tools/ssh", "tools/y"])]
    #[case::fed("conv <tools/in", &["tools/in"])]
    fn a_line_names_what_it_runs(#[case] line: &str, #[case] expected: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["tools/fmt", "fmt", "test"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let found = command_paths(line.as_bytes(), &root);
        let expected: Vec<_> = expected.iter().map(|path| root.join(path)).collect();
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("submodule", "update", "!tools/up", Some("tools/up"))]
    #[case("submodule", "update", "rebase", None)]
    #[case("alias", "x", "!tools/x", Some("tools/x"))]
    #[case("alias", "x", "log -1", None)]
    #[case("credential", "helper", "!tools/x", Some("tools/x"))]
    #[case("tar", "command", "tools/pack", Some("tools/pack"))]
    #[case("sendemail", "sendmailcmd", "tools/send", Some("tools/send"))]
    #[case("remote", "url", "ext::tools/x %S", Some("tools/x %S"))]
    #[case("remote", "url", "../other", None)]
    fn some_settings_are_command_lines(
        #[case] section: &str,
        #[case] key: &str,
        #[case] value: &str,
        #[case] expected: Option<&str>,
    ) {
        let (section, key) = (section.to_owned(), key.to_owned());
        let setting = GitSetting { section, key, value: value.into() };
        assert_eq!(command_line(&setting), expected.map(str::as_bytes));
    }
}
