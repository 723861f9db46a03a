//! Rules about the arms: the conditions under which control, twin and confined arm can differ.

use std::path::Path;

use super::{LintFinding, finding};
use crate::capability::Capability;
use crate::case::{Act, Case, ExpectedDecision, Moment, Oracle, Twin};
use crate::vars::{VARIABLES, VariableValues, used_in};

/// Everything these rules find in `case`.
pub(super) fn arms(case: &Case) -> Vec<LintFinding> {
    let rules = [
        claims,
        subject_is_plain,
        twin_is_wider,
        canary_is_planted,
        oracles_see_the_act,
        moments_are_said,
        paths_fit,
    ];
    rules.into_iter().filter_map(|rule| rule(case)).collect()
}

fn at(case: &Case, rule: &'static str, message: &str) -> LintFinding {
    finding(&case.file, rule, format!("{}: {message}", case.id))
}

/// Checks that each denial names the capability that promises it.
fn claims(case: &Case) -> Option<LintFinding> {
    let promised = !case.expect.decision.is_negative() || !case.needs.is_empty();
    (!promised).then(|| at(case, "no-claim", "name in `needs` the capability that promises this"))
}

/// Checks that the last of several needs is what a failure speaks against, where no `about` says so:
/// not so where the case works or is refused for any of them, nor where an earlier one is of the
/// case's own area and the last one is not.
fn subject_is_plain(case: &Case) -> Option<LintFinding> {
    let (last, before) = case.needs.split_last()?;
    if case.about.is_some() || before.is_empty() {
        return None;
    }
    let own = |capability: &Capability| {
        let family = capability.name().split('.').next().unwrap_or_default();
        let kin = matches!((case.area(), family), ("ipc", "unix_socket") | ("protect", "grants"));
        family == case.area() || kin
    };
    let either = matches!(case.expect.decision, ExpectedDecision::AllowedOrRefused(_));
    let ambiguous = either || (before.iter().any(own) && !own(last));
    let message = "say in `about` which of `needs` a failure speaks against, [] where none of them";
    ambiguous.then(|| at(case, "about-ambiguous", message))
}

/// A twin that changes nothing shows nothing.
fn twin_is_wider(case: &Case) -> Option<LintFinding> {
    let Some(Twin::Overlay(over)) = &case.twin else { return None };
    // Each ends with a port of its own, so that a policy which takes that port resolves.
    let mut vars = VariableValues::default();
    for (port, (name, _)) in (1..).zip(VARIABLES) {
        vars.set(name, format!("{name}:{port}"));
    }
    let whole = |spec: &crate::case::PolicySpec| {
        (spec.resolve(Path::new("/w"), &vars).ok(), spec.documents(), spec.caliban.clone())
    };
    let same = whole(case.policy()) == whole(&case.policy().overlaid(over));
    same.then(|| at(case, "twin-same", "the twin is the policy itself: widen it"))
}

/// A secret that is nowhere can't be disclosed.
fn canary_is_planted(case: &Case) -> Option<LintFinding> {
    let asks = case.expect.oracle.iter().any(|oracle| matches!(oracle, Oracle::Undisclosed(_)));
    let fixture = case
        .fixture
        .iter()
        .flat_map(|(path, entry)| std::iter::once(path.as_str()).chain(entry.strings()));
    let mut planted = fixture
        .chain(case.launcher.strings())
        .chain(case.prepare.as_deref())
        .chain(case.stdin.as_deref());
    let missing = asks && !planted.any(|text| used_in(text).any(|name| name == "CANARY"));
    missing.then(|| at(case, "canary-unplanted", "put $CANARY where the act may find it"))
}

