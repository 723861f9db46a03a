//! The expected events of a native result: [`EventsExpect`].

use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::{DenialEvent, EventSource, WirePath};

/// The expected events of a run; members that are left out are not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsExpect {
    /// Events that the run has among others, each of them another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<EventExpect>,
    /// True if the run has no events but those of `given`.
    #[serde(default, skip_serializing_if = "super::launcher::is_false")]
    pub alone: bool,
    /// The minimum of events, those that were cut included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u64>,
    /// The maximum of events, those that were cut included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u64>,
    /// The maximum of events that are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<usize>,
}

/// One expected event; members that are left out are not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventExpect {
    /// The operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The end of the path, in whole names and without variables: `ws/f`, `out/f`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The system call; several that a program has the choice of, with `|` between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_call: Option<String>,
    /// The errnos that count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errno: Vec<String>,
    /// The rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The name of the program that called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// True if the number of the process is one that the act printed, on a line of its own.
    #[serde(default, skip_serializing_if = "super::launcher::is_false")]
    pub pid_printed: bool,
    /// A text in the suggested action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggests: Option<String>,
    /// The evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<EventSource>,
}

impl EventsExpect {
    /// Returns the first deviation of `events`, `cut` of which are not listed, of a run that wrote
    /// `stdout`.
    pub fn differs(&self, events: &[DenialEvent], cut: u64, stdout: &str) -> Option<String> {
        let mut left: Vec<&DenialEvent> = events.iter().collect();
        for wanted in &self.given {
            let Some(at) = left.iter().position(|event| wanted.fits(event, stdout)) else {
                return Some(format!(
                    "no event is {}; the events are {}",
                    as_json(wanted),
                    as_json(&left)
                ));
            };
            left.remove(at);
        }
        if self.alone && (cut > 0 || !left.is_empty()) {
            return Some(format!(
                "the result has further events: {} and {cut} cut",
                as_json(&left)
            ));
        }
        if let Some(malformed) = events.iter().find_map(malformed) {
            return Some(malformed);
        }
        let listed = events.len();
        // A backend may say any number.
        let all = cut.saturating_add(listed as u64);
        if self.at_least.is_some_and(|least| all < least) {
            return Some(format!("the result tells of {all} events, fewer than there were"));
        }
        if self.at_most.is_some_and(|most| all > most) {
            return Some(format!("the result tells of {all} events, more than there were"));
        }
        let long = self.listed.is_some_and(|most| listed > most);
        long.then(|| format!("the result lists {listed} events"))
    }
}

impl EventExpect {
    fn fits(&self, event: &DenialEvent, stdout: &str) -> bool {
        let same = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        let among = |wanted: &[String], found: &Option<String>| {
            wanted.is_empty() || found.as_ref().is_some_and(|found| wanted.contains(found))
        };
        let path = event.path.as_ref().map(WirePath::as_path);
        let ends = |end: &String| path.is_some_and(|path| path.ends_with(end));
        let printed = |pid: i32| stdout.lines().any(|line| line.trim() == pid.to_string());
        let action = event.suggested_action.as_deref().unwrap_or_default();
        same(&self.operation, Some(&event.operation))
            && self.path.as_ref().is_none_or(ends)
            && same(&self.address, event.address.as_deref())
            && self.system_call.as_ref().is_none_or(|calls| is_called(calls, event))
            && among(&self.errno, &event.errno)
            && same(&self.rule, Some(&event.rule))
            && same(&self.program, event.program.as_deref())
            && (!self.pid_printed || event.pid.is_some_and(printed))
            && self.suggests.as_ref().is_none_or(|text| action.contains(text))
            && self.source.is_none_or(|source| source == event.source)
    }
}

fn is_called(calls: &str, event: &DenialEvent) -> bool {
    event.system_call.as_deref().is_some_and(|found| calls.split('|').any(|call| call == found))
}

