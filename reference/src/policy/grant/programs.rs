//! Programs besides git that a line may run: which of them leave repositories alone.

use super::assignments;
use super::classify::{CommandClass, LineContext};
use super::git_paths;
use super::options::OptionTable;
use super::sed;
use super::word::ShellWord;

/// The arguments that a program may have.
#[derive(Debug, Clone, Copy)]
enum AllowedArguments {
    /// Anything: it writes nothing but its output.
    Any,
    /// Anything, if no option comes first.
    AnyText,
    /// A test of known words, or of a text where an operator says so.
    Test,
    /// `--version` alone.
    Version,
    /// Words that choose files, and have them shown.
    Chosen,
    /// A script of plain orders, and files, which it may change in place.
    Edits,
    /// Options of these letters, and names of files that it may change.
    Files(&'static str),
}

/// Programs that only show, and programs that change the files which they are given.
const PROGRAMS: &[(&str, AllowedArguments)] = &[
    (":", AllowedArguments::Any),
    ("basename", AllowedArguments::Any),
    ("cat", AllowedArguments::Any),
    ("cmp", AllowedArguments::Any),
    ("comm", AllowedArguments::Any),
    ("cut", AllowedArguments::Any),
    ("date", AllowedArguments::Any),
    ("df", AllowedArguments::Any),
    ("diff", AllowedArguments::Any),
    ("dirname", AllowedArguments::Any),
    ("du", AllowedArguments::Any),
    ("echo", AllowedArguments::Any),
    ("egrep", AllowedArguments::Any),
    ("exit", AllowedArguments::Any),
    ("expr", AllowedArguments::Any),
    ("false", AllowedArguments::Any),
    ("fgrep", AllowedArguments::Any),
    ("fold", AllowedArguments::Any),
    ("grep", AllowedArguments::Any),
    ("head", AllowedArguments::Any),
    ("id", AllowedArguments::Any),
    ("jq", AllowedArguments::Any),
    ("ls", AllowedArguments::Any),
    ("md5sum", AllowedArguments::Any),
    ("nl", AllowedArguments::Any),
    ("paste", AllowedArguments::Any),
    ("printenv", AllowedArguments::Any),
    ("pwd", AllowedArguments::Any),
    ("readlink", AllowedArguments::Any),
    ("realpath", AllowedArguments::Any),
    ("rev", AllowedArguments::Any),
    ("seq", AllowedArguments::Any),
    ("sha1sum", AllowedArguments::Any),
    ("sha256sum", AllowedArguments::Any),
    ("sleep", AllowedArguments::Any),
    ("stat", AllowedArguments::Any),
    ("tac", AllowedArguments::Any),
    ("tail", AllowedArguments::Any),
    ("tr", AllowedArguments::Any),
    ("true", AllowedArguments::Any),
    ("type", AllowedArguments::Any),
    ("uname", AllowedArguments::Any),
    ("wait", AllowedArguments::Any),
    ("wc", AllowedArguments::Any),
    ("which", AllowedArguments::Any),
    ("whoami", AllowedArguments::Any),
    ("yes", AllowedArguments::Any),
    ("/bin/cat", AllowedArguments::Any),
    ("/bin/echo", AllowedArguments::Any),
    ("/bin/false", AllowedArguments::Any),
    ("/bin/true", AllowedArguments::Any),
    ("/usr/bin/cat", AllowedArguments::Any),
    ("/usr/bin/echo", AllowedArguments::Any),
    ("printf", AllowedArguments::AnyText),
    ("test", AllowedArguments::Test),
    ("[", AllowedArguments::Test),
    ("find", AllowedArguments::Chosen),
    ("sed", AllowedArguments::Edits),
    ("node", AllowedArguments::Version),
    ("python", AllowedArguments::Version),
    ("python3", AllowedArguments::Version),
    ("chmod", AllowedArguments::Files("v")),
    ("cp", AllowedArguments::Files("a f n p v")),
    ("mkdir", AllowedArguments::Files("p v")),
    ("mv", AllowedArguments::Files("f n v")),
    ("rm", AllowedArguments::Files("f v")),
    ("tee", AllowedArguments::Files("a")),
    ("sort", AllowedArguments::Files("b d f g h i M n r R s u V z")),
    ("touch", AllowedArguments::Files("a c m")),
    ("uniq", AllowedArguments::Files("c d i u z")),
];

/// Options of a shell that change its error handling, not the commands that it runs.
const MODES: [&str; 12] =
    ["-e", "-u", "-x", "-eu", "-ue", "-ex", "-eux", "+e", "-o", "errexit", "pipefail", "-euo"];

/// Judges the command `name words`.
pub(super) fn judge(context: &LineContext<'_>, name: &str, words: &[ShellWord]) -> CommandClass {
    let kind = match name {
        "cd" => directory(context, words),
        "set" => modes(words),
        "export" => exports(words),
        "read" => reads(words),
        name => program(name, words),
    };
    match kind {
        Ok(()) => CommandClass::Harmless,
        Err(why) => CommandClass::Refused(why, None),
    }
}

fn program(name: &str, words: &[ShellWord]) -> Result<(), String> {
    let unsure = || Err(format!("what {name} does is not known"));
    let Some((_, args)) = PROGRAMS.iter().find(|(known, _)| *known == name) else {
        return unsure();
    };
    let fits = match args {
        AllowedArguments::Any => true,
        AllowedArguments::AnyText => words.first().is_none_or(ShellWord::is_operand),
        AllowedArguments::Test => is_test(words),
        AllowedArguments::Version => matches!(words, [word] if word.known() == Some("--version")),
        AllowedArguments::Chosen => words.iter().all(is_choice),
        AllowedArguments::Edits => return sed::judge(words),
        AllowedArguments::Files(flags) => {
            let given =
                OptionTable { flags, valued: "" }.read(words).map_err(|o| o.because(name))?;
            return given.operands.iter().try_for_each(git_paths::written);
        }
    };
    if fits { Ok(()) } else { unsure() }
}

/// Operators of a test between two texts or numbers.
const COMPARING: [&str; 9] = ["=", "==", "!=", "-eq", "-ne", "-gt", "-ge", "-lt", "-le"];

/// Returns whether a test evaluates nothing: `-v` does in some shells, and an unknown word may be it.
fn is_test(words: &[ShellWord]) -> bool {
    let words = match words.split_last() {
        Some((last, words)) if last.known() == Some("]") => words,
        _ => words,
    };
    let words = words.strip_prefix(&[ShellWord::plain("!")]).unwrap_or(words);
    match words {
        [operator, text] if matches!(operator.known(), Some("-n" | "-z")) => text.is_one(),
        [one, operator, other]
            if operator.known().is_some_and(|word| COMPARING.contains(&word)) =>
        {
            one.is_one() && other.is_one()
        }
        words => words.iter().all(|word| word.known().is_some_and(|text| text != "-v")),
    }
}

/// Options of find that choose, or show.
const CHOOSING: [&str; 22] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-type",
    "-maxdepth",
    "-mindepth",
    "-newer",
    "-mtime",
    "-mmin",
    "-size",
    "-empty",
    "-not",
    "-o",
    "-or",
    "-a",
    "-and",
    "-print",
    "-print0",
    "-prune",
    "-readable",
    "-executable",
];

