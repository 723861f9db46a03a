//! Names that are there while the command runs and gone at its end: what they were made for has
//! happened. Main type: [`TransientNames`].

use boxproof_cases::Case;

use super::stream::RawStreams;
use crate::execution::{ArmKind, OracleReading};
use crate::sweep::Baseline;
use crate::workspace::ArmWorkspace;

/// The names that are to stay absent, watched while the command runs; none where the kernel tells of none.
#[derive(Debug)]
pub(super) struct TransientNames(#[cfg(target_os = "linux")] linux::NameWatch);

impl TransientNames {
    /// Watches the names that `case` wants absent, where they are laid out. Without an inotify
    /// instance none is watched.
    ///
    /// # Errors
    /// An unknown variable.
    pub(super) fn watch(
        case: &Case,
        (kind, baseline): (ArmKind, &Baseline),
        workspace: &ArmWorkspace,
    ) -> Result<Self, String> {
        let is_asked = kind == ArmKind::Confined && !baseline.has_helpers() && is_of_act(case);
        let asked = is_asked.then_some((case, workspace));
        #[cfg(target_os = "linux")]
        return linux::NameWatch::new(asked).map(Self);
        #[cfg(not(target_os = "linux"))]
        Ok(asked.map_or(Self(), |_| Self()))
    }

    /// Lets each of `readings` fail whose name was there meanwhile: with content, or if a probe of
    /// `runs` says that it made this very name. A sandbox may hold a name by an empty file or
    /// directory of its own, which refuses that act.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "nothing is watched"))]
    pub(super) fn mark(&self, readings: &mut [OracleReading], runs: &[RawStreams]) {
        #[cfg(target_os = "linux")]
        self.0.mark(readings, runs);
    }
}

/// Returns whether a name that appears can only be the work of the judged act: what is to be allowed
/// may make files for a while, and so may earlier steps and stimuli.
fn is_of_act(case: &Case) -> bool {
    case.expect.decision.is_negative() && case.steps.len() == 1 && case.during.is_empty()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use boxproof_cases::case::Oracle;
    use boxproof_probes::ActOutcome;
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

    use super::*;
    use crate::execution::ProbeObservation;

    /// The names that are to stay absent, watched by inotify(7).
    #[derive(Debug, Default)]
    pub(super) struct NameWatch {
        notice: Option<Inotify>,
        names: Vec<WatchedName>,
    }

    /// The watched name of an oracle.
    #[derive(Debug)]
    struct WatchedName {
        /// The index of the oracle.
        oracle: usize,
        watch: WatchDescriptor,
        path: PathBuf,
        name: OsString,
        /// True if it is what the probe is told to make.
        is_probed: bool,
    }

    /// The names that appeared, each with its watch.
    #[derive(Debug, Default)]
    struct SeenNames {
        made: BTreeSet<(WatchDescriptor, OsString)>,
        /// Those that were written to, or came with their content.
        filled: BTreeSet<(WatchDescriptor, OsString)>,
    }

    impl NameWatch {
        /// Watches the names that the case, if there is one, wants absent.
        pub(super) fn new(asked: Option<(&Case, &ArmWorkspace)>) -> Result<Self, String> {
            let mut watched = Self::default();
            let Some((case, workspace)) = asked else { return Ok(watched) };
            let act = case.steps.last().map(|step| step.act.strings()).unwrap_or_default();
            let probed: Vec<PathBuf> =
                act.into_iter().filter_map(|word| workspace.place(word).ok()).collect();
            for (at, oracle) in case.expect.oracle.iter().enumerate() {
                if let Oracle::Absent(path) = oracle {
                    let place = workspace.place(path)?;
                    watched.add(at, &place, probed.contains(&place));
                }
            }
            Ok(watched)
        }

        /// Watches `place` in the directory that it would be in, if that is there: an entry of a directory
        /// that a sandbox may put over a missing one says nothing of the host.
        fn add(&mut self, oracle: usize, place: &Path, is_probed: bool) {
            let (Some(directory), Some(name)) = (place.parent(), place.file_name()) else { return };
            let flags = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO;
            let flags = flags | AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_ONLYDIR;
            let flags = flags | AddWatchFlags::IN_DONT_FOLLOW;
            let init = || Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
            self.notice = self.notice.take().or_else(init);
            let watch =
                self.notice.as_ref().and_then(|notice| notice.add_watch(directory, flags).ok());
            let (path, name) = (place.to_owned(), name.to_owned());
            self.names.extend(watch.map(|watch| WatchedName {
                oracle,
                watch,
                path,
                name,
                is_probed,
            }));
        }

        /// As [`TransientNames::mark`].
        pub(super) fn mark(&self, readings: &mut [OracleReading], runs: &[RawStreams]) {
            if self.names.is_empty() {
                return;
            }
            let seen = self.read_events();
            let by_probe = runs.iter().any(probe_succeeded);
            for watched in &self.names {
                let key = (watched.watch, watched.name.clone());
                let is_reported = by_probe && watched.is_probed;
                let is_made = seen.filled.contains(&key) || is_reported && seen.made.contains(&key);
                let is_gone = watched.path.symlink_metadata().is_err();
                let Some(reading) = readings.get_mut(watched.oracle) else { continue };
                if is_made && is_gone && reading.holds {
                    reading.holds = false;
                    "it was there while the command ran, and is gone".clone_into(&mut reading.saw);
                }
            }
        }

        fn read_events(&self) -> SeenNames {
            let mut seen = SeenNames::default();
            let events = || self.notice.as_ref()?.read_events().ok();
            for event in std::iter::from_fn(events).flatten() {
                let Some(name) = event.name else { continue };
                let key = (event.wd, name);
                let fills = AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_MOVED_TO;
                if event.mask.intersects(fills) {
                    seen.filled.insert(key.clone());
                }
                seen.made.insert(key);
            }
            seen
        }
    }

    /// Returns whether the probe says that it did what it was to do.
    fn probe_succeeded(run: &RawStreams) -> bool {
        let ProbeObservation::Seen(record) = &run.report.observation else { return false };
        record.outcome == ActOutcome::Succeeded
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;

    use boxproof_probes::{ActOutcome, ProbeRecord};
    use rstest::rstest;

    use super::*;
    use crate::execution::{ProbeObservation, ProcessExit};
    use crate::testing::case;

    const CONTAINED: (&str, &str) = ("contained: {}", "twin: {none: a test}\n");
    const ALLOWED: (&str, &str) = ("allowed: {}", "");

    /// A run whose probe says `outcome`.
    fn run(outcome: ActOutcome) -> RawStreams {
        let mut run = RawStreams::unstarted(ProcessExit::Code(0), true);
        let record =
            ProbeRecord { probe: "create".to_owned(), outcome, detail: Default::default() };
        run.report.observation = ProbeObservation::Seen(record);
        run
    }

    fn refused() -> ActOutcome {
        ActOutcome::Refused { errno: "EACCES".to_owned(), call: "openat".to_owned() }
    }

    /// Returns whether the oracle `absent` of `path` holds after `act`.
    fn holds(
        path: &str,
        (decision, twin): (&str, &str),
        outcome: ActOutcome,
        act: fn(&std::path::Path),
    ) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let text = "fixture: {mine: x, d: {dir: {}}}\nact: {probe: create, path: n, text: x}\n";
        let case =
            case(&format!("{text}expect: {{{decision}, oracle: [{{absent: {path}}}]}}\n{twin}"));
        let root = directory.path().join("arm");
        let workspace = ArmWorkspace::lay_out(&case, &root, "/p".as_ref(), "bx7").unwrap();
        let baseline = Baseline::without_helpers();
        let confined = (ArmKind::Confined, &baseline);
        let names = TransientNames::watch(&case, confined, &workspace).unwrap();
        act(&workspace.ws());
        let mut readings = [OracleReading {
            oracle: "absent".to_owned(),
            positive: false,
            holds: true,
            saw: String::new(),
            unread: false,
        }];
        names.mark(&mut readings, &[run(outcome)]);
        readings[0].holds
    }

    fn write(ws: &std::path::Path) {
        fs::write(ws.join("n"), "x").unwrap();
        fs::remove_file(ws.join("n")).unwrap();
    }

    fn rename(ws: &std::path::Path) {
        fs::rename(ws.join("mine"), ws.join("n")).unwrap();
        fs::rename(ws.join("n"), ws.join("mine")).unwrap();
    }

    fn hold_by_directory(ws: &std::path::Path) {
        fs::create_dir(ws.join("n")).unwrap();
        fs::remove_dir(ws.join("n")).unwrap();
    }

    fn hold_by_file(ws: &std::path::Path) {
        fs::write(ws.join("n"), "").unwrap();
        fs::remove_file(ws.join("n")).unwrap();
    }

    fn write_below(ws: &std::path::Path) {
        fs::create_dir(ws.join("n")).unwrap();
        fs::write(ws.join("n/m"), "x").unwrap();
        fs::remove_dir_all(ws.join("n")).unwrap();
    }

    fn write_beside(ws: &std::path::Path) {
        fs::write(ws.join("d/n"), "x").unwrap();
        fs::remove_file(ws.join("d/n")).unwrap();
    }

    fn hold_in_directory(ws: &std::path::Path) {
        fs::create_dir(ws.join("d/n")).unwrap();
        fs::remove_dir(ws.join("d/n")).unwrap();
    }

    #[rstest]
    #[case::untouched("n", ActOutcome::Succeeded, |_: &std::path::Path| {}, true)]
    #[case::written("n", ActOutcome::Succeeded, write, false)]
    #[case::written_and_denied("n", refused(), write, false)]
    #[case::renamed_and_denied("n", refused(), rename, false)]
    #[case::made("n", ActOutcome::Succeeded, hold_by_directory, false)]
    #[case::held_by_a_directory("n", refused(), hold_by_directory, true)]
    #[case::held_by_a_file("n", refused(), hold_by_file, true)]
    #[case::beside("n", ActOutcome::Succeeded, write_beside, true)]
    #[case::of_another_act("d/n", ActOutcome::Succeeded, hold_in_directory, true)]
    #[case::written_by_another_act("d/n", ActOutcome::Succeeded, write_beside, false)]
    #[case::below("n/m", ActOutcome::Succeeded, write_below, true)]
    fn what_was_there_meanwhile_shows(
        #[case] path: &str,
        #[case] outcome: ActOutcome,
        #[case] act: fn(&std::path::Path),
        #[case] expected: bool,
    ) {
        assert_eq!(holds(path, CONTAINED, outcome, act), expected);
    }

    #[test]
    fn what_is_allowed_may_make_files_for_a_while() {
        assert!(holds("n", ALLOWED, ActOutcome::Succeeded, write));
    }
}
