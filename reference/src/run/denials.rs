//! The refused operations of a run as events: [`DenialCollector`] takes what the inner stage tells, and
//! keeps a bounded number.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Blocked, DenialEvent, EventSource, Stage};
use nix::errno::Errno;

use super::host_side;
use super::live_stream::LiveStream;
use crate::control::{RefusalNotice, RefusedCall, RefusedFate, RefusedObject};
use crate::egress::DeniedHost;
use crate::explain::{EventJudge, EventVerdict, RefusedChange, UnroutedProcess};
use crate::mediate;

/// Events in the result at most; later ones are counted.
pub(super) const MOST_EVENTS: usize = 256;
/// Places of each kind that the explanation is given at most.
const MOST_PLACES: usize = 32;
/// Paths of sockets whose owner is remembered at most.
const MOST_SOCKETS: usize = 1024;

/// The refused operations of one run.
#[derive(Debug, Default)]
pub(crate) struct RunDenials {
    pub(crate) events: Vec<DenialEvent>,
    /// The number of events that were not kept, and of calls that could not be looked at.
    pub(crate) cut: u64,
    /// Changes that were refused, for the explanation.
    pub(crate) changes: Vec<RefusedChange>,
    /// The processes that had no route to an address, for the explanation.
    pub(crate) unrouted: Vec<UnroutedProcess>,
    /// Sockets of the host that the command was kept from, for the explanation.
    pub(crate) sockets: Vec<PathBuf>,
    /// The descriptor that a caller follows the run by.
    live: Option<LiveStream>,
}

impl RunDenials {
    /// Adds the denials that only `blocked` tells of: all that is known of them is the command's output.
    pub(super) fn add_told(&mut self, blocked: Option<&Blocked>) {
        let Some(blocked) = blocked.filter(|blocked| blocked.stage == Stage::Runtime) else {
            return;
        };
        let action = blocked.suggested_action.clone();
        let first = (&blocked.rule, &blocked.operation, &blocked.path, action);
        let also = blocked.also.iter().map(|also| (&also.rule, &also.operation, &also.path, None));
        for (rule, operation, path, action) in std::iter::once(first).chain(also) {
            let is_known = |event: &DenialEvent| match path {
                Some(path) => {
                    let address = event.address.as_deref();
                    event.path.as_ref() == Some(path)
                        || address.is_some() && address == path.as_path().to_str()
                }
                None => event.rule == *rule,
            };
            let is_counted = || {
                let mut places = self.changes.iter().map(|change| &change.place);
                self.cut > 0
                    && places.any(|place| path.as_ref().is_some_and(|p| p.as_path() == place))
            };
            if !self.events.iter().any(is_known) && !is_counted() {
                let operation = operation.as_deref().unwrap_or(UNKNOWN);
                let event = event_base(operation, rule, action, EventSource::Text);
                self.add(|| DenialEvent { path: path.clone(), ..event });
            }
        }
    }

    /// Ends the stream of events, if there is one.
    pub(super) fn close(&mut self) {
        if let Some(live) = self.live.take() {
            live.finish();
        }
    }

    fn add(&mut self, event: impl FnOnce() -> DenialEvent) {
        let kept = self.events.len() < MOST_EVENTS;
        let written = self.live.as_mut().is_some_and(LiveStream::has_room);
        if kept || written {
            let event = event();
            self.live.iter_mut().filter(|_| written).for_each(|live| live.write(&event));
            self.events.extend(Some(event).filter(|_| kept));
        }
        self.cut += u64::from(!kept);
    }
}

/// The collector of a run's refusals, in the order in which they come.
pub(super) struct DenialCollector<'a> {
    judge: EventJudge<'a>,
    denials: RunDenials,
    /// The host's socket that a path of the command's leads to, if it has one.
    bound: HashMap<PathBuf, Option<PathBuf>>,
}

impl<'a> DenialCollector<'a> {
    /// Creates a collector that has `judge` name the rules, and that writes to `live`, too.
    pub(super) fn new(judge: EventJudge<'a>, live: Option<LiveStream>) -> Self {
        let denials = RunDenials { live, ..RunDenials::default() };
        Self { judge, denials, bound: HashMap::new() }
    }

    /// Takes one notice of the inner stage.
    pub(super) fn take(&mut self, notice: &RefusalNotice) {
        match notice {
            RefusalNotice::Call(call) => self.heed(call),
            RefusalNotice::Unseen => self.denials.cut += 1,
            RefusalNotice::Fate(RefusedFate { pid, fate, status }) => {
                let RunDenials { changes, unrouted, .. } = &mut self.denials;
                let changes =
                    changes.iter_mut().map(|one| (one.pid, &mut one.fate, &mut one.status));
                let unrouted =
                    unrouted.iter_mut().map(|one| (one.pid, &mut one.fate, &mut one.status));
                let own = changes.chain(unrouted).filter(|(process, ..)| *process == Some(*pid));
                own.for_each(|(_, known, of_shell)| (*known, *of_shell) = (Some(*fate), *status));
            }
        }
    }