/// Describes what every event must have and `event` lacks.
fn malformed(event: &DenialEvent) -> Option<String> {
    let resolved = |path: &Path| {
        path.is_absolute() && path.components().all(|part| !matches!(part, Component::ParentDir))
    };
    let path = event.path.as_ref().is_none_or(|path| resolved(path.as_path()));
    let kernel = event.source != EventSource::Kernel
        || event.system_call.is_some() && event.errno.is_some() && event.monotonic_ns.is_some();
    let whole = path && kernel && !event.operation.is_empty() && !event.rule.is_empty();
    (!whole).then(|| format!("an event is not whole: {}", as_json(event)))
}

fn as_json(value: &impl Serialize) -> String {
    /// Characters of a message at most.
    const LONGEST: usize = 600;
    let text = serde_json::to_string(value).unwrap_or_default();
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn event(members: &str) -> DenialEvent {
        let base = r#""operation": "write", "path": "/a/ws/f", "system_call": "openat",
            "errno": "EACCES", "rule": "r", "pid": 7, "program": "p", "monotonic_ns": 1,
            "suggested_action": "add it", "source": "kernel""#;
        let mut whole: serde_json::Value = serde_json::from_str(&format!("{{{base}}}")).unwrap();
        let more: serde_json::Value = serde_json::from_str(&format!("{{{members}}}")).unwrap();
        for (name, value) in more.as_object().unwrap() {
            whole[name] = value.clone();
        }
        serde_json::from_value(whole).unwrap()
    }

    #[rstest]
    #[case::nothing("{}", 2, true)]
    #[case::all(
        "{given: [{operation: write, path: ws/f, system_call: open|openat, errno: [EACCES], rule: r, program: p, suggests: add, source: kernel}]}",
        0,
        true
    )]
    #[case::other_path("{given: [{path: s/f}]}", 0, false)]
    #[case::other_call("{given: [{system_call: open}]}", 0, false)]
    #[case::other_errno("{given: [{errno: [EROFS]}]}", 0, false)]
    #[case::other_rule("{given: [{rule: x}]}", 0, false)]
    #[case::other_program("{given: [{program: x}]}", 0, false)]
    #[case::other_source("{given: [{source: text}]}", 0, false)]
    #[case::other_action("{given: [{suggests: remove}]}", 0, false)]
    #[case::other_address("{given: [{address: a:1}]}", 0, false)]
    #[case::two_of_one("{given: [{}, {}]}", 0, false)]
    #[case::printed("{given: [{pid_printed: true}]}", 0, true)]
    #[case::alone("{given: [{}], alone: true}", 0, true)]
    #[case::not_alone("{alone: true}", 0, false)]
    #[case::cut_ones("{given: [{}], alone: true}", 1, false)]
    #[case::enough("{at_least: 3, at_most: 3, listed: 1}", 2, true)]
    #[case::too_few("{at_least: 4}", 2, false)]
    #[case::too_many("{at_most: 2}", 2, false)]
    #[case::long("{listed: 0}", 0, false)]
    #[case::absurd("{at_most: 1000}", u64::MAX, false)]
    fn events_are_as_expected_or_not(#[case] yaml: &str, #[case] cut: u64, #[case] fits: bool) {
        let expect: EventsExpect = crate::load::fragment(yaml).unwrap();
        let differs = expect.differs(&[event("")], cut, "6\n 7\n77");
        assert_eq!(differs.is_none(), fits, "{differs:?}");
    }

    #[rstest]
    #[case::relative(r#""path": "f""#)]
    #[case::unresolved(r#""path": "/a/../f""#)]
    #[case::no_call(r#""system_call": null"#)]
    #[case::no_errno(r#""errno": null"#)]
    #[case::no_time(r#""monotonic_ns": null"#)]
    #[case::no_rule(r#""rule": """#)]
    fn an_event_is_whole(#[case] members: &str) {
        let differs = EventsExpect::default().differs(&[event(members)], 0, "");
        assert!(differs.unwrap().contains("not whole"));
        let told = event(r#""source": "text", "system_call": null, "monotonic_ns": null"#);
        assert_eq!(EventsExpect::default().differs(&[told], 0, ""), None);
    }

    #[test]
    fn another_process_is_not_the_one_that_was_printed() {
        let expect: EventsExpect = crate::load::fragment("{given: [{pid_printed: true}]}").unwrap();
        assert!(expect.differs(&[event("")], 0, "77\n").is_some());
    }
}
