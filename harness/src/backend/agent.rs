//! Kind `agent`: how an agent is brought to execute the command by its own command tool, and how its
//! report is read. Main type: [`AgentDialogue`].

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exits::ExitRule;
use super::{LaunchError, template};

/// The hidden verb under which the program drives an agent.
pub const AGENT_VERB: &str = "__agent";
/// The address of the model in a recipe, which leads nowhere: the driver puts its own in its place.
pub const ENDPOINT: &str = "http://endpoint.invalid";
/// The start of the line by which the driver tells that nothing was learnt of the command.
pub const BROKEN: &str = "agent: ";
/// The driver's exit code then.
pub const BROKEN_CODE: i32 = 125;
/// The start of the line by which the driver tells that the agent declined to execute the command.
pub const DECLINED: &str = "agent declined: ";
/// The driver's exit code then.
pub const DECLINED_CODE: i32 = 126;

/// The conversation by which an agent is brought to execute one command. The model is a mock on the
/// loopback interface, which asks for one call of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDialogue {
    /// The protocol in which the agent speaks to its model.
    pub protocol: ModelProtocol,
    /// The name of the tool by which the agent executes commands.
    pub tool: String,
    /// The arguments of the call: a template of a JSON object.
    pub arguments: String,
    /// The form of the tool's report.
    pub report: ReportFormat,
    /// The time within which the agent offers its tool to the model, in milliseconds.
    #[serde(default = "asks_within_ms")]
    pub asks_within_ms: u64,
}

/// Less than the time limit of a case, so that it is the driver that tells of it.
fn asks_within_ms() -> u64 {
    15_000
}

/// A protocol between an agent and its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelProtocol {
    /// `POST …/responses` of OpenAI.
    OpenaiResponses,
    /// `POST …/chat/completions` of OpenAI.
    OpenaiChat,
    /// `POST …/messages` of Anthropic.
    Anthropic,
    /// `POST …:generateContent` and `:streamGenerateContent` of Gemini.
    Gemini,
}

/// The form of the text by which an agent tells its model what became of the command. The patterns are
/// regular expressions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportFormat {
    /// A pattern whose one group is the exit code.
    pub exit: String,
    /// The exit code of a report that has none and is not marked as an error; without it such a report
    /// is a set-up error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_unsaid: Option<u8>,
    /// A pattern whose one group is the command's output; empty, or where it does not match: all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// A pattern of reports that say the command was not executed, since it was not approved.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub declined: String,
}

/// A tool's report, as the agent hands it to its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolReport {
    /// The text.
    pub text: String,
    /// True if the agent marks it as an error.
    pub is_error: bool,
}

/// The meaning of a [`ToolReport`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandReport {
    /// The command ended.
    Ended {
        /// With this exit code.
        code: u8,
        /// Having written this.
        output: String,
    },
    /// The agent did not execute it, and says why.
    Declined(String),
    /// It cannot be read, and why.
    Unreadable(String),
}

/// The characters of a report that a message repeats.
const EXCERPT: usize = 200;

impl AgentDialogue {
    /// Returns the first field without sense, and why.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        let format = &self.report;
        let groups =
            [("agent.report.exit", &format.exit, 1), ("agent.report.output", &format.output, 1)];
        let patterns = groups.into_iter().chain([("agent.report.declined", &format.declined, 0)]);
        let used = patterns.filter(|(field, text, _)| *field == groups[0].0 || !text.is_empty());
        let mut faults = used.filter_map(|(field, text, wanted)| {
            let fault = match Regex::new(text) {
                Err(error) => error.to_string(),
                Ok(pattern) if wanted == 1 && pattern.captures_len() != 2 => {
                    "a pattern with exactly one group".to_owned()
                }
                Ok(_) => return None,
            };
            Some((field, fault))
        });
        let tool = self.tool.is_empty().then(|| ("agent.tool", "name the tool".to_owned()));
        tool.or_else(|| faults.next())
    }

    /// Returns the conversation with its arguments rendered.
    ///
    /// # Errors
    /// A template that cannot be rendered, or is no JSON object.
    pub(super) fn rendered(&self, context: &minijinja::Value) -> Result<Self, LaunchError> {
        let arguments = template::text(&self.arguments, context)?;
        let read = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&arguments);
        read.map_err(|error| LaunchError::fault(format!("no JSON object: {error}")))?;
        Ok(Self { arguments, ..self.clone() })
    }

    /// Returns the endings of the driver that are not the command's: not set up, and declined.
    pub(super) fn exits() -> (ExitRule, ExitRule) {
        let rule = |exit, prefix: &str| ExitRule {
            exit: Some(exit),
            signal: None,
            stderr_prefix: prefix.to_owned(),
            stderr: None,
            stdout: None,
        };
        (rule(BROKEN_CODE, BROKEN), rule(DECLINED_CODE, DECLINED))
    }
}

