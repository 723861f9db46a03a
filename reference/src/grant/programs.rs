//! Programs besides git that a line may run: which of them leave repositories alone.

use super::assign;
use super::judge::{Part, Scene};
use super::options::Options;
use super::place;
use super::word::Word;

/// The arguments that a program may have.
#[derive(Debug, Clone, Copy)]
enum Args {
    /// Anything: it writes nothing but its output.
    Any,
    /// Anything, if no option comes first.
    AnyText,
    /// Words that are all known, without `-v`, which evaluates in some shells.
    Known,
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
    ("test", Args::Known),
    ("[", Args::Known),
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
        Args::Known => words.iter().all(|word| word.known().is_some_and(|text| text != "-v")),
        Args::Files(flags) => {
            let given = Options { flags, valued: "" }.read(words).map_err(|o| o.because(name))?;
            return given.operands.iter().try_for_each(place::written);
        }
    };
    if fits { Ok(()) } else { unsure() }
}

fn folder(scene: &Scene<'_>, words: &[Word]) -> Result<(), String> {
    let known = match words {
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

fn exports(words: &[Word]) -> Result<(), String> {
    words.iter().try_for_each(|word| match assign::split(word) {
        Some((name, value)) => assign::is_kind(&name, &value),
        None => Err("what export changes is not known".to_owned()),
    })
}
