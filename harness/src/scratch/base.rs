//! Bases of scratch directories, and making these. Main function: [`make`].

use std::error::Error;
use std::fmt;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use crate::removal::OwnedDirectory;

/// The number of times that the base is made anew when other runs take it away.
const ATTEMPTS: usize = 100;

/// The mode of directories that a run makes above its own. The sticky bit is a mark that comes with
/// mkdir(2) and goes with rmdir(2): by it the last of several runs knows what another one made.
const MARKED: u32 = 0o1755;

/// The directories in which sandboxes put an object of their own, or grant one.
const REPLACED: [&str; 4] = ["/tmp", "/var/tmp", "/dev", "/run"];

/// Characters that have a meaning in a pattern, a shell line or a template.
const MEANING: &str = "\\[]{}*?$()`\"';&|<>";

/// A place where a scratch directory, or an exported script, would make verdicts wrong.
#[derive(Debug)]
pub(crate) struct RefusedBase {
    what: &'static str,
    flag: &'static str,
    base: PathBuf,
    why: String,
}

impl RefusedBase {
    /// Returns whether `error` is one.
    pub(crate) fn is(error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some()
    }
}

impl fmt::Display for RefusedBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.base.display().to_string();
        let (base, Self { what, flag, why, .. }) = (base.escape_debug(), self);
        write!(f, "{what} {base}: {why}; `{flag} DIR` names another")
    }
}

impl Error for RefusedBase {}

/// The result of [`make`].
#[derive(Debug)]
pub(super) struct MadeBase {
    /// The base, without links.
    pub(super) base: PathBuf,
    pub(super) directory: OwnedDirectory,
    /// The lock on the directory.
    pub(super) lock: File,
    /// Directories that go with the run when they are empty, innermost first.
    pub(super) emptied: Vec<PathBuf>,
}

/// Refuses places where sandboxes put something of their own, and names that mean something else
/// in a pattern, a shell line or a template.
///
/// # Errors
/// [`RefusedBase`].
pub(super) fn check(base: &Path) -> io::Result<()> {
    check_called(base, "scratch directory", "--scratch")
}

/// Refuses the same places for a script, whose arms run where it lies.
///
/// # Errors
/// [`RefusedBase`].
pub(crate) fn check_export(directory: &Path) -> io::Result<()> {
    check_called(directory, "script", "--export")
}

fn check_called(base: &Path, what: &'static str, flag: &'static str) -> io::Result<()> {
    let refused = |why: String| {
        let refused = RefusedBase { what, flag, base: base.to_owned(), why };
        Err(io::Error::new(io::ErrorKind::InvalidInput, refused))
    };
    let real = resolved(base)?;
    let places = REPLACED.map(PathBuf::from);
    let real_places = places.iter().filter_map(|place| place.canonicalize().ok());
    let place = places.iter().cloned().chain(real_places).find(|place| real.starts_with(place));
    if let Some(place) = place {
        let place = place.display();
        return refused(format!("sandboxes put something of their own over {place}"));
    }
    let Some(text) = real.to_str() else { return refused("it is not UTF-8".to_owned()) };
    match text.chars().find(|c| c.is_control() || MEANING.contains(*c)) {
        Some(c) => {
            refused(format!("{c:?} means something else in a pattern, a shell line or a template"))
        }
        None => Ok(()),
    }
}

/// Resolves the links of `path`, as far as it exists.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = found else { return Ok(path) };
    Ok(path.strip_prefix(above).map_or_else(|_| real.clone(), |rest| real.join(rest)))
}

/// Makes `base` and the locked directory `run_id` in it.
///
/// # Errors
/// The part that cannot be made.
pub(super) fn make(base: &Path, run_id: &str) -> io::Result<MadeBase> {
    let mut emptied = Vec::new();
    for _ in 0..ATTEMPTS {
        let made = make_base(base, &mut emptied).and_then(|base| {
            check(&base)?;
            let (directory, lock) = make_locked(&base, run_id)?;
            Ok((base, directory, lock))
        });
        match made {
            // A run that ends right now has taken the empty base away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                remove_empty(&emptied);
                return Err(error);
            }
            Ok((real, directory, lock)) => {
                // The run's directory is in there by now, so that no other run takes them away.
                let emptied = made_by_runs(&real, &emptied);
                return Ok(MadeBase { base: real, directory, lock, emptied });
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "it is removed again and again"))
}

/// Lists `base` and what is above it as far as runs made it: this one `made`, or another marked.
fn made_by_runs(base: &Path, made: &[PathBuf]) -> Vec<PathBuf> {
    let is_marked = |path: &Path| {
        path.symlink_metadata().is_ok_and(|meta| {
            meta.is_dir()
                && meta.mode() & 0o7777 == MARKED
                && meta.uid() == Uid::effective().as_raw()
        })
    };
    let is_of_a_run = |path: &&Path| made.iter().any(|known| known == path) || is_marked(path);
    base.ancestors().take_while(is_of_a_run).map(Path::to_owned).collect()
}

