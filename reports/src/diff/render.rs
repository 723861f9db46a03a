//! A comparison for people: as text ([`terminal`]) and for GitHub ([`markdown`]).

use super::{Diff, Transition, TransitionKind};
use crate::markdown::escape::{code, text};
use crate::record::CaseRow;
use crate::text::{clean, earlier_tries, inert, wrap};
use crate::verdict::Outcome;

/// The comparison as plain text; ends with its summary line and a newline.
#[must_use]
pub fn terminal(diff: &Diff<'_>, width: usize) -> String {
    let mut out = String::new();
    for (kind, found) in by_kind(diff) {
        out += &format!("{} ({})\n", kind.heading(), found.len());
        for transition in found {
            let column = clean(&diff.columns[transition.column]);
            out += &format!(
                "  {}\n    {column}: {}\n",
                clean(transition.id),
                clean(&step(transition))
            );
            let message = clean(&why(transition));
            out.extend(
                wrap(&message, width.max(40) - 4).iter().map(|line| format!("    {line}\n")),
            );
        }
        out.push('\n');
    }
    if !diff.environment.is_empty() {
        out += "environment changed\n";
        for change in &diff.environment {
            let lines = wrap(&clean(change), width.max(40) - 4);
            let indent = |at: usize| if at == 0 { "  " } else { "    " };
            out.extend(lines.iter().enumerate().map(|(at, l)| format!("{}{l}\n", indent(at))));
        }
        out.push('\n');
    }
    inert(&(out + &summary(diff) + "\n"))
}

/// The comparison as Markdown.
#[must_use]
pub fn markdown(diff: &Diff<'_>) -> String {
    let mut out = format!("## boxproof diff\n\n**{}**\n\n", text(&summary(diff)));
    for (kind, found) in by_kind(diff) {
        out += &format!("### {} ({})\n\n", capitalized(kind.heading()), found.len());
        out += "| case | backend | verdict | why |\n|---|---|---|---|\n";
        for transition in found {
            let column = text(&diff.columns[transition.column]);
            let (id, step) = (code(transition.id), text(&step(transition)));
            out += &format!("| {id} | {column} | {step} | {} |\n", text(&why(transition)));
        }
        out.push('\n');
    }
    if !diff.environment.is_empty() {
        out += "### Environment changed\n\n";
        out.extend(diff.environment.iter().map(|change| format!("- {}\n", text(change))));
    }
    inert(&out)
}

/// Renders the number of results that were compared, and the number of changes of each kind.
fn summary(diff: &Diff<'_>) -> String {
    let counts = diff.counts();
    let changes: Vec<String> =
        counts.iter().map(|(kind, count)| format!("{count} {}", kind.heading())).collect();
    let changes = match changes.join(", ") {
        none if none.is_empty() => "no case changed".to_owned(),
        some => some,
    };
    format!("{} compared: {changes}", diff.compared)
}

fn by_kind<'d, 'a>(diff: &'d Diff<'a>) -> Vec<(TransitionKind, Vec<&'d Transition<'a>>)> {
    let of_kind =
        |kind: TransitionKind| diff.transitions.iter().filter(move |found| found.kind == kind);
    let groups =
        TransitionKind::ALL.into_iter().map(|kind| (kind, of_kind(kind).collect::<Vec<_>>()));
    groups.filter(|(_, found)| !found.is_empty()).collect()
}

/// Renders the older and the newer result.
fn step(transition: &Transition<'_>) -> String {
    let word = |row: Option<&CaseRow>| row.map_or("not asked".to_owned(), verdict_text);
    format!("{} → {}", word(transition.before), word(transition.after))
}

fn verdict_text(row: &CaseRow) -> String {
    match row.reason.as_str() {
        _ if row.outcome == Outcome::Flaky => format!("{} (flaky)", row.verdict),
        "" => row.verdict.to_string(),
        reason => format!("{} ({reason})", row.verdict),
    }
}

/// The newer message, and whether the case asks the same as before.
fn why(transition: &Transition<'_>) -> String {
    let message = transition.after.map(row_text).unwrap_or_default();
    match (transition.asks_otherwise(), message.as_str()) {
        (false, _) => message,
        (true, "") => "the case itself asks something else now".to_owned(),
        (true, message) => format!("{message}; the case itself asks something else now"),
    }
}

/// The message of `row`, which for a flaky one is that of the tries before it passed.
fn row_text(row: &CaseRow) -> String {
    if row.outcome == Outcome::Flaky { earlier_tries(row) } else { row.message.clone() }
}

fn capitalized(heading: &str) -> String {
    let (first, rest) = heading.split_at(1);
    first.to_uppercase() + rest
}
