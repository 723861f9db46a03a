//! The rules read a second time, by themselves: nothing here is the engine's.

use std::path::Path;

use globset::GlobBuilder;
use serde_json::Value;

/// One operation's rules in order, each with whether it grants; the last that matches decides.
pub(crate) struct Rules(Vec<(bool, String)>);

impl Rules {
    /// Those of the profile `p`, then the denies.
    pub(crate) fn from_policy(policy: &Value, operation: &str, deny: &str) -> Self {
        let texts = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(|rule| rule.as_str().unwrap().to_owned()).collect()
        };
        let spec = &policy["spec"];
        let own = texts(&spec["fsProfiles"]["p"][operation]).into_iter();
        let own = own.map(|rule| match rule.strip_prefix('!') {
            Some(taken) => (false, taken.to_owned()),
            None => (true, rule),
        });
        let denied = texts(&spec[deny]).into_iter().map(|rule| (false, rule));
        Self(own.chain(denied).collect())
    }

    /// Returns whether they allow `path`.
    pub(crate) fn allow(&self, path: &str) -> bool {
        let last = self.0.iter().rev().find(|(_, rule)| matches(rule, path));
        last.is_some_and(|(grants, _)| *grants)
    }
}

fn matches(rule: &str, path: &str) -> bool {
    if rule == "**" {
        return true;
    }
    let plain = rule.replace('[', "\u{0}").replace(']', "[]]").replace('\u{0}', "[[]");
    match plain.strip_suffix("/**") {
        Some(directory) => {
            let mut above = Path::new(path).ancestors().filter(|path| *path != Path::new(""));
            above.any(|above| fits(directory, above))
        }
        // A star alone is the workspace, too.
        None => fits(&plain, Path::new(path)),
    }
}

fn fits(glob: &str, path: &Path) -> bool {
    let glob = GlobBuilder::new(glob).literal_separator(true).build().unwrap();
    glob.compile_matcher().is_match(path)
}
