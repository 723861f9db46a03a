//! The least risk that an action's type has.

/// The words for risk, lowest first.
pub(super) const RISKS: [&str; 4] = ["low", "medium", "high", "critical"];

/// Type → the least risk of it.
const LEAST: &[(&str, &str)] = &[
    ("system.command.execute", "high"),
    ("system.code.execute", "high"),
    ("filesystem.file.read", "low"),
    ("filesystem.file.create", "low"),
    ("filesystem.file.modify", "medium"),
    ("filesystem.file.move", "medium"),
    ("filesystem.file.delete", "high"),
    ("filesystem.directory.list", "low"),
    ("filesystem.directory.create", "low"),
    ("filesystem.directory.delete", "high"),
    ("system.pty.open", "critical"),
    ("system.pty.close", "high"),
    ("network.egress.observed", "medium"),
    ("unknown", "medium"),
];

/// Returns whether `risk` is lower than actions of `kind` may be given.
pub(super) fn is_lowered(kind: &str, risk: &str) -> bool {
    let rank = |risk: &str| RISKS.iter().position(|known| *known == risk);
    let own = kind.starts_with("agent_receipts.");
    let least = LEAST.iter().find(|(known, _)| *known == kind).map(|(_, least)| *least);
    let least = least.unwrap_or(if own { "low" } else { "medium" });
    rank(risk) < rank(least)
}

/// The place of a word for risk among them, lowest first.
pub(super) fn rank(risk: &str) -> Option<usize> {
    RISKS.iter().position(|known| *known == risk)
}