/// Checks that an act reaches each listener or victim of an oracle, which otherwise sees nothing in
/// any arm.
fn oracles_see_the_act(case: &Case) -> Option<LintFinding> {
    // A name leads wherever it says.
    let named = !case.launcher.hosts.is_empty();
    let apart = case.expect.oracle.iter().filter(|_| !named).find(|oracle| {
        let (Oracle::Unreached(who) | Oracle::Reached(who) | Oracle::Untouched(who)) = oracle
        else {
            return false;
        };
        let name = who.trim_start_matches('$');
        !reaching(case).into_iter().any(|text| used_in(text).any(|used| used == name))
    })?;
    Some(at(case, "oracle-apart", &format!("no act and no link leads to `{apart}`")))
}

/// Checks that the act announces each moment that the case waits for: an event at a moment that is
/// never announced never comes.
fn moments_are_said(case: &Case) -> Option<LintFinding> {
    let unsaid = case.moments().find(|moment| match moment {
        Moment::Ready => !says(case.act(), "ready"),
        Moment::Mark(word) => !says(case.act(), word),
        _ => false,
    })?;
    Some(at(case, "moment-unsaid", &format!("the act never announces `{unsaid}`")))
}

fn says(act: &Act, word: &str) -> bool {
    match act {
        Act::Probe { probe, args } => {
            probe == word || args.iter().any(|(key, values)| key == word || holds(values, word))
        }
        Act::Sh(line) => line.contains(word),
        Act::Argv(argv) => holds(argv, word),
        Act::Decide(_) | Act::Receipts(_) => false,
    }
}

fn holds(texts: &[String], word: &str) -> bool {
    texts.iter().any(|text| text.contains(word))
}

fn reaching(case: &Case) -> Vec<&str> {
    let acts = case.steps.iter().flat_map(|step| match &step.act {
        Act::Sh(line) => vec![line.as_str()],
        act => act.strings(),
    });
    let laid = case.fixture.values().flat_map(|entry| entry.strings());
    acts.chain(laid).chain(case.prepare.as_deref()).collect()
}

