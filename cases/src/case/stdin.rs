//! The content of a command's descriptor 0, as a case writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// The longest that a case can make it, in bytes.
const MOST: usize = 4 << 20;

/// A text, or one that is repeated: more than pipes hold is not to be written out.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "what is read is a text, or {repeat: TEXT, times: N}")]
pub(super) enum StdinText {
    /// The text itself.
    Plain(String),
    /// A text over and over.
    Repeated(RepeatedText),
}

/// A text over and over.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RepeatedText {
    /// The text.
    repeat: String,
    /// The number of repetitions.
    times: usize,
}

/// Reads a [`StdinText`] as the text it stands for.
pub(super) fn written<'de, D>(deserializer: D) -> Result<Option<String>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = Option::<StdinText>::deserialize(deserializer)?;
    text.map(StdinText::whole).transpose().map_err(serde::de::Error::custom)
}

impl StdinText {
    fn whole(self) -> Result<String, String> {
        match self {
            Self::Plain(text) => Ok(text),
            Self::Repeated(RepeatedText { repeat, times }) => {
                let fits = repeat.len().checked_mul(times).is_some_and(|size| size <= MOST);
                if fits { Ok(repeat.repeat(times)) } else { Err(format!("over {MOST} bytes")) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::case::CaseFile;

    fn stdin(written: &str) -> Result<Option<String>, String> {
        let text = format!(
            "{{purpose: P., requirement: R-x, stdin: {written}, expect: {{allowed: {{}}}}}}"
        );
        let file = crate::load::fragment::<CaseFile>(&text);
        file.map(|file| file.stdin).map_err(|error| error.to_string())
    }

    #[rstest]
    #[case("text", "text")]
    #[case("''", "")]
    #[case("{repeat: ab, times: 3}", "ababab")]
    #[case("{repeat: ab, times: 0}", "")]
    fn it_is_the_text_it_stands_for(#[case] written: &str, #[case] whole: &str) {
        assert_eq!(stdin(written), Ok(Some(whole.to_owned())));
    }

    #[rstest]
    #[case("{repeat: ab}")]
    #[case("{repeat: ab, times: 3, else: 1}")]
    #[case("{repeat: ab, times: 2097153}")]
    #[case("{repeat: ab, times: 18446744073709551615}")]
    #[case("[a]")]
    fn anything_else_is_refused(#[case] written: &str) {
        stdin(written).unwrap_err();
    }
}
