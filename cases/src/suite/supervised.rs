//! The consistency checks of cases that watch a run: terminal, stdin, events, moments, bounds.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::FieldFault;
use crate::case::{
    BackendStimulus, Case, HostFact, Moment, Oracle, OutStream, StdinFrom, TtyStream,
};

/// The addresses of the variables for a cloud's metadata service.
const METADATA: [(&str, IpAddr); 2] = [
    ("METADATA", IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254))),
    ("METADATA6", IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254))),
];

/// Everything that such a case has to keep to.
pub(super) fn check(case: &Case) -> Result<(), FieldFault> {
    [terminal, streams, stdin, launcher, network, events, moments, captured, exchange, bounds]
        .into_iter()
        .try_for_each(|rule| rule(case).map_or(Ok(()), Err))
}

fn fault(field: &'static str, message: impl Into<String>) -> Option<FieldFault> {
    Some((field, message.into()))
}

/// Checks that a case that refers to a terminal has one.
fn terminal(case: &Case) -> Option<FieldFault> {
    if case.launcher.tty.is_some() {
        return None;
    }
    let asks = |oracle: &&Oracle| {
        use Oracle::{Displayed, TerminalRestored, Undisplayed, Untyped};
        matches!(oracle, Untyped(_) | Displayed(_) | Undisplayed(_) | TerminalRestored(_))
    };
    if let Some(oracle) = case.expect.oracle.iter().find(asks) {
        let message = format!("`{oracle}` needs a terminal: `launcher: {{tty: true}}`");
        return fault("expect", message);
    }
    let needs = |event: &crate::case::DuringEvent| event.what.needs_terminal();
    let needed = case.during.iter().any(needs);
    if needed { fault("during", "this needs a terminal: `launcher: {tty: true}`") } else { None }
}

/// Checks that a descriptor that is the terminal's has no other role.
fn streams(case: &Case) -> Option<FieldFault> {
    let tty = case.launcher.tty.as_ref()?;
    let on = |stream| case.launcher.on_terminal(stream);
    if case.stdin.is_some() && on(TtyStream::Stdin) {
        return fault("stdin", "the launcher's terminal is the command's stdin already");
    }
    if tty.streams.is_empty() {
        return fault("launcher", "a terminal is at least one of the backend's streams");
    }
    let shown = |asked: bool, stream| asked && on(stream);
    if shown(case.expect.stdout.is_some(), TtyStream::Stdout)
        || shown(case.expect.stderr.is_some(), TtyStream::Stderr)
    {
        return fault("expect", "what goes to the terminal is looked at by `displayed`");
    }
    let says_nothing = |oracle: &Oracle| match oracle {
        Oracle::Displayed(text) | Oracle::Undisplayed(text) => text.is_empty(),
        _ => false,
    };
    if case.expect.oracle.iter().any(says_nothing) {
        return fault("expect", "every terminal displays an empty text: name a text");
    }
    let closed = |event: &crate::case::DuringEvent| match event.what {
        BackendStimulus::Close(OutStream::Stdout) => on(TtyStream::Stdout),
        BackendStimulus::Close(OutStream::Stderr) => on(TtyStream::Stderr),
        _ => false,
    };
    if case.during.iter().any(closed) {
        return fault("during", "a terminal is not closed but hung up: `hang_up: {}`");
    }
    None
}

fn stdin(case: &Case) -> Option<FieldFault> {
    let on_terminal = case.launcher.on_terminal(TtyStream::Stdin);
    match case.run.stdin {
        Some(StdinFrom::Request) if case.stdin.is_none() => {
            fault("run", "stdin from the request: say which in `stdin`")
        }
        Some(StdinFrom::Request) if case.launcher.hold_stdin => {
            fault("launcher", "a stdin from the request is none that the launcher could hold")
        }
        _ if case.launcher.hold_stdin && on_terminal => {
            fault("launcher", "a terminal stays open as it is: leave out hold_stdin")
        }
        _ => None,
    }
}

fn launcher(case: &Case) -> Option<FieldFault> {
    let to_it = |event: &crate::case::DuringEvent| {
        matches!(event.what, BackendStimulus::Signal(_, crate::case::SignalTarget::Launcher))
    };
    if case.during.iter().any(to_it) && !case.launcher.apart {
        return fault("during", "a signal to the launcher needs one: `launcher: {apart: true}`");
    }
    if case.launcher.apart && !case.launcher.signals.is_empty() {
        let why =
            "what starts the backend apart has signals of its own: leave out apart or signals";
        return fault("launcher", why);
    }
    if case.launcher.tty.is_some() && case.parallel > 1 {
        return fault("parallel", "several runs at once cannot share a terminal");
    }
    None
}

