//! Expectations: the required result, and the required effects on the host.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Answer, Oracle, ReceiptsExpect, ResultExpect, TimeBound};

/// The expected result of the act when it is confined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "WrittenExpectation", into = "WrittenExpectation")]
#[schemars(with = "WrittenExpectation")]
pub struct Expect {
    /// Allowed, denied, contained, withheld, refused or an answer.
    pub decision: ExpectedDecision,
    /// The expected end of the run; by default as the decision implies.
    pub exit: Option<ExitExpect>,
    /// The texts that stdout must and must not hold.
    pub stdout: Option<StreamExpect>,
    /// The texts that stderr must and must not hold.
    pub stderr: Option<StreamExpect>,
    /// The texts that a capturing backend shows on its own stderr.
    pub shown: Option<StreamExpect>,
    /// The rule of the structured explanation, if explanations are claimed; `none` for no
    /// explanation.
    pub rule: Option<String>,
    /// The expected native result.
    pub result: Option<ResultExpect>,
    /// The expected time between moments of the run.
    pub times: Vec<TimeBound>,
    /// Facts seen from outside.
    pub oracle: Vec<Oracle>,
    /// The properties that an allowed act must share with its control.
    pub compare: Vec<Compare>,
}

impl Expect {
    /// Returns whether nothing is expected besides the decision.
    pub(crate) fn is_decision_alone(&self) -> bool {
        let alone = Self {
            decision: self.decision.clone(),
            exit: None,
            stdout: None,
            stderr: None,
            shown: None,
            rule: None,
            result: None,
            times: Vec::new(),
            oracle: Vec::new(),
            compare: Compare::ALL.to_vec(),
        };
        *self == alone
    }
}

/// The eight expectations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedDecision {
    /// Same exit, stdout and end state as without a sandbox.
    Allowed,
    /// Allowed as by `Allowed`, or the backend declines the policy and says why.
    AllowedOrRefused(Refusal),
    /// The act itself is refused, and the oracles agree.
    Denied(Denial),
    /// The act may report success, but nothing happened or leaked outside.
    Contained(Denial),
    /// Nothing happens outside: the backend declines, says that it cannot be set up, or confines.
    /// The confined act may fail for these reasons.
    Withheld(Denial),
    /// The backend declines the policy and starts nothing.
    Refused,
    /// A question about policy documents is answered so.
    Answer(Answer),
    /// A receipts channel shows this.
    Receipts(Box<ReceiptsExpect>),
}

impl ExpectedDecision {
    /// The word a case uses for it.
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::AllowedOrRefused(_) => "allowed_or_refused",
            Self::Denied(_) => "denied",
            Self::Contained(_) => "contained",
            Self::Withheld(_) => "withheld",
            Self::Refused => "refused",
            Self::Answer(_) => "answer",
            Self::Receipts(_) => "receipts",
        }
    }

    /// Returns whether the decision promises that something does not happen.
    pub fn is_negative(&self) -> bool {
        match self {
            Self::Answer(answer) => answer.is_negative(),
            Self::Receipts(receipts) => receipts.is_negative(),
            _ => !self.may_work(),
        }
    }

    /// Returns whether the act may work as it does without a sandbox.
    pub fn may_work(&self) -> bool {
        matches!(self, Self::Allowed | Self::AllowedOrRefused(_))
    }
}

/// The way in which a backend declines a policy that it cannot keep.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Texts that the message must contain, each of them: the names of the rules that contradict
    /// each other, or the unavailable path. Without variables.
    pub says: Vec<String>,
}

impl Refusal {
    /// Returns whether `message` contains every text of `says`.
    pub fn is_said(&self, message: &str) -> bool {
        self.says.iter().all(|text| message.contains(text.as_str()))
    }
}

/// The reasons that count as the denial meant.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Denial {
    /// Symbolic errnos (`EROFS`). Nothing else counts, least of all ENOENT.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errno: Vec<String>,
    /// Signals that may kill the attempt (`SYS`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signal: Vec<String>,
}

/// An expectation without settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BareExpect {}

