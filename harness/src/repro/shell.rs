//! Texts as a shell reads them back, with what differs from place to place as variables of the
//! script: [`ScriptShell`].

use std::path::Path;

use boxproof_cases::vars::VariableValues;

use super::{PROBE, PROBE_DIRECTORY};
use crate::backend::Backend;
use crate::run::{LATE, RenderedArm, token};

/// Knows which texts are variables of the script.
#[derive(Debug, Clone)]
pub(super) struct ScriptShell {
    vars: VariableValues,
    /// Text → how the script writes it, longest first.
    values: Vec<(String, String)>,
}

impl ScriptShell {
    /// Makes the shell for the texts of one rendered arm.
    pub(super) fn for_arm(rendered: &RenderedArm, backend: &Backend) -> Result<Self, String> {
        let get = |name: &str| {
            rendered.vars.get(name).map(str::to_owned).ok_or(format!("${name} has no value"))
        };
        let ws = get("WS")?;
        let root = ws.strip_suffix("/ws").ok_or("the workspace lies elsewhere")?;
        let mut values = vec![
            (root.to_owned(), "$root".to_owned()),
            (get("PROBE")?, format!("$here/{PROBE_DIRECTORY}/{PROBE}")),
            (get("NONCE")?, "$nonce".to_owned()),
            (get("CANARY")?, "$canary".to_owned()),
        ];
        // Backends grant the directory that they run the probe from.
        let above = Path::new(rendered.vars.get("PROBE").unwrap_or_default()).parent();
        values.extend(above.map(|d| (d.display().to_string(), format!("$here/{PROBE_DIRECTORY}"))));
        for name in LATE {
            values.push((token(name), format!("$(cat \"$work/{name}.address\")")));
        }
        if let Some(program) = &backend.program {
            values.push((program.display().to_string(), "$backend".to_owned()));
        }
        values.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Ok(Self { vars: rendered.vars.clone(), values })
    }

    /// Expands the variables in `text` of the case, and quotes it as one word.
    pub(super) fn expanded(&self, text: &str) -> String {
        self.quoted_word(&self.vars.expand(text).unwrap_or_else(|_| text.to_owned()))
    }

    /// A shell line of the case, variables expanded, as one word.
    pub(super) fn expanded_line(&self, line: &str) -> String {
        self.quoted_word(&self.vars.expand_shell(line))
    }

    /// A path of the case: variables expanded, below the workspace unless absolute.
    pub(super) fn place(&self, path: &str) -> String {
        let path = self.vars.expand(path).unwrap_or_else(|_| path.to_owned());
        let ws = Path::new(self.vars.get("WS").unwrap_or_default());
        self.quoted_word(&ws.join(path).to_string_lossy())
    }

    /// Quotes `text` as one word, with the shell's variables in it.
    pub(super) fn quoted_word(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((at, (value, written))) = self.first_in(rest) {
            if at > 0 {
                out += &quoted(&rest[..at]);
            }
            out += &format!("\"{written}\"");
            rest = &rest[at + value.len()..];
        }
        if !rest.is_empty() || out.is_empty() {
            out += &quoted(rest);
        }
        out
    }

    /// The first value in `text`; of several at one place the longest.
    fn first_in(&self, text: &str) -> Option<(usize, &(String, String))> {
        let found = self.values.iter().filter_map(|value| Some((text.find(&value.0)?, value)));
        found.min_by_key(|(at, _)| *at)
    }
}

/// Quotes `text` as one word that means itself.
pub(super) fn quoted(text: &str) -> String {
    crate::shell_quoting::shell_word(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn shell() -> ScriptShell {
        let vars = VariableValues::new([
            ("WS", "/s/arm/ws"),
            ("OUT", "/s/arm/out"),
            ("PROBE", "/s/probe/boxprobe"),
            ("NONCE", "bx1-2"),
            ("CANARY", "CANARY9"),
            ("TCP4", "@boxproof-TCP4@"),
        ]);
        ScriptShell::for_arm(&RenderedArm { vars, steps: Vec::new() }, &crate::testing::bare("box"))
            .unwrap()
    }

    #[rstest]
    #[case("plain", "plain")]
    #[case("", "''")]
    #[case("it's $HOME `x`", "'it'\\''s $HOME `x`'")]
    #[case("/s/arm/ws/f", "\"$root\"/ws/f")]
    #[case("--bind=/s/arm/out:/s/arm/ws", "--bind=\"$root\"/out:\"$root\"/ws")]
    #[case("/s/probe/boxprobe", "\"$here/probe/boxprobe\"")]
    #[case("--bind=/s/probe:/s/probe", "--bind=\"$here/probe\":\"$here/probe\"")]
    #[case("n bx1-2 c CANARY9", "'n '\"$nonce\"' c '\"$canary\"")]
    #[case("@boxproof-TCP4@", "\"$(cat \"$work/TCP4.address\")\"")]
    #[case("line\nfeed", "'line\nfeed'")]
    fn words_mean_what_they_say(#[case] text: &str, #[case] word: &str) {
        assert_eq!(shell().quoted_word(text), word);
    }

    #[test]
    fn texts_of_a_case_are_expanded_first() {
        assert_eq!(shell().expanded("$OUT is $CANARY"), "\"$root\"'/out is '\"$canary\"");
        assert_eq!(shell().place("f"), "\"$root\"/ws/f");
        assert_eq!(shell().place("$OUT/f"), "\"$root\"/out/f");
        assert_eq!(shell().expanded_line("cd $WS; echo $x"), "'cd '\"$root\"'/ws; echo $x'");
    }
}
