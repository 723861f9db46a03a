//! The consistency checks of cases about a receipts channel.

use std::collections::BTreeSet;

use super::FieldFault;
use crate::case::{
    Case, CaseStep, ChainEdit, Channel, ChannelStep, Control, ExpectedDecision, FINDINGS, Launcher,
    ReceiptsExpect, RequestStep, RunSpec, VerifyStep,
};

/// The reason why some channel cases have no control.
const NO_EXECD: &str = "what is done is done to the channel itself: execd alone has no such part; \
                        a marker that arrives shows that the channel was at work";

/// The control of the case: the same requests straight to execd, if there are only such.
pub(super) fn control(steps: &[CaseStep], written: Control) -> Result<Control, FieldFault> {
    let Some(channel) = steps.iter().find_map(|step| step.act.channel()) else {
        return Ok(written);
    };
    match written {
        Control::Host if is_direct(channel) => Ok(Control::Host),
        Control::Host => Ok(Control::None(NO_EXECD.to_owned())),
        _ => Err(("control", "a channel's control follows from its steps: leave it out".into())),
    }
}

/// Returns whether every step can be done without a channel.
fn is_direct(channel: &Channel) -> bool {
    let direct = |step: &ChannelStep| {
        use ChannelStep::{Finish, Release, Request, Socket};
        matches!(step, Request(_) | Socket(_) | Release(_) | Finish(_))
    };
    channel.token.is_none() && channel.steps.iter().all(direct)
}

/// Everything that a channel case, and a case that is none, has to keep to.
pub(super) fn check(case: &Case) -> Result<(), FieldFault> {
    let channels = case.steps.iter().filter(|step| step.act.channel().is_some()).count();
    match (case.channel(), &case.expect.decision) {
        (Some(channel), ExpectedDecision::Receipts(expect)) => {
            alone(case)?;
            steps(channel).map_err(|why| ("act", why))?;
            expected(channel, expect, &case.control).map_err(|why| ("expect", why))
        }
        (None, ExpectedDecision::Receipts(_)) | (Some(_), _) => {
            Err(("expect", "an act of receipts expects receipts, and nothing else does".to_owned()))
        }
        (None, _) if channels > 0 => {
            Err(("steps", "what is done to a channel is the only act".to_owned()))
        }
        (None, _) => Ok(()),
    }
}

/// A channel is all there is: no command, no policy, nothing around it.
fn alone(case: &Case) -> Result<(), FieldFault> {
    let rules = [
        (case.steps.len() > 1, "steps", "what is done to a channel is the only act"),
        (*case.policy() != Default::default(), "policy", "a channel has no policy"),
        (case.twin.is_some(), "twin", "a channel has no twin: a marker shows that it was at work"),
        (!case.expect.is_decision_alone(), "expect", "receipts stands alone"),
        (case.repeat > 1 || case.parallel > 1, "repeat", "repeat the steps, or use `times`"),
        (case.stdin.is_some(), "stdin", "a channel runs no command that could read"),
        (!case.during.is_empty(), "during", "what happens meanwhile is a step"),
        (case.launcher != Launcher::default(), "launcher", "a channel has no launcher"),
        (case.run != RunSpec::default(), "run", "a channel runs no command"),
        (!case.fixture.is_empty() || case.prepare.is_some(), "fixture", "a channel has no fixture"),
    ];
    let broken = rules.into_iter().find(|(broken, ..)| *broken);
    broken.map_or(Ok(()), |(_, field, why)| Err((field, why.to_owned())))
}

fn steps(channel: &Channel) -> Result<(), String> {
    if channel.steps.is_empty() {
        return Err("receipts.steps: say what is done".to_owned());
    }
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let mut sockets: BTreeSet<&str> = BTreeSet::new();
    for (at, step) in channel.steps.iter().enumerate() {
        let fault = |why: String| format!("receipts.steps, number {}: {why}", at + 1);
        match step {
            ChannelStep::Request(request) | ChannelStep::Direct(request) => {
                self::request(request).map_err(fault)?;
                named.extend(request.name.as_deref());
            }
            ChannelStep::Finish(name) if !named.remove(name.as_str()) => {
                return Err(fault(format!("finish: no request before is called {name}")));
            }
            ChannelStep::Socket(socket) => {
                let new = sockets.insert(&socket.name);
                if new != socket.path.is_some() {
                    let why = "a new session has a path, one that goes on has none";
                    return Err(fault(format!("socket {}: {why}", socket.name)));
                }
            }
            ChannelStep::Verify(verify) => self::verify(verify).map_err(fault)?,
            _ => {}
        }
    }
    match named.first() {
        Some(name) => Err(format!("receipts.steps: the request {name} is never finished")),
        None => Ok(()),
    }
}

fn request(request: &RequestStep) -> Result<(), String> {
    let bodies = [
        request.json.is_some(),
        request.body.is_some(),
        request.body_b64.is_some(),
        !request.upload.is_empty(),
    ];
    if bodies.iter().filter(|has| **has).count() > 1 {
        return Err("one of json, body, body_b64 and upload is the body".to_owned());
    }
    let waits = request.until.is_some();
    match (request.name.is_some() || request.hang_up) == waits {
        _ if request.times == 0 => Err("times counts from 1".to_owned()),
        _ if request.name.is_some() && request.hang_up => {
            Err("who hangs up cannot finish: leave out name or hang_up".to_owned())
        }
        true => Ok(()),
        false => Err("`until` goes with a name to finish by, or with hang_up".to_owned()),
    }
}