/// The expectation as a case writes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenExpectation {
    /// The act works as without a sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allowed: Option<BareExpect>,
    /// The act works as without a sandbox, or the backend declines the policy and names why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allowed_or_refused: Option<Refusal>,
    /// The act itself fails, for one of these reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    denied: Option<Denial>,
    /// Nothing happens outside; the act may fail for one of these reasons or report success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contained: Option<Denial>,
    /// Nothing happens outside, whether the backend says that it cannot start the act or starts it;
    /// then that may fail for one of these reasons or report success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withheld: Option<Denial>,
    /// The backend declines the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<BareExpect>,
    /// The expected answer to a question; it stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    /// The expected results on a receipts channel; they stand alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    receipts: Option<Box<ReceiptsExpect>>,
    /// The expected end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<ExitExpect>,
    /// The texts that stdout must and must not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdout: Option<StreamExpect>,
    /// The texts that stderr must and must not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr: Option<StreamExpect>,
    /// The texts that a capturing backend shows on its own stderr meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown: Option<StreamExpect>,
    /// The rule of the structured explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// The expected native result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<ResultExpect>,
    /// The expected time between moments of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    times: Vec<TimeBound>,
    /// Facts seen from outside. A denial or containment has at least one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    oracle: Vec<Oracle>,
    /// The properties that an allowed act shares with its control; by default all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compare: Option<Vec<Compare>>,
}

impl TryFrom<WrittenExpectation> for Expect {
    type Error = String;

    fn try_from(written: WrittenExpectation) -> Result<Self, String> {
        let found = [
            written.allowed.map(|_| ExpectedDecision::Allowed),
            written.allowed_or_refused.map(ExpectedDecision::AllowedOrRefused),
            written.denied.map(ExpectedDecision::Denied),
            written.contained.map(ExpectedDecision::Contained),
            written.withheld.map(ExpectedDecision::Withheld),
            written.refused.map(|_| ExpectedDecision::Refused),
            written.answer.map(ExpectedDecision::Answer),
            written.receipts.map(ExpectedDecision::Receipts),
        ];
        let mut found = found.into_iter().flatten();
        let (Some(decision), None) = (found.next(), found.next()) else {
            return Err(
                "expect has exactly one of allowed, allowed_or_refused, denied, contained, \
                 withheld, refused, answer and receipts"
                    .into(),
            );
        };
        check(&decision, &written.oracle, written.compare.is_some())?;
        Ok(Self {
            decision,
            exit: written.exit,
            stdout: written.stdout,
            stderr: written.stderr,
            shown: written.shown,
            rule: written.rule,
            result: written.result,
            times: written.times,
            oracle: written.oracle,
            compare: written.compare.unwrap_or_else(|| Compare::ALL.to_vec()),
        })
    }
}

fn check(decision: &ExpectedDecision, oracles: &[Oracle], compares: bool) -> Result<(), String> {
    let word = decision.keyword();
    match decision {
        ExpectedDecision::Allowed | ExpectedDecision::Answer(_) | ExpectedDecision::Receipts(_) => {
            return Ok(());
        }
        ExpectedDecision::AllowedOrRefused(refusal) => {
            return match refusal
                .says
                .iter()
                .any(|text| !text.trim().is_empty() && !text.contains('$'))
            {
                true => Ok(()),
                false => {
                    Err("allowed_or_refused: `says` lists words, without variables, that the \
                              refusal must have"
                        .into())
                }
            };
        }
        ExpectedDecision::Denied(denial) if denial.errno.is_empty() && denial.signal.is_empty() => {
            return Err("denied names no reason: list the errnos (or signals) that count".into());
        }
        _ if compares => return Err(format!("compare is for allowed; {word} has oracles")),
        _ => {}
    }
    if oracles.iter().all(Oracle::is_positive) {
        return Err(format!(
            "{word} has no host oracle: name what must be seen from outside (unchanged, absent, \
             undisclosed, unreached, untouched, undisplayed, no_survivors)"
        ));
    }
    Ok(())
}

impl From<Expect> for WrittenExpectation {
    fn from(expect: Expect) -> Self {
        let mut written = Self {
            exit: expect.exit,
            stdout: expect.stdout,
            stderr: expect.stderr,
            shown: expect.shown,
            rule: expect.rule,
            result: expect.result,
            times: expect.times,
            oracle: expect.oracle,
            ..Self::default()
        };
        match expect.decision {
            ExpectedDecision::Allowed => {
                written.allowed = Some(BareExpect {});
                written.compare = Some(expect.compare);
            }
            ExpectedDecision::AllowedOrRefused(refusal) => {
                written.allowed_or_refused = Some(refusal);
                written.compare = Some(expect.compare);
            }
            ExpectedDecision::Denied(denial) => written.denied = Some(denial),
            ExpectedDecision::Contained(denial) => written.contained = Some(denial),
            ExpectedDecision::Withheld(denial) => written.withheld = Some(denial),
            ExpectedDecision::Refused => written.refused = Some(BareExpect {}),
            ExpectedDecision::Answer(answer) => written.answer = Some(answer),
            ExpectedDecision::Receipts(receipts) => written.receipts = Some(receipts),
        }
        written
    }
}

