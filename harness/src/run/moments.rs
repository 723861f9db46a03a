//! The moments of one run as they are seen, and what is still to happen at them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use boxproof_cases::case::{BackendStimulus, DuringEvent, Moment};
use boxproof_probes::ProbeEvent;

use crate::execution::MomentStamp;

/// The moments that were seen, each with its first time.
#[derive(Debug)]
pub(super) struct MomentLog(Vec<(Moment, Instant)>);

impl MomentLog {
    /// The log of a run that was started then.
    pub(super) fn new(started: Instant) -> Self {
        Self(vec![(Moment::Start, started)])
    }

    /// Notes that `moment` is now, unless it was seen before.
    pub(super) fn note(&mut self, moment: Moment) {
        if self.at(&moment).is_none() {
            self.0.push((moment, Instant::now()));
        }
    }

    /// Returns the time of `moment`.
    pub(super) fn at(&self, moment: &Moment) -> Option<Instant> {
        self.0.iter().find(|(seen, _)| seen == moment).map(|(_, at)| *at)
    }

    /// Returns every moment in order, with its distance from the start in milliseconds.
    pub(super) fn stamps(&self) -> Vec<MomentStamp> {
        let start = self.0[0].1;
        let stamp = |(moment, at): &(Moment, Instant)| MomentStamp {
            moment: moment.clone(),
            at_ms: at.saturating_duration_since(start).as_secs_f64() * 1000.0,
        };
        self.0.iter().map(stamp).collect()
    }
}

/// The position up to which one stream has been read for the act's announcements.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct MarkerScanner(usize);

impl MarkerScanner {
    /// Notes what `bytes`, of which more has come since last time, announces under `nonce`.
    pub(super) fn scan_markers(&mut self, nonce: &str, bytes: &[u8], log: &mut MomentLog) {
        let Some(end) = bytes[self.0..].iter().rposition(|byte| *byte == b'\n') else { return };
        let lines = &bytes[self.0..=self.0 + end];
        self.0 += end + 1;
        for event in boxproof_probes::events(nonce, lines) {
            log.note(match event {
                ProbeEvent::Ready => Moment::Ready,
                ProbeEvent::Mark(word) => Moment::Mark(word),
            });
        }
    }
}

/// The events to come, each of which happens once.
#[derive(Debug)]
pub(super) struct EventScript(Vec<(DuringEvent, bool)>);

impl EventScript {
    /// Makes a script with every event still to come.
    pub(super) fn new(during: &[DuringEvent]) -> Self {
        Self(during.iter().map(|event| (event.clone(), false)).collect())
    }

    /// The first event that is due, with its number from 1; it counts as done.
    pub(super) fn next(&mut self, log: &MomentLog) -> Option<(usize, BackendStimulus)> {
        let now = Instant::now();
        let due =
            |(event, done): &(DuringEvent, bool)| !done && at(event, log).is_some_and(|t| t <= now);
        let number = self.0.iter().position(due)?;
        self.0[number].1 = true;
        Some((number + 1, self.0[number].0.what.clone()))
    }

    /// Returns the time of the next event whose time is known.
    pub(super) fn due(&self, log: &MomentLog) -> Option<Instant> {
        self.0.iter().filter(|(_, done)| !done).filter_map(|(event, _)| at(event, log)).min()
    }
}

fn at(event: &DuringEvent, log: &MomentLog) -> Option<Instant> {
    Some(log.at(&event.when)? + Duration::from_millis(event.after_ms))
}

/// Files whose being there is a moment.
#[derive(Debug, Default)]
pub(super) struct MomentFiles {
    awaited: Vec<(Moment, PathBuf)>,
    #[cfg(target_os = "linux")]
    notice: Option<nix::sys::inotify::Inotify>,
}

impl MomentFiles {
    /// Watches `awaited`, each in a directory that is there already.
    ///
    /// # Errors
    /// The error of a directory that cannot be watched.
    pub(super) fn new(awaited: Vec<(Moment, PathBuf)>) -> std::io::Result<Self> {
        #[cfg(target_os = "linux")]
        let notice = linux::notice(&awaited)?;
        Ok(Self {
            awaited,
            #[cfg(target_os = "linux")]
            notice,
        })
    }

    /// Notes every file that is there.
    pub(super) fn note_present_files(&mut self, log: &mut MomentLog) {
        #[cfg(target_os = "linux")]
        while self.notice.as_ref().is_some_and(|notice| notice.read_events().is_ok()) {}
        self.awaited.retain(|(moment, path)| {
            let there = path.symlink_metadata().is_ok();
            if there {
                log.note(moment.clone());
            }
            !there
        });
    }

