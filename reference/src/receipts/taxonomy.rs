//! The risk of each type of action: a table, and `medium` for unknown types.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The risk of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Risk {
    /// Looks, or makes something new.
    Low,
    /// Changes something, or is unknown.
    Medium,
    /// Destroys, or runs code.
    High,
    /// Opens a way to do anything.
    Critical,
}

/// One entry a line: type, risk.
const TABLE: &str = include_str!("taxonomy.txt");

static RISKS: LazyLock<HashMap<&'static str, Risk>> = LazyLock::new(|| entries().collect());

fn entries() -> impl Iterator<Item = (&'static str, Risk)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (name, risk) = line.split_once(' ')?;
        Some((name, word(risk.trim())?))
    })
}

fn word(text: &str) -> Option<Risk> {
    Some(match text {
        "low" => Risk::Low,
        "medium" => Risk::Medium,
        "high" => Risk::High,
        "critical" => Risk::Critical,
        _ => return None,
    })
}

/// The risk of an action; an emitter has no say in it.
pub(crate) fn risk(action: &str) -> Risk {
    RISKS.get(action).copied().unwrap_or(Risk::Medium)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn every_line_is_an_entry() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!((entries().count(), RISKS.len()), (lines, lines));
    }

    #[rstest]
    #[case("system.command.execute", Risk::High)]
    #[case("system.pty.open", Risk::Critical)]
    #[case("system.pty.close", Risk::Critical)]
    #[case("filesystem.directory.list", Risk::Low)]
    #[case("network.egress.observed", Risk::Medium)]
    #[case("unknown", Risk::Medium)]
    #[case("never.heard.of", Risk::Medium)]
    fn risks(#[case] action: &str, #[case] expected: Risk) {
        assert_eq!(risk(action), expected);
    }
}