impl ReportFormat {
    /// Reads `report`.
    pub fn read(&self, report: &ToolReport) -> CommandReport {
        let text = report.text.as_str();
        let unsaid = self.exit_unsaid.filter(|_| !report.is_error).map(|code| code.to_string());
        let told = group(&self.exit, text).map(str::to_owned);
        if told.is_none() && pattern(&self.declined).is_some_and(|declined| declined.is_match(text))
        {
            return CommandReport::Declined(excerpt(text));
        }
        let Some(told) = told.or(unsaid) else {
            let why = format!("its report tells no exit code: {}", excerpt(text));
            return CommandReport::Unreadable(why);
        };
        let Ok(code) = told.parse() else {
            return CommandReport::Unreadable(format!("its report tells the exit code {told}"));
        };
        let output = group(&self.output, text).unwrap_or(text).to_owned();
        CommandReport::Ended { code, output }
    }
}

/// Returns the pattern `text`; none of an empty one.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok().filter(|_| !text.is_empty())
}

/// Returns the group of the first match of the pattern `text` in `report`.
fn group<'a>(text: &str, report: &'a str) -> Option<&'a str> {
    pattern(text)?.captures(report)?.get(1).map(|group| group.as_str())
}

/// Returns the beginning of `text`, on one line.
fn excerpt(text: &str) -> String {
    text.chars().take(EXCERPT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn format(yaml: &str) -> ReportFormat {
        serde_yaml::from_str(yaml).unwrap()
    }

    const PLAIN: &str =
        r"{exit: '(?m)^code (-?\d+)$', output: '(?s)\nOutput:\n(.*)', declined: '^not approved'}";
    const UNSAID: &str =
        r"{exit: '\Acode (\d+)\n', exit_unsaid: 0, output: '(?s)\A(?:code \d+\n)?(.*)'}";

    #[rstest]
    #[case(PLAIN, "code 7\nOutput:\ncode 0\n", false, Ok((7, "code 0\n")))]
    #[case(PLAIN, "code 0\nOutput:\n", false, Ok((0, "")))]
    #[case(PLAIN, "Output:\nhi\n", false, Err("tells no exit code"))]
    #[case(PLAIN, "code -1\nOutput:\n", false, Err("exit code -1"))]
    #[case(PLAIN, "code 256\nOutput:\n", false, Err("exit code 256"))]
    #[case(PLAIN, "not approved: code 0", true, Err("declined"))]
    #[case(UNSAID, "hi", false, Ok((0, "hi")))]
    #[case(UNSAID, "", false, Ok((0, "")))]
    #[case(UNSAID, "code 3\nhi", true, Ok((3, "hi")))]
    #[case(UNSAID, "the tool broke", true, Err("tells no exit code"))]
    fn a_report_is_read_by_its_format(
        #[case] yaml: &str,
        #[case] text: &str,
        #[case] is_error: bool,
        #[case] wanted: Result<(u8, &str), &str>,
    ) {
        let report = ToolReport { text: text.to_owned(), is_error };
        match (format(yaml).read(&report), wanted) {
            (CommandReport::Ended { code, output }, Ok(wanted)) => {
                assert_eq!((code, output.as_str()), wanted);
            }
            (CommandReport::Unreadable(why), Err(wanted)) => assert!(why.contains(wanted), "{why}"),
            (CommandReport::Declined(_), Err("declined")) => {}
            (read, wanted) => panic!("{read:?} instead of {wanted:?}"),
        }
    }
}
