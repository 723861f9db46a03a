//! Noise of a backend between the lines of the command, and its removal: [`BackendNoise`].

use memchr::memmem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BytePattern, LaunchError, template};

/// The noise of a backend between the lines of the command. It is taken out before anything is
/// compared, except where a case is about the streams themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackendNoise {
    /// On stdout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stdout: Vec<NoisePattern>,
    /// On stderr.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<NoisePattern>,
}

/// The form of one piece of noise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "noise is the start of a line as a text, {line: PATTERN}, or {from: PATTERN, to: TEXT}"
)]
pub enum NoisePattern {
    /// A line that starts like this.
    Prefix(String),
    /// A line the whole of which matches.
    Whole {
        /// The pattern, tried on the line without its end.
        line: BytePattern,
    },
    /// A stretch, over lines or within one.
    Stretch {
        /// Its first bytes match this.
        from: BytePattern,
        /// Its last bytes are this: a template, rendered for each run.
        to: String,
    },
}

impl NoisePattern {
    fn is(&self, line: &[u8]) -> bool {
        match self {
            Self::Prefix(prefix) => line.starts_with(prefix.as_bytes()),
            Self::Whole { line: pattern } => {
                pattern.is_whole(line.strip_suffix(b"\n").unwrap_or(line))
            }
            Self::Stretch { .. } => false,
        }
    }

    fn rendered(&self, context: &minijinja::Value) -> Result<Self, LaunchError> {
        let Self::Stretch { from, to } = self else { return Ok(self.clone()) };
        Ok(Self::Stretch { from: from.clone(), to: template::text(to, context)? })
    }
}

impl BackendNoise {
    /// Renders the templates in the noise of both streams.
    ///
    /// # Errors
    /// A template that cannot be rendered.
    pub(super) fn rendered(&self, context: &minijinja::Value) -> Result<Self, LaunchError> {
        let all = |sounds: &[NoisePattern]| -> Result<Vec<NoisePattern>, LaunchError> {
            sounds.iter().map(|sound| sound.rendered(context)).collect()
        };
        Ok(Self { stdout: all(&self.stdout)?, stderr: all(&self.stderr)? })
    }

    /// The templates in it.
    pub(super) fn templates(&self) -> impl Iterator<Item = &str> {
        self.stdout.iter().chain(&self.stderr).filter_map(|sound| match sound {
            NoisePattern::Stretch { to, .. } => Some(to.as_str()),
            _ => None,
        })
    }

    /// Removes from `stream` the stretches, then the lines that match `sounds`; all other bytes
    /// stay.
    pub fn strip(sounds: &[NoisePattern], stream: &[u8]) -> Vec<u8> {
        let mut rest = stream.to_vec();
        if sounds.is_empty() {
            return rest;
        }
        for sound in sounds {
            if let NoisePattern::Stretch { from, to } = sound {
                rest = without_stretches(from, to.as_bytes(), &rest);
            }
        }
        let lines = rest.split_inclusive(|byte| *byte == b'\n');
        let kept = lines.filter(|line| !sounds.iter().any(|sound| sound.is(line)));
        kept.collect::<Vec<_>>().concat()
    }
}

/// A stretch that does not end stays, all of it.
fn without_stretches(from: &BytePattern, to: &[u8], stream: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(stream.len());
    let mut rest = stream;
    while let Some(start) = from.find(rest) {
        let Some(end) = memmem::find(&rest[start.end..], to) else { break };
        out.extend_from_slice(&rest[..start.start]);
        rest = &rest[start.end + end + to.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn stdout(yaml: &str) -> Vec<NoisePattern> {
        let noise: BackendNoise = serde_yaml::from_str(yaml).unwrap();
        noise.stdout
    }

    #[rstest]
    #[case(b"a\nlog: x\nb", b"a\nb")]
    #[case(b"log: x", b"")]
    #[case(b"\xff log: \n\n", b"\xff log: \n\n")]
    #[case(b"12ms took\n12ms\n12msec\na 12ms", b"12msec\na 12ms")]
    fn noise_goes_line_by_line(#[case] stream: &[u8], #[case] rest: &[u8]) {
        let sounds = stdout(r"stdout: ['log: ', {line: '\d+ms( .*)?'}]");
        assert_eq!(BackendNoise::strip(&sounds, stream), rest);
    }

    #[rstest]
    #[case(b"7 runs: a\nb\nout", b"out")]
    #[case(b"out7 ends ok\n", b"out")]
    #[case(b"7 runs: a\nout", b"7 runs: a\nout")]
    #[case(b"7 runs: a\nb\nx7 ends a\n7 runs: a\nb\n", b"x")]
    #[case(b"\xff\n\n", b"\xff\n\n")]
    fn a_stretch_goes_from_its_start_to_its_end(#[case] stream: &[u8], #[case] rest: &[u8]) {
        let noise: BackendNoise = serde_yaml::from_str(
            "stdout: [{from: '[0-9]+ runs: ', to: \"{{ command | join(' ') }}\\n\"}, \
             {from: '[0-9] ends', to: \"\\n\"}]",
        )
        .unwrap();
        let context = minijinja::context! { command => ["a\nb"] };
        let noise = noise.rendered(&context).unwrap();
        assert_eq!(BackendNoise::strip(&noise.stdout, stream), rest);
    }
}