fn verify(verify: &VerifyStep) -> Result<(), String> {
    let last = |edit: &ChainEdit| match edit {
        ChainEdit::Set(place) | ChainEdit::Make(place) => place.at,
        ChainEdit::Drop(at) | ChainEdit::Repeat(at) | ChainEdit::Forge(at) => *at,
        ChainEdit::Swap(at) => *at + 1,
        ChainEdit::Keep(count) => count.saturating_sub(1),
        ChainEdit::Line(line) => line.at,
        ChainEdit::Rotate(rotation) => rotation.at,
        ChainEdit::Signature(edit) => edit.at,
    };
    match verify.edits.iter().find(|edit| last(edit) >= verify.length) {
        Some(edit) => Err(format!("{edit:?}: the chain has {} receipts", verify.length)),
        None => Ok(()),
    }
}

fn expected(channel: &Channel, expect: &ReceiptsExpect, control: &Control) -> Result<(), String> {
    if expect.is_empty() {
        return Err("receipts: say what must come of it".to_owned());
    }
    for number in expect.answers.keys() {
        let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match at.and_then(|at| channel.steps.get(at)) {
            Some(step) if step.is_answered() => {}
            _ => return Err(format!("answers.{number}: no step of that number is answered")),
        }
    }
    if let Some(word) = expect.findings.iter().find(|word| !FINDINGS.contains(&word.as_str())) {
        return Err(format!("findings: {word}: use {}", FINDINGS.join(", ")));
    }
    if expect.receipts.is_some() && (expect.count.is_some() || expect.each.is_some()) {
        return Err("receipts are listed, or counted by count and each".to_owned());
    }
    if expect.same_as_direct && matches!(control, Control::None(_)) {
        return Err("same_as_direct: these steps have no control to be compared with".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use rstest::rstest;

    use crate::case::Control;
    use crate::load::LoadError;
    use crate::suite::Suite;

    const CASE: &str = "purpose: Works.
requirement: R-x
act: {receipts: {steps: [{request: {path: /command, json: {command: ls}}}]}}
expect: {receipts: {receipts: [{type: system.command.execute}], same_as_direct: true}}
";

    fn load(text: &str) -> Result<Suite, Vec<LoadError>> {
        let requirements = "R-x: {text: It works., source: a test}\n".to_owned();
        Suite::from_files(
            "test",
            BTreeMap::from([(PathBuf::from("receipts/case.yaml"), text.to_owned())]),
            &BTreeMap::from([(PathBuf::from("r.yaml"), requirements)]),
        )
    }

    #[test]
    fn requests_have_a_control_and_faults_have_none() {
        assert_eq!(load(CASE).unwrap().cases[0].control, Control::Host);
        let fault =
            CASE.replace("steps: [", "steps: [{wire: cut}, ").replace(", same_as_direct: true", "");
        assert!(matches!(load(&fault).unwrap().cases[0].control, Control::None(_)));
    }

    #[rstest]
    #[case("json:", "jsn:", "unknown field `jsn`")]
    #[case("request: {", "requests: {", "unknown variant `requests`")]
    #[case("act: {receipts:", "act: {sh: x, receipts:", "stands alone")]
    #[case("{request: {path: /command, json: {command: ls}}}", "", "say what is done")]
    #[case("json: {command: ls}", "json: {}, body: x", "is the body")]
    #[case("json: {command: ls}", "until: x", "`until` goes with")]
    #[case("json: {command: ls}", "until: x, name: a", "never finished")]
    #[case("[{request", "[{finish: a}, {request", "no request before")]
    #[case("[{request", "[{verify: {edits: [{drop: 3}]}}, {request", "has 3 receipts")]
    #[case("[{request", "[{socket: {name: a}}, {request", "a new session has a path")]
    #[case("[{request", "[{wire: cut}, {request", "no control")]
    #[case(
        "{receipts: {receipts: [{type: system.command.execute}], same_as_direct: true}}",
        "{allowed: {}}",
        "nothing else does"
    )]
    #[case(
        "receipts: [{type: system.command.execute}], same_as_direct: true",
        "",
        "what must come"
    )]
    #[case("same_as_direct: true", "findings: [odd]", "use bad_signature")]
    #[case("same_as_direct: true", "answers: {'2': {}}", "no step of that number")]
    #[case("same_as_direct: true", "count: 1", "listed, or counted")]
    #[case("act:", "policy: {mode: read_only}\nact:", "no policy")]
    #[case("act:", "twin: {mode: read_only}\nact:", "no twin")]
    #[case("act:", "control: private_ns\nact:", "leave it out")]
    #[case("act:", "fixture: {a: x}\nact:", "no fixture")]
    fn what_does_not_fit_is_told(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
        let text = CASE.replace(from, to);
        assert_ne!(text, CASE);
        let errors = load(&text).unwrap_err();
        assert!(errors[0].to_string().contains(message), "{}", errors[0]);
    }
}
