//! The checks of a table made by hand, before it is compared with anything.

use super::by_hand::{ByHand, HandQuestion, KnownDifference, OutcomeMeaning};
use crate::verdict::Verdict;

/// A field and what is wrong with it.
type TableFault = (String, String);

/// The first thing that is wrong with `table`.
pub(super) fn fault(table: &ByHand) -> Option<TableFault> {
    let words = table.words.iter().find_map(|(name, word)| meaning_fault("words", name, word));
    let mut probes = table.probes.iter();
    let mut differences = table.differences.iter();
    words
        .or_else(|| probes.find_map(|(id, probe)| self::probe(table, id, probe)))
        .or_else(|| differences.find_map(|difference| self::difference(table, difference)))
}

fn meaning_fault(at: &str, name: &str, word: &OutcomeMeaning) -> Option<TableFault> {
    let message = if word.verdicts.is_empty() {
        "name the verdicts that say the same"
    } else if word.meets == Some(false) && word.verdicts.contains(&Verdict::Pass) {
        "what is against the policy is no pass"
    } else {
        return None;
    };
    Some((format!("{at}.{name}"), message.to_owned()))
}

fn probe(table: &ByHand, id: &str, probe: &HandQuestion) -> Option<TableFault> {
    let at = format!("probes.{id}");
    if probe.cases.is_empty() {
        return Some((format!("{at}.cases"), "name the cases that ask it".to_owned()));
    }
    let own = probe.words.iter();
    own.clone()
        .find_map(|(name, word)| meaning_fault(&format!("{at}.words"), name, word))
        .or_else(|| outcome_fault(table, probe).map(|message| (format!("{at}.seen"), message)))
}

/// Every outcome has a meaning and a column, and every cell at most one outcome.
fn outcome_fault(table: &ByHand, probe: &HandQuestion) -> Option<String> {
    for seen in &probe.seen {
        if table.meaning(probe, &seen.word).is_none() {
            return Some(format!("nothing says what `{}` means", seen.word));
        }
        if let Some(name) = seen.by.iter().find(|name| !table.columns.contains_key(*name)) {
            return Some(format!("there is no column `{name}`"));
        }
    }
    for (name, column) in &table.columns {
        for user in &column.users {
            if probe.seen.iter().filter(|seen| seen.covers(name, *user)).count() > 1 {
                return Some(format!("{name} has two outcomes as {}", user.keyword()));
            }
        }
    }
    None
}

fn difference(table: &ByHand, difference: &KnownDifference) -> Option<TableFault> {
    let probe = difference.probes.iter().find(|id| !table.probes.contains_key(*id));
    let column = difference.columns.iter().find(|name| !table.columns.contains_key(*name));
    let message = match (probe, column) {
        (Some(id), _) => format!("there is no probe `{id}`"),
        (_, Some(name)) => format!("there is no column `{name}`"),
        _ if difference.reason.trim().is_empty() => "give the reason".to_owned(),
        _ => return None,
    };
    Some(("differences".to_owned(), message))
}
