//! A second look at a sample of cases, without anything that tells a test from ordinary work: which
//! cases ([`SampleShare`]), and the same acts done by ordinary programs ([`ordinary`]). Pure.

mod act;
mod programs;

use std::fmt;
use std::str::FromStr;

use boxproof_cases::Case;
use boxproof_cases::case::{Act, Control, ExpectedDecision, Moment};
use sha2::{Digest, Sha256};

/// The share of the cases that get a second look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleShare {
    percent: u8,
}

impl SampleShare {
    /// One case of ten.
    pub const SAMPLE: Self = Self { percent: 10 };
    /// Every case.
    pub const ALL: Self = Self { percent: 100 };

    /// Returns whether the case called `id` is in the sample of `seed`, which only the harness
    /// knows.
    pub fn takes(self, seed: &str, id: &str) -> bool {
        let hash = Sha256::digest(format!("{seed}\n{id}"));
        let number = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
        u64::from(number) * 100 < u64::from(self.percent) << 32
    }
}

impl FromStr for SampleShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
        let percent = percent.filter(|percent| (1..=100).contains(percent));
        percent.map(|percent| Self { percent }).ok_or(format!(
            "`{text}` is no share of the cases: use `all`, or a percentage from 1% to 100%"
        ))
    }
}

impl fmt::Display for SampleShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => f.write_str("all"),
            Self { percent } => write!(f, "{percent}%"),
        }
    }
}

/// Returns `case` with its acts done by ordinary programs, judged by the host's observations alone.
///
/// # Errors
/// The reason why there is no such case, in a few words that many cases share.
pub fn ordinary(case: &Case) -> Result<Case, String> {
    if let Some(why) = obstacle(case) {
        return Err(why.to_owned());
    }
    let mut ordinary = case.clone();
    for step in &mut ordinary.steps {
        step.act = act::ordinary(&step.act)?;
    }
    if ordinary.uses("PROBE") {
        return Err("it names the probe program".to_owned());
    }
    let expect = &mut ordinary.expect;
    (expect.stdout, expect.stderr, expect.shown) = (None, None, None);
    (expect.rule, expect.result) = (None, None);
    expect.times.clear();
    Ok(ordinary)
}

/// Returns the reason why a case cannot do without a program or a word of the harness, if there is
/// one.
fn obstacle(case: &Case) -> Option<&'static str> {
    let obstacles = [
        (
            matches!(
                case.expect.decision,
                ExpectedDecision::Refused | ExpectedDecision::AllowedOrRefused(_)
            ),
            "a policy is declined, and only the backend's words tell that",
        ),
        (case.uses("VICTIM"), "its victim is a program of the harness"),
        (!case.launcher.hosts.is_empty(), "its network is made by a program of the harness"),
        (case.launcher.apart, "a program of the harness starts the backend"),
        (case.control == Control::PrivateNs, "its control is made by a program of the harness"),
        (case.moments().any(Moment::is_said), "what happens to it waits for a word of the probe"),
        (
            case.prepare.as_deref().is_some_and(|line| line.contains("$PROBE")),
            "the probe prepares its fixture",
        ),
    ];
    obstacles.into_iter().find_map(|(is_there, why)| is_there.then_some(why))
}

/// Returns whether `case` runs a command, so that there is an effect to look at again.
pub fn runs(case: &Case) -> bool {
    !matches!(case.act(), Act::Decide(_) | Act::Receipts(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::case;
    use boxproof_cases::Suite;
    use rstest::rstest;

    #[rstest]
    #[case("all", "all")]
    #[case("100%", "all")]
    #[case("7%", "7%")]
    fn a_share_is_read(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(text.parse::<SampleShare>().unwrap().to_string(), shown);
    }

    #[rstest]
    #[case("0%")]
    #[case("101%")]
    #[case("10")]
    #[case("half")]
    #[case("")]
    fn what_is_no_share_is_refused_with_a_remedy(#[case] text: &str) {
        let error = text.parse::<SampleShare>().unwrap_err();
        assert!(error.contains("use `all`, or a percentage"), "{error}");
    }

    #[test]
    fn a_sample_depends_on_its_seed_and_is_as_large_as_its_share() {
        let ids: Vec<String> = (0..4000).map(|number| format!("fs/case-{number}")).collect();
        let sample = |share: SampleShare, seed: &str| {
            ids.iter().filter(|id| share.takes(seed, id)).cloned().collect::<Vec<_>>()
        };
        let [one, other] = ["a", "b"].map(|seed| sample(SampleShare::SAMPLE, seed));
        assert!((300..500).contains(&one.len()), "{}", one.len());
        assert_ne!(one, other);
        assert_eq!(one, sample(SampleShare::SAMPLE, "a"));
        assert_eq!(sample(SampleShare::ALL, "a").len(), ids.len());
    }

    #[rstest]
    #[case("act: {sh: 'kill $VICTIM'}\nexpect: {allowed: {}}\n", "victim")]
    #[case(
        "act: {sh: '\"$PROBE\" --nonce $NONCE flood --bytes=1'}\nexpect: {allowed: {}}\n",
        "names the probe"
    )]
    #[case("act: {probe: memfd-exec, path: /bin/true}\nexpect: {allowed: {}}\n", "memfd-exec")]
    #[case(
        "act: {sh: 'true'}\nexpect: {refused: {}, oracle: [{absent: f}]}\ntwin: {none: why}\n",
        "declined"
    )]
    #[case(
        "act: {sh: 'true'}\nlauncher: {apart: true}\nexpect: {allowed: {}}\n",
        "starts the backend"
    )]
    fn what_needs_the_harness_says_why(#[case] text: &str, #[case] why: &str) {
        let told = ordinary(&case(text)).unwrap_err();
        assert!(told.contains(why), "{told}");
    }

    #[test]
    fn most_of_the_corpus_can_be_asked_and_names_nothing_of_the_harness() {
        let suite = Suite::embedded().unwrap();
        let all: Vec<&Case> = suite.cases.iter().filter(|case| runs(case)).collect();
        let asked: Vec<Case> = all.iter().filter_map(|case| ordinary(case).ok()).collect();
        assert!(asked.len() * 10 > all.len() * 7, "{} of {}", asked.len(), all.len());
        for case in &asked {
            assert!(!case.act().is_probe() && !case.uses("PROBE"), "{}", case.id);
        }
    }
}