    fn heed(&mut self, call: &RefusedCall) {
        let errno = Errno::from_raw(call.errno);
        match &call.object {
            RefusedObject::Name(path) => {
                let Self { judge, denials, .. } = self;
                // One that a mover has an answer to explains nothing.
                if errno != Errno::EXDEV {
                    keep_change(&mut denials.changes, path.as_path(), call);
                }
                denials.add(|| {
                    let verdict = judge.of_change(path.as_path(), errno);
                    event(call, ("write", path.as_path()), errno, verdict, judge)
                });
            }
            RefusedObject::Socket(path) => {
                let Some(real) = self.socket_of_host(path.as_path()) else { return };
                let Self { judge, denials, .. } = self;
                let Some(verdict) = judge.of_socket(&real) else { return };
                keep(&mut denials.sockets, &real);
                denials.add(|| event(call, ("connect", &real), errno, verdict, judge));
            }
            RefusedObject::Observed { path, change } => {
                let path = path.as_path();
                let Self { judge, denials, .. } = self;
                if host_side::may_change(path, *change) {
                    keep_change(&mut denials.changes, path, call);
                    denials.add(|| {
                        let verdict = judge.of_change(path, errno);
                        event(call, ("write", path), errno, verdict, judge)
                    });
                }
            }
            RefusedObject::Address(address) => {
                let Self { judge, denials, .. } = self;
                if host_side::has_route(address) {
                    if denials.unrouted.len() < MOST_PLACES {
                        let (pid, program) = (call.pid, call.program.clone());
                        denials.unrouted.push(UnroutedProcess {
                            pid,
                            program,
                            fate: None,
                            status: None,
                        });
                    }
                    denials.add(|| {
                        let verdict = judge.of_address();
                        let whole = event(call, ("connect", Path::new("/")), errno, verdict, judge);
                        DenialEvent { path: None, address: Some(address.clone()), ..whole }
                    });
                }
            }
        }
    }

    /// Takes the refusals of the proxy, and the number of those that it did not keep.
    pub(super) fn heed_hosts(&mut self, denied: &[DeniedHost], cut: u64) {
        let Self { judge, denials, .. } = self;
        for host in denied {
            denials.add(|| {
                let blocked = judge.of_host(host);
                DenialEvent {
                    address: blocked.path.map(|path| path.as_path().display().to_string()),
                    monotonic_ns: Some(host.at_ns),
                    ..event_base(
                        "connect",
                        &blocked.rule,
                        blocked.suggested_action,
                        EventSource::Proxy,
                    )
                }
            });
        }
        denials.cut += cut;
    }

    /// Returns what was collected.
    pub(super) fn finish(self) -> RunDenials {
        self.denials
    }

    fn socket_of_host(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.bound.get(path) {
            return known.clone();
        }
        let found = mediate::denied_sockets(&[path.to_owned()]).pop();
        if self.bound.len() < MOST_SOCKETS {
            self.bound.insert(path.to_owned(), found.clone());
        }
        found
    }
}

/// The operation of an event whose text names none.
const UNKNOWN: &str = "unknown";

/// Keeps a change as the last of its process at its place.
fn keep_change(changes: &mut Vec<RefusedChange>, place: &Path, call: &RefusedCall) {
    changes.retain(|one| one.place != place || one.pid != call.pid);
    if changes.len() == MOST_PLACES {
        changes.remove(0);
    }
    let (place, errno) = (place.to_owned(), Errno::from_raw(call.errno));
    changes.push(RefusedChange {
        place,
        errno,
        pid: call.pid,
        program: call.program.clone(),
        fate: None,
        status: None,
    });
}

fn keep(places: &mut Vec<PathBuf>, place: &Path) {
    if places.len() < MOST_PLACES && !places.iter().any(|one| one == place) {
        places.push(place.to_owned());
    }
}

fn event(
    call: &RefusedCall,
    (operation, path): (&str, &Path),
    errno: Errno,
    verdict: EventVerdict,
    judge: &EventJudge<'_>,
) -> DenialEvent {
    DenialEvent {
        path: Some(judge.shown(path)),
        system_call: Some(call.name.clone()),
        errno: Some(format!("{errno:?}")),
        pid: call.pid,
        program: call.program.clone().map(|program| judge.hidden(program)),
        monotonic_ns: Some(call.at_ns),
        ..event_base(operation, verdict.rule, Some(verdict.action), EventSource::Kernel)
    }
}

fn event_base(
    operation: &str,
    rule: &str,
    action: Option<String>,
    source: EventSource,
) -> DenialEvent {
    DenialEvent {
        operation: operation.to_owned(),
        path: None,
        address: None,
        system_call: None,
        errno: None,
        rule: rule.to_owned(),
        pid: None,
        program: None,
        monotonic_ns: None,
        suggested_action: action,
        source,
    }
}