/// The texts that a stream must and must not hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamExpect {
    /// Texts that must appear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// Texts that must not appear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// The whole of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
}

impl StreamExpect {
    /// The texts that are looked for in it.
    pub fn parts(&self) -> impl Iterator<Item = &String> {
        self.contains.iter().chain(&self.lacks)
    }

    /// The strings a variable may stand in.
    pub fn strings(&self) -> impl Iterator<Item = &str> {
        self.parts().chain(&self.equals).map(String::as_str)
    }
}

/// A property that an allowed act must share with its control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// The end of the run.
    Exit,
    /// Every byte of stdout (workspace paths and nonces substituted).
    Stdout,
    /// Names, types, modes and bytes below the workspace and `$OUT`.
    Tree,
}

impl Compare {
    /// Everything.
    pub const ALL: [Self; 3] = [Self::Exit, Self::Stdout, Self::Tree];
}

/// The expected end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitExpect {
    /// The run exits with this code.
    Code(i32),
    /// The run exits with any code but 0, or is killed by a signal.
    Nonzero,
    /// The run is killed by this signal (`KILL`): 128+n, or named in a native result.
    Signal(String),
}

impl fmt::Display for ExitExpect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Nonzero => f.write_str("a non-zero exit"),
            Self::Signal(name) => write!(f, "SIG{name}"),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "an exit is 0 to 255, nonzero, or {signal: NAME}")]
enum ExitSpelling {
    /// An exit code, 0 to 255.
    Code(u8),
    /// `nonzero`.
    Word(String),
    /// The signal that kills the run.
    Signal(BySignal),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BySignal {
    /// The signal's name without SIG.
    signal: String,
}

impl Serialize for ExitExpect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Code(code) => serializer.serialize_i32(*code),
            Self::Nonzero => serializer.serialize_str("nonzero"),
            Self::Signal(name) => BySignal { signal: name.clone() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ExitExpect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const FORMS: &str = "exit is a code (0 to 255), nonzero, or {signal: NAME}";
        let spelling =
            ExitSpelling::deserialize(deserializer).map_err(|_| de::Error::custom(FORMS))?;
        match spelling {
            ExitSpelling::Code(code) => Ok(Self::Code(code.into())),
            ExitSpelling::Word(word) if word == "nonzero" => Ok(Self::Nonzero),
            ExitSpelling::Word(_) => Err(de::Error::custom(FORMS)),
            ExitSpelling::Signal(by) => Ok(Self::Signal(by.signal)),
        }
    }
}

impl JsonSchema for ExitExpect {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ExitExpect".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        ExitSpelling::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{allowed: {}}")]
    #[case("{allowed: {}, exit: 7, compare: [exit]}")]
    #[case("{denied: {errno: [EROFS]}, exit: nonzero, oracle: [{unchanged: f}]}")]
    #[case("{contained: {}, exit: {signal: KILL}, oracle: [{unreached: $UDP}]}")]
    #[case("{refused: {}, oracle: [{absent: f}]}")]
    #[case("{answer: {denied: '[]'}}")]
    fn survives_a_round_trip(#[case] yaml: &str) {
        let expect: Expect = crate::load::fragment(yaml).unwrap();
        let json = serde_json::to_value(&expect).unwrap();
        assert_eq!(serde_json::from_value::<Expect>(json).unwrap(), expect);
    }

    #[rstest]
    #[case("{}", "exactly one")]
    #[case("{allowed: {}, denied: {errno: [EPERM]}}", "exactly one")]
    #[case("{denied: {errno: [EPERM]}}", "no host oracle")]
    #[case("{denied: {errno: [EPERM]}, oracle: [{exists: f}]}", "no host oracle")]
    #[case("{contained: {}}", "no host oracle")]
    #[case("{refused: {}}", "no host oracle")]
    #[case("{denied: {}, oracle: [{unchanged: f}]}", "names no reason")]
    #[case("{contained: {}, compare: [exit], oracle: [{absent: f}]}", "compare is for allowed")]
    #[case("{allowed: {}, exit: 256}", "0 to 255")]
    #[case("{allowed: {}, exit: zero}", "0 to 255")]
    #[case("{allowed: {}, exti: 0}", "unknown field `exti`")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<Expect>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