/// A network of the harness's own is asked for, and has the addresses that are spoken of.
fn network(case: &Case) -> Option<FieldFault> {
    let hosts = &case.launcher.hosts;
    if !hosts.is_empty() && !case.host.contains(&HostFact::Netns) {
        return fault("launcher", "hosts of its own need a fact: `host: [netns]`");
    }
    METADATA.iter().find_map(|(name, address)| {
        let missing = case.uses(name) && !hosts.addresses().any(|there| there == *address);
        let message = format!("${name}: let a name of `launcher.hosts` lead to {address}");
        if missing { fault("launcher", message) } else { None }
    })
}

/// An event waits for earlier ones only.
fn events(case: &Case) -> Option<FieldFault> {
    let late = case.during.iter().enumerate().any(|(at, event)| match event.when {
        Moment::During(number) => number == 0 || number > at,
        _ => false,
    });
    if late { fault("during", "an event waits for one before it, counted from 1") } else { None }
}

fn moments(case: &Case) -> Option<FieldFault> {
    let count = case.during.len();
    case.moments().find_map(|moment| match moment {
        Moment::During(number) if *number == 0 || *number > count => {
            fault("expect", format!("there is no event {number} in `during`, counted from 1"))
        }
        Moment::Mark(word) if !is_word(word) => {
            fault("during", format!("`{word}` as a mark: use a-z, 0-9 and -"))
        }
        _ => None,
    })
}

fn is_word(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !word.is_empty() && word.bytes().all(plain)
}

/// Captured output is seen when all is over.
fn captured(case: &Case) -> Option<FieldFault> {
    if !case.run.capture {
        let needs = case.run.debug || case.expect.shown.is_some();
        return if needs { fault("run", "debug and shown are for `capture: true`") } else { None };
    }
    let said = case.moments().find(|moment| moment.is_said())?;
    let message = format!("`{said}` is captured and not seen in time: use {{file: PATH}}");
    fault("during", message)
}

/// One run at a time has the places that a case names, and they lie in its own directories.
fn exchange(case: &Case) -> Option<FieldFault> {
    if case.run.places().next().is_some() && case.parallel > 1 {
        return fault("parallel", "several runs at once cannot share a request or a result");
    }
    let lost = case.expect.result.as_ref().is_some_and(|result| result.lost);
    if lost && case.run.result.is_none() {
        return fault("expect", "no command can reach the result unless `run.result` says where");
    }
    case.run.places().find_map(super::fixture::outside).map(|why| ("run", why))
}