    /// Returns the descriptor to poll for a file to appear; nothing once all are there.
    pub(super) fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        #[cfg(target_os = "linux")]
        if !self.awaited.is_empty() {
            return self.notice.as_ref().map(std::os::fd::AsFd::as_fd);
        }
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

    pub(super) fn notice(awaited: &[(Moment, PathBuf)]) -> std::io::Result<Option<Inotify>> {
        if awaited.is_empty() {
            return Ok(None);
        }
        let notice = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        let flags = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO;
        for directory in awaited.iter().filter_map(|(_, path)| path.parent()) {
            notice.add_watch(directory, flags)?;
        }
        Ok(Some(notice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_cases::case::SignalTarget;
    use boxproof_probes::encode_event;

    fn event(when: Moment, after_ms: u64) -> DuringEvent {
        let what = BackendStimulus::Signal("TERM".to_owned(), SignalTarget::Backend);
        DuringEvent { when, after_ms, what }
    }

    #[test]
    fn a_moment_is_the_first_time_it_is_seen() {
        let mut log = MomentLog::new(Instant::now());
        log.note(Moment::Ready);
        let first = log.at(&Moment::Ready).unwrap();
        log.note(Moment::Ready);
        assert_eq!(log.at(&Moment::Ready), Some(first));
        assert_eq!(log.at(&Moment::Exit), None);
        let stamps = log.stamps();
        assert_eq!(stamps.len(), 2);
        assert!(stamps[0].at_ms == 0.0 && stamps[1].at_ms >= 0.0);
    }

    #[test]
    fn announcements_are_heard_line_by_line_and_once() {
        let (mut log, mut ear) = (MomentLog::new(Instant::now()), MarkerScanner::default());
        let mut bytes = b"noise ".to_vec();
        bytes.extend(encode_event("n1", &ProbeEvent::Mark("one".to_owned())));
        bytes.extend(encode_event("n2", &ProbeEvent::Mark("other".to_owned())));
        let whole = encode_event("n1", &ProbeEvent::Ready);
        bytes.extend(&whole[..5]);
        ear.scan_markers("n1", &bytes, &mut log);
        assert!(log.at(&Moment::Mark("one".to_owned())).is_some());
        assert!(log.at(&Moment::Mark("other".to_owned())).is_none());
        assert!(log.at(&Moment::Ready).is_none(), "its line has not ended");
        bytes.extend(&whole[5..]);
        ear.scan_markers("n1", &bytes, &mut log);
        assert!(log.at(&Moment::Ready).is_some());
        assert_eq!(ear.0, bytes.len());
    }

    #[test]
    fn events_come_when_they_are_due_and_once() {
        let mut log = MomentLog::new(Instant::now());
        let during = [
            event(Moment::Ready, 0),
            event(Moment::During(1), 0),
            event(Moment::During(1), 600_000),
            event(Moment::Mark("never".to_owned()), 0),
        ];
        let mut script = EventScript::new(&during);
        assert_eq!((script.next(&log), script.due(&log)), (None, None));
        log.note(Moment::Ready);
        assert_eq!(script.due(&log), log.at(&Moment::Ready));
        assert_eq!(script.next(&log).unwrap().0, 1);
        assert_eq!(script.next(&log), None, "the first is not yet noted as done");
        log.note(Moment::During(1));
        assert_eq!(script.next(&log).unwrap().0, 2);
        assert_eq!(script.next(&log), None);
        let far = log.at(&Moment::During(1)).unwrap() + Duration::from_secs(600);
        assert_eq!(script.due(&log), Some(far));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_is_noticed_when_it_appears() {
        let directory = tempfile::tempdir().unwrap();
        let moment = Moment::File("beat".to_owned());
        let mut log = MomentLog::new(Instant::now());
        let mut files =
            MomentFiles::new(vec![(moment.clone(), directory.path().join("beat"))]).unwrap();
        files.note_present_files(&mut log);
        assert_eq!(log.at(&moment), None);
        std::fs::write(directory.path().join("beat"), "").unwrap();
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        let mut more = [PollFd::new(files.descriptor().unwrap(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut more, PollTimeout::from(10_000u16)), Ok(1));
        files.note_present_files(&mut log);
        assert!(log.at(&moment).is_some() && files.descriptor().is_none());
        let nowhere = directory.path().join("no/beat");
        assert!(MomentFiles::new(vec![(moment, nowhere)]).is_err());
    }
}