/// Makes `base` and what is missing above it, adds that to `emptied`, and returns the base without
/// links.
fn make_base(base: &Path, emptied: &mut Vec<PathBuf>) -> io::Result<PathBuf> {
    let base = std::path::absolute(base)?;
    let missing: Vec<&Path> = base.ancestors().take_while(|above| !above.exists()).collect();
    for path in missing.into_iter().rev() {
        match DirBuilder::new().mode(MARKED).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        let real = path.canonicalize()?;
        if !emptied.contains(&real) {
            emptied.insert(0, real);
        }
    }
    base.canonicalize()
}

/// Makes the directory of a run under another name first: one that has its name and no lock is
/// that of a dead run.
fn make_locked(base: &Path, run_id: &str) -> io::Result<(OwnedDirectory, File)> {
    let mut directory = OwnedDirectory::create(&base.join(format!(".{run_id}")))?;
    // On file systems without locks it stays unlocked, and is never taken for a dead one there.
    let lock = directory.reopen()?;
    let _ = lock.try_lock();
    directory.rename(run_id)?;
    Ok((directory, lock))
}

/// Removes those of `directories` that are empty, the innermost first.
pub(super) fn remove_empty(directories: &[PathBuf]) {
    for directory in directories {
        // It fails while another run is in there, as it should.
        let _ = std::fs::remove_dir(directory);
    }
}

/// Returns the default base of scratch directories: never a place where sandboxes put objects of
/// their own.
pub fn default_base() -> PathBuf {
    if Uid::effective().is_root() {
        return "/var/cache/boxproof".into();
    }
    let named = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    cache.unwrap_or_else(|| "/var/cache".into()).join("boxproof")
}

/// Returns the default base of those with ordinary names: the place of every program's cache.
pub fn ordinary_base() -> PathBuf {
    let base = default_base();
    base.parent().map_or_else(|| base.clone(), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::below_tmp("/tmp/a", "over /tmp")]
    #[case::tmp_itself("/tmp", "over /tmp")]
    #[case::dots("/var/cache/../tmp/a", "over /var/tmp")]
    #[case::shared_memory("/dev/shm/x", "over /dev")]
    #[case::pattern("/var/cache/a[b]", "'['")]
    #[case::backslash("/var/cache/a\\b", "'\\\\'")]
    #[case::command("/var/cache/$(x)", "'$'")]
    #[case::quote("/var/cache/it's", "'\\''")]
    #[case::line("/var/cache/a\nb", "'\\n'")]
    #[case::template("/var/cache/{{ x }}", "'{'")]
    fn places_that_make_verdicts_wrong_are_refused(#[case] base: &str, #[case] why: &str) {
        let error = check(base.as_ref()).unwrap_err();
        let told = error.to_string();
        assert!(told.contains(why) && told.contains("`--scratch DIR` names another"), "{told}");
        assert!(RefusedBase::is(&error));
    }

    #[test]
    fn scripts_are_refused_where_scratch_directories_are() {
        let told = check_export("/tmp/a".as_ref()).unwrap_err().to_string();
        assert!(told.starts_with("script /tmp/a: sandboxes put something"), "{told}");
        assert!(told.ends_with("`--export DIR` names another"), "{told}");
    }

    #[rstest]
    #[case("/var/cache/boxproof")]
    #[case("/var/cache/two words, äöü: 100%s -rf #1 ~ + @ = !")]
    #[case("/tmpfiles/x")]
    #[case("relative")]
    fn other_places_are_taken(#[case] base: &str) {
        // The tests may run below /tmp or /var/tmp.
        let Err(error) = check(base.as_ref()) else { return };
        let is_of_the_checkout =
            ["over /tmp", "over /var/tmp"].map(|why| error.to_string().contains(why));
        assert!(base == "relative" && is_of_the_checkout.contains(&true), "{error}");
    }

    #[test]
    fn a_link_to_a_refused_place_is_refused() {
        let place = tempfile::tempdir_in("/var").unwrap();
        std::os::unix::fs::symlink("/tmp", place.path().join("link")).unwrap();
        let error = check(&place.path().join("link/below")).unwrap_err();
        assert!(error.to_string().contains("over /tmp"), "{error}");
    }

    #[test]
    fn what_was_made_is_known_and_goes_again() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().canonicalize().unwrap();
        let mut emptied = Vec::new();
        make_base(&real.join("a/b"), &mut emptied).unwrap();
        assert_eq!(emptied, [real.join("a/b"), real.join("a")]);
        assert_eq!(made_by_runs(&real.join("a/b"), &emptied), emptied);
        remove_empty(&emptied);
        assert_eq!(std::fs::read_dir(&real).unwrap().count(), 0);
    }

    /// The last run takes away what another one made, and nothing that was there before.
    #[test]
    fn what_another_run_made_is_known_by_its_mark() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().canonicalize().unwrap();
        let [base, given] = ["a/b", "given"].map(|name| real.join(name));
        std::fs::create_dir(&given).unwrap();
        make_base(&base, &mut Vec::new()).unwrap();
        let mut of_this_run = Vec::new();
        make_base(&base, &mut of_this_run).unwrap();
        assert_eq!(made_by_runs(&base, &of_this_run), [base.clone(), real.join("a")]);
        assert!(made_by_runs(&given, &[]).is_empty());
        make_base(&given.join("c"), &mut Vec::new()).unwrap();
        assert_eq!(made_by_runs(&given.join("c"), &[]), [given.join("c")]);
    }
}