/// Checks that an `unchanged` path was laid out, and that an `absent` path was not.
fn paths_fit(case: &Case) -> Option<LintFinding> {
    let laid = |path: &str| case.fixture.keys().any(|key| Path::new(key).starts_with(path));
    case.expect.oracle.iter().find_map(|oracle| match oracle {
        Oracle::Unchanged(path) if !laid(path) && case.prepare.is_none() => {
            Some(at(case, "oracle-path", &format!("lay out {path}, which `unchanged` looks at")))
        }
        Oracle::Absent(path) if laid(path) => {
            Some(at(case, "oracle-path", &format!("{path} is laid out, so never absent")))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use rstest::rstest;

    use crate::suite::Suite;

    const CASE: &str = "purpose: Works.
requirement: R-x
needs: [net.none]
fixture: {f: $CANARY, g: kept}
act: {probe: unix-connect, path: $UNIX, send: f}
expect: {contained: {}, oracle: [{undisclosed: $CANARY}, {unreached: $UNIX}, {unchanged: g}]}
twin: {network: {host: {}}}
";

    fn rules(text: &str) -> Vec<&'static str> {
        let requirement = "R-x: {text: It works., source: a, polarity: negative}\n".to_owned();
        let suite = Suite::from_files(
            "test",
            BTreeMap::from([(PathBuf::from("net/case.yaml"), text.to_owned())]),
            &BTreeMap::from([(PathBuf::from("r.yaml"), requirement)]),
        );
        crate::lint::lint(&suite.unwrap()).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_good_case_has_no_finding() {
        assert_eq!(rules(CASE), [""; 0]);
    }

    #[rstest]
    #[case("needs: [net.none]\n", "", "no-claim")]
    #[case("{network: {host: {}}}", "{network: {none: {}}}", "twin-same")]
    #[case("twin: {network: {host: {}}}", "twin: {protect: none}", "twin-same")]
    #[case("f: $CANARY", "f: text", "canary-unplanted")]
    #[case("path: $UNIX", "path: s", "oracle-apart")]
    #[case("{unchanged: g}", "{unchanged: h}", "oracle-path")]
    #[case("{unchanged: g}", "{absent: g}", "oracle-path")]
    fn each_rule_fires(#[case] from: &str, #[case] to: &str, #[case] rule: &str) {
        assert_eq!(rules(&CASE.replace(from, to)), [rule]);
    }

    #[rstest]
    #[case::last_is_of_the_area("[fs.write, net.none]", &[])]
    #[case::none_is_of_the_area("[fs.write, env.scrub]", &[])]
    #[case::an_earlier_one_is_of_the_area("[net.none, fs.write]", &["about-ambiguous"])]
    #[case::it_says_so("[net.none, fs.write]\nabout: [net.none]", &[])]
    #[case::none_promises_it("[net.none, fs.write]\nabout: []", &[])]
    fn the_last_need_is_what_a_failure_speaks_against(#[case] needs: &str, #[case] found: &[&str]) {
        assert_eq!(rules(&CASE.replace("[net.none]", needs)), found);
    }

    #[rstest]
    #[case::one("[fs.write]", &[])]
    #[case::several("[fs.read_only, fs.write]", &["about-ambiguous"])]
    fn what_may_be_refused_says_which_claim_is_meant(#[case] needs: &str, #[case] found: &[&str]) {
        let case = "purpose: Works.\nrequirement: R-x\nneeds: NEEDS\nact: {sh: 'true'}\n\
                    expect: {allowed_or_refused: {says: [odd]}, exit: 0}\n";
        let rules = rules(&case.replace("NEEDS", needs));
        let found_here: Vec<_> = rules.into_iter().filter(|rule| *rule != "coverage").collect();
        assert_eq!(found_here, found);
    }

    #[rstest]
    #[case("$TCP4", &[])]
    #[case("$UNIX", &["twin-same"])]
    fn another_port_is_another_policy(#[case] port: &str, #[case] found: &[&str]) {
        let policy = "policy: {network: {proxy: {port: $UNIX}}}\nfixture:";
        let twin = format!("twin: {{network: {{proxy: {{port: {port}}}}}}}");
        let case = CASE.replace("fixture:", policy).replace("twin: {network: {host: {}}}", &twin);
        assert_eq!(rules(&case), found);
    }

    #[rstest]
    #[case("{probe: hold, ready: true}", "{when: ready, signal: TERM}", &[])]
    #[case("{probe: hold}", "{when: ready, signal: TERM}", &["moment-unsaid"])]
    #[case("{sh: 'say ready'}", "{when: ready, signal: TERM}", &[])]
    #[case("{sh: 'say so'}", "{when: ready, signal: TERM}", &["moment-unsaid"])]
    #[case("{sh: 'say got-it'}", "{when: {mark: got-it}, signal: TERM}", &[])]
    #[case("{argv: [say, got]}", "{when: {mark: got-it}, signal: TERM}", &["moment-unsaid"])]
    #[case("{sh: 'say so'}", "{when: {file: f}, signal: TERM}", &[])]
    fn what_waits_for_a_moment_has_one(
        #[case] act: &str,
        #[case] event: &str,
        #[case] found: &[&str],
    ) {
        let case = format!(
            "purpose: Works.\nrequirement: R-x\nneeds: [net.none]\nfixture: {{f: x}}\nact: {act}\n\
             during: [{event}]\nexpect: {{contained: {{}}, oracle: [{{unchanged: f}}, {{exists: f}}]}}\n\
             twin: {{network: {{host: {{}}}}}}\n"
        );
        assert_eq!(rules(&case), found);
    }

    #[rstest]
    #[case("g: kept", "g/h: kept")]
    #[case("path: $UNIX", "path: l")]
    fn what_leads_there_counts(#[case] from: &str, #[case] to: &str) {
        let linked = CASE.replace(from, to).replace("{f:", "{l: {link: $UNIX}, f:");
        assert_eq!(rules(&linked), [""; 0]);
        let prepared = CASE.replace(from, to).replace("act:", "prepare: ln -s $UNIX l\nact:");
        assert_eq!(rules(&prepared), [""; 0]);
    }
}
