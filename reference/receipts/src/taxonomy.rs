//! The risk of each type of action: a table, and `medium` for unknown types.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The risk of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RiskLevel {
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

static RISKS: LazyLock<HashMap<&'static str, RiskLevel>> = LazyLock::new(|| entries().collect());

fn entries() -> impl Iterator<Item = (&'static str, RiskLevel)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (name, risk) = line.split_once(' ')?;
        Some((name, parse_risk(risk.trim())?))
    })
}

fn parse_risk(text: &str) -> Option<RiskLevel> {
    Some(match text {
        "low" => RiskLevel::Low,
        "medium" => RiskLevel::Medium,
        "high" => RiskLevel::High,
        "critical" => RiskLevel::Critical,
        _ => return None,
    })
}

/// The risk of an action; an emitter has no say in it.
pub(crate) fn risk(action: &str) -> RiskLevel {
    RISKS.get(action).copied().unwrap_or(RiskLevel::Medium)
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
    #[case("system.command.execute", RiskLevel::High)]
    #[case("system.pty.open", RiskLevel::Critical)]
    #[case("system.pty.close", RiskLevel::Critical)]
    #[case("filesystem.directory.list", RiskLevel::Low)]
    #[case("network.egress.observed", RiskLevel::Medium)]
    #[case("unknown", RiskLevel::Medium)]
    #[case("never.heard.of", RiskLevel::Medium)]
    fn risks(#[case] action: &str, #[case] expected: RiskLevel) {
        assert_eq!(risk(action), expected);
    }
}