/// A bound says something.
fn bounds(case: &Case) -> Option<FieldFault> {
    case.expect.times.iter().find_map(|bound| {
        if bound.from == bound.to || bound.to == Moment::Start || bound.from == Moment::Exit {
            return fault("expect", format!("no time lies {bound}"));
        }
        match (bound.not_before, bound.within) {
            (None, None) => {
                fault("expect", format!("a bound {bound} has a not_before or a within"))
            }
            (Some(least), Some(most)) if least > most => {
                fault("expect", format!("not_before {least} is after within {most}"))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use rstest::rstest;

    use crate::load::LoadError;
    use crate::suite::Suite;

    fn load(lines: &str, expect: &str) -> Result<Suite, Vec<LoadError>> {
        let text = format!(
            "purpose: Works.\nrequirement: R-x\nact: {{sh: 'true'}}\n{lines}\n\
             expect: {{allowed: {{}}{expect}}}\n"
        );
        let requirements = "R-x: {text: It works., source: a test}\n".to_owned();
        Suite::from_files(
            "test",
            BTreeMap::from([(PathBuf::from("exec/case.yaml"), text)]),
            &BTreeMap::from([(PathBuf::from("r.yaml"), requirements)]),
        )
    }

    #[rstest]
    #[case("launcher: {tty: true}\nstdin: x", "", 5, "stdin already")]
    #[case("launcher: {tty: {streams: []}}", "", 4, "at least one")]
    #[case("stdin: x", ", oracle: [{untyped: {}}]", 5, "needs a terminal")]
    #[case("stdin: x", ", oracle: [{displayed: x}]", 5, "needs a terminal")]
    #[case("stdin: x", ", oracle: [{terminal_restored: {}}]", 5, "needs a terminal")]
    #[case("during: [{when: ready, type: x}]", "", 4, "needs a terminal")]
    #[case("during: [{when: ready, hang_up: {}}]", "", 4, "needs a terminal")]
    #[case(
        "launcher: {tty: {streams: [stdout]}}",
        ", stdout: {contains: [x]}",
        5,
        "looked at by `displayed`"
    )]
    #[case("launcher: {tty: true}", ", oracle: [{displayed: ''}]", 5, "empty text")]
    #[case("launcher: {tty: true}", ", oracle: [{undisplayed: ''}]", 5, "empty text")]
    #[case(
        "launcher: {tty: {streams: [stdout]}}\nduring: [{when: ready, close: stdout}]",
        "",
        5,
        "hung up"
    )]
    #[case("run: {stdin: request}", "", 4, "say which in `stdin`")]
    #[case("launcher: {hold_stdin: true}\nrun: {stdin: request}\nstdin: x", "", 4, "could hold")]
    #[case("launcher: {tty: true, hold_stdin: true}", "", 4, "leave out hold_stdin")]
    #[case("during: [{when: ready, signal: KILL, to: launcher}]", "", 4, "apart: true")]
    #[case("launcher: {hosts: {a.test: 127.0.0.1}}", "", 4, "`host: [netns]`")]
    #[case("launcher: {}\nstdin: $METADATA", "", 4, "lead to 169.254.169.254")]
    #[case(
        "host: [netns]\nstdin: $METADATA6\nlauncher: {hosts: {a.test: 169.254.169.254}}",
        "",
        6,
        "lead to fd00:ec2::254"
    )]
    #[case("launcher: {tty: true}\nparallel: 2", "", 5, "share a terminal")]
    #[case("launcher: {apart: true, signals: {blocked: [INT]}}", "", 4, "leave out apart")]
    #[case("run: {result: r}\nparallel: 2", "", 5, "share a request or a result")]
    #[case("run: {result: /etc/r}", "", 4, "/etc/r lies outside")]
    #[case("run: {request: ../r}", "", 4, "../r lies outside")]
    #[case("stdin: x", ", result: {lost: true}", 5, "unless `run.result`")]
    #[case("during: [{when: {during: 1}, signal: TERM}]", "", 4, "one before it")]
    #[case("during: [{when: {during: 0}, signal: TERM}]", "", 4, "one before it")]
    #[case("during: [{when: {mark: Term}, signal: TERM}]", "", 4, "as a mark")]
    #[case("stdin: x", ", times: [{from: {during: 1}, within: 9}]", 5, "no event 1")]
    #[case("run: {debug: true}", "", 4, "for `capture: true`")]
    #[case("stdin: x\nrun: {}", ", shown: {contains: [x]}", 5, "for `capture: true`")]
    #[case("run: {capture: true}\nduring: [{when: ready, signal: INT}]", "", 5, "captured and not")]
    #[case("stdin: x", ", times: [{from: ready}]", 5, "has a not_before or a within")]
    #[case("stdin: x", ", times: [{from: exit, within: 3}]", 5, "no time lies")]
    #[case("stdin: x", ", times: [{not_before: 3, within: 2}]", 5, "is after within")]
    fn what_does_not_fit_together_is_located(
        #[case] lines: &str,
        #[case] expect: &str,
        #[case] line: usize,
        #[case] message: &str,
    ) {
        let errors = load(lines, expect).unwrap_err();
        assert!(errors[0].to_string().contains(message), "{}", errors[0]);
        assert_eq!(errors[0].line, line, "{}", errors[0]);
    }

    #[rstest]
    #[case("launcher: {tty: true}\nduring: [{when: ready, type: x}]", ", oracle: [{displayed: x}]")]
    #[case("launcher: {tty: {streams: [stdout]}}\nstdin: x", "")]
    #[case("during: [{when: ready, signal: INT}, {when: {during: 1}, signal: INT}]", "")]
    #[case("run: {capture: true, debug: true}", ", shown: {contains: [x]}")]
    #[case("run: {capture: true}\nduring: [{when: {file: f}, signal: INT}]", "")]
    #[case("run: {timeout_ms: 300}", ", times: [{not_before: 300, within: 300}]")]
    #[case("run: {request: q, result: $OUT/d/r}", ", result: {lost: true}")]
    #[case("launcher: {signals: {ignored: [HUP]}, nice: 19, umask: '0077'}", "")]
    fn what_fits_together_loads(#[case] lines: &str, #[case] expect: &str) {
        assert_eq!(load(lines, expect).err(), None);
    }
}
