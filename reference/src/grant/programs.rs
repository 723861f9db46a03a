//! Programs besides git that a line may run: which of them leave repositories alone.

use super::assign;
use super::judge::{Part, Scene};
use super::options::Options;
use super::place;
use super::sed;
use super::word::Word;

/// The arguments that a program may have.
#[derive(Debug, Clone, Copy)]
enum Args {
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
const PROGRAMS: &[(&str, Args)] = &[
    (":", Args::Any),
    ("basename", Args::Any),
    ("cat", Args::Any),
    ("cmp", Args::Any),
    ("comm", Args::Any),
    ("cut", Args::Any),
    ("date", Args::Any),
    ("df", Args::Any),
    ("diff", Args::Any),
    ("dirname", Args::Any),
    ("du", Args::Any),
    ("echo", Args::Any),
    ("egrep", Args::Any),
    ("exit", Args::Any),
    ("expr", Args::Any),
    ("false", Args::Any),
    ("fgrep", Args::Any),
    ("fold", Args::Any),
    ("grep", Args::Any),
    ("head", Args::Any),
    ("id", Args::Any),
    ("jq", Args::Any),
    ("ls", Args::Any),
    ("md5sum", Args::Any),
    ("nl", Args::Any),
    ("paste", Args::Any),
    ("printenv", Args::Any),
    ("pwd", Args::Any),
    ("readlink", Args::Any),
    ("realpath", Args::Any),
    ("rev", Args::Any),
    ("seq", Args::Any),
    ("sha1sum", Args::Any),
    ("sha256sum", Args::Any),
    ("sleep", Args::Any),
    ("stat", Args::Any),
    ("tac", Args::Any),
    ("tail", Args::Any),
    ("tr", Args::Any),
    ("true", Args::Any),
    ("type", Args::Any),
    ("uname", Args::Any),
    ("wait", Args::Any),
    ("wc", Args::Any),
    ("which", Args::Any),
    ("whoami", Args::Any),
    ("yes", Args::Any),
    ("/bin/cat", Args::Any),
    ("/bin/echo", Args::Any),
    ("/bin/false", Args::Any),
    ("/bin/true", Args::Any),
    ("/usr/bin/cat", Args::Any),
    ("/usr/bin/echo", Args::Any),
    ("printf", Args::AnyText),
    ("test", Args::Test),
    ("[", Args::Test),
    ("find", Args::Chosen),
    ("sed", Args::Edits),
    ("node", Args::Version),
    ("python", Args::Version),
    ("python3", Args::Version),
    ("chmod", Args::Files("v")),
    ("cp", Args::Files("a f n p v")),
    ("mkdir", Args::Files("p v")),
    ("mv", Args::Files("f n v")),
    ("rm", Args::Files("f v")),
    ("tee", Args::Files("a")),
    ("sort", Args::Files("b d f g h i M n r R s u V z")),
    ("touch", Args::Files("a c m")),
    ("uniq", Args::Files("c d i u z")),
];

/// Options of a shell that change its error handling, not the commands that it runs.
const MODES: [&str; 12] =
    ["-e", "-u", "-x", "-eu", "-ue", "-ex", "-eux", "+e", "-o", "errexit", "pipefail", "-euo"];

/// Judges the command `name words`.
pub(super) fn judge(scene: &Scene<'_>, name: &str, words: &[Word]) -> Part {
    let kind = match name {
        "cd" => folder(scene, words),
        "set" => modes(words),
        "export" => exports(words),
        "read" => reads(words),
        name => program(name, words),
    };
    match kind {
        Ok(()) => Part::Harmless,
        Err(why) => Part::Refused(why, None),
    }
}

fn program(name: &str, words: &[Word]) -> Result<(), String> {
    let unsure = || Err(format!("what {name} does is not known"));
    let Some((_, args)) = PROGRAMS.iter().find(|(known, _)| *known == name) else {
        return unsure();
    };
    let fits = match args {
        Args::Any => true,
        Args::AnyText => words.first().is_none_or(Word::is_operand),
        Args::Test => is_test(words),
        Args::Version => matches!(words, [word] if word.known() == Some("--version")),
        Args::Chosen => words.iter().all(is_choice),
        Args::Edits => return sed::judge(words),
        Args::Files(flags) => {
            let given = Options { flags, valued: "" }.read(words).map_err(|o| o.because(name))?;
            return given.operands.iter().try_for_each(place::written);
        }
    };
    if fits { Ok(()) } else { unsure() }
}

/// Operators of a test between two texts or numbers.
const COMPARING: [&str; 9] = ["=", "==", "!=", "-eq", "-ne", "-gt", "-ge", "-lt", "-le"];

/// Returns whether a test evaluates nothing: `-v` does in some shells, and an unknown word may be it.
fn is_test(words: &[Word]) -> bool {
    let words = match words.split_last() {
        Some((last, words)) if last.known() == Some("]") => words,
        _ => words,
    };
    let words = words.strip_prefix(&[Word::plain("!")]).unwrap_or(words);
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

fn is_choice(word: &Word) -> bool {
    word.is_operand()
        || word.known().is_some_and(|text| {
            let number = text
                .strip_prefix('-')
                .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()));
            number || CHOOSING.contains(&text)
        })
}

fn folder(scene: &Scene<'_>, words: &[Word]) -> Result<(), String> {
    let known = match words {
        [folder] if folder.top => return Ok(()),
        [folder] => folder.known(),
        _ => None,
    };
    match known {
        Some(folder) if !folder.starts_with('-') && place::within(scene, folder) => Ok(()),
        _ => Err("cd leads out of the workspace, or nobody knows where".to_owned()),
    }
}

fn modes(words: &[Word]) -> Result<(), String> {
    let known = |word: &Word| word.known().is_some_and(|text| MODES.contains(&text));
    match words.iter().all(known) && !words.is_empty() {
        true => Ok(()),
        false => Err("what set changes is not known".to_owned()),
    }
}

/// Judges `read -r NAME …`, which sets variables.
fn reads(words: &[Word]) -> Result<(), String> {
    let names = words.strip_prefix(&[Word::plain("-r")]).unwrap_or(words);
    names.iter().try_for_each(|name| match name.known() {
        Some(name) => assign::is_kind(name, &Word::anything()),
        None => Err("what read sets is not known".to_owned()),
    })
}

fn exports(words: &[Word]) -> Result<(), String> {
    words.iter().try_for_each(|word| match assign::split(word) {
        Some((name, value)) => assign::is_kind(&name, &value),
        None => Err("what export changes is not known".to_owned()),
    })
}