fn is_choice(word: &ShellWord) -> bool {
    word.is_operand()
        || word.known().is_some_and(|text| {
            let number = text
                .strip_prefix('-')
                .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()));
            number || CHOOSING.contains(&text)
        })
}

fn directory(context: &LineContext<'_>, words: &[ShellWord]) -> Result<(), String> {
    let known = match words {
        [directory] if directory.top => return Ok(()),
        [directory] => directory.known(),
        _ => None,
    };
    match known {
        Some(directory) if !directory.starts_with('-') && git_paths::enter(context, directory) => {
            Ok(())
        }
        _ => Err("cd leads out of the workspace, or to an unknown place".to_owned()),
    }
}

fn modes(words: &[ShellWord]) -> Result<(), String> {
    let known = |word: &ShellWord| word.known().is_some_and(|text| MODES.contains(&text));
    match words.iter().all(known) && !words.is_empty() {
        true => Ok(()),
        false => Err("what set changes is not known".to_owned()),
    }
}

/// Judges `read -r NAME …`, which sets variables.
fn reads(words: &[ShellWord]) -> Result<(), String> {
    let names = words.strip_prefix(&[ShellWord::plain("-r")]).unwrap_or(words);
    names.iter().try_for_each(|name| match name.known() {
        Some(name) => assignments::is_kind(name, &ShellWord::anything()),
        None => Err("what read sets is not known".to_owned()),
    })
}

fn exports(words: &[ShellWord]) -> Result<(), String> {
    words.iter().try_for_each(|word| match assignments::split(word) {
        Some((name, value)) => assignments::is_kind(&name, &value),
        None => Err("what export changes is not known".to_owned()),
    })
}
