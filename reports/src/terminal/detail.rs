//! Findings in detail: the observations of each arm, and the way to repeat them.

use super::paint::mark;
use super::{FailureVerbosity, TerminalPage};
use crate::findings::{Finding, FindingKind, findings, groups, stem};
use crate::record::{ArmRow, CaseQuestion, CaseRow, EarlierTry};
use crate::row_reading::{case_link, headline};
use crate::text::{clean, earlier_words, exit_words, shorten, telling_lines, wrap};

/// The column at which the text of a finding starts.
const INDENT: usize = 4;
/// The column at which the text of an arm starts.
const ARM_INDENT: usize = 14;
/// The parts of a case's question that are shown with a failure.
const TOLD: [&str; 3] = ["act", "policy", "twin"];
/// The number of lines of a stream that are shown.
const STREAM_LINES: usize = 3;

impl TerminalPage<'_> {
    pub(super) fn findings(&self) -> String {
        FindingKind::ALL
            .into_iter()
            .map(|kind| (kind, findings(self.matrix, kind)))
            .filter(|(_, found)| !found.is_empty())
            .map(|(kind, found)| self.group(kind, &found))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn group(&self, kind: FindingKind, found: &[Finding<'_>]) -> String {
        let heading = self.paint.heading(&format!("{} ({})", kind.heading(), found.len()));
        if self.failures == FailureVerbosity::Brief {
            let lines: Vec<String> =
                groups(found).iter().flat_map(|group| self.brief(group)).collect();
            return format!("{heading}\n{}\n", lines.join("\n"));
        }
        let entries: Vec<String> = found.iter().map(|f| self.finding(kind, f)).collect();
        let separator = if kind == FindingKind::Known { "" } else { "\n" };
        format!("{heading}\n{}", entries.join(separator))
    }

    /// Renders a group of findings as one entry: their result, and their rows.
    fn brief(&self, group: &[Finding<'_>]) -> Vec<String> {
        let Some(first) = group.first() else { return Vec::new() };
        let (label, case) = (&self.matrix.columns[first.column].label, stem(first.row));
        let rows: Vec<&str> = group
            .iter()
            .filter_map(|finding| finding.row.id.strip_prefix(case)?.strip_prefix('/'))
            .collect();
        let rows = match rows.is_empty() {
            true => String::new(),
            false => format!(" ({}): {}", rows.len(), rows.join(", ")),
        };
        self.hanging(&format!("{label}: {case}: {}{rows}", headline(first.row)))
    }

    pub(super) fn finding(&self, kind: FindingKind, finding: &Finding<'_>) -> String {
        let row = finding.row;
        let mut lines = self.title(finding);
        let known = row.known.as_ref().map(|known| {
            let link = known.link.as_ref().map(|link| format!(" ({link})")).unwrap_or_default();
            format!("known: {}{link}", known.reason)
        });
        if kind == FindingKind::Known {
            lines.extend(self.indented(&known.unwrap_or_default()));
        } else {
            lines.extend(self.indented(&row.message));
            lines.extend(known.iter().flat_map(|known| self.indented(known)));
            lines.extend(self.indented(&format!("case: {}", row.purpose)));
            let asked = row
                .asked
                .iter()
                .flat_map(CaseQuestion::parts)
                .filter(|(name, _)| TOLD.contains(name));
            lines.extend(asked.flat_map(|(name, text)| self.indented(&format!("{name}: {text}"))));
            lines.extend(self.indented(&terms(row)));
            let header = self.matrix.columns[finding.column].header;
            let promised = row.requirements.iter().filter_map(|id| header.requirements.get(id));
            lines.extend(promised.flat_map(|promise| {
                self.indented(&format!("promised: {} ({})", promise.text, promise.source))
            }));
            let link = case_link(header, row);
            lines.extend(link.iter().flat_map(|link| self.indented(&format!("file: {link}"))));
            lines.extend(row.arms.iter().flat_map(|arm| self.arm(arm)));
            lines.extend(row.earlier.iter().flat_map(|earlier| self.earlier(earlier)));
            lines.extend(row.reproduce.iter().map(|line| format!("    again: {}", clean(line))));
        }
        lines.into_iter().map(|line| format!("{line}\n")).collect()
    }

    /// Renders the result of a try that was repeated, and the observations of its arms.
    fn earlier(&self, earlier: &EarlierTry) -> Vec<String> {
        let mut lines = self.indented(&format!("earlier try: {}", earlier_words(earlier)));
        lines.extend(earlier.arms.iter().flat_map(|arm| self.arm(arm)));
        lines
    }

    fn title(&self, finding: &Finding<'_>) -> Vec<String> {
        let row = finding.row;
        let backend = clean(&self.matrix.columns[finding.column].label);
        let verdict = self.paint.verdict(row.verdict.keyword(), row.verdict);
        let mut lines = vec![
            format!("{:1$}{2}", "", INDENT / 2, self.paint.heading(&clean(&row.id))),
            format!("{:INDENT$}{backend}: {verdict}{}", "", mark(row)),
        ];
        if !row.reason.is_empty() {
            lines.extend(self.indented(&format!("reason: {}", row.reason)));
        }
        lines
    }

    fn indented(&self, text: &str) -> Vec<String> {
        let lines = wrap(&clean(text), self.width - INDENT);
        lines.iter().map(|line| format!("{:INDENT$}{line}", "")).collect()
    }

    fn arm(&self, arm: &ArmRow) -> Vec<String> {
        let mut facts = vec![exit_words(arm)];
        facts.extend(arm.observation.iter().map(|seen| format!("probe saw {seen}")));
        let holding = arm.oracles.iter().filter(|oracle| oracle.holds).count();
        if holding > 0 {
            facts.push(format!("{holding} of {} oracles hold", arm.oracles.len()));
        }
        let mut lines = wrap(&clean(&facts.join("; ")), self.width - ARM_INDENT);
        if !arm.command.is_empty() {
            let command = format!("command: {}", arm.command);
            lines.extend(wrap(&clean(&command), self.width - ARM_INDENT));
        }
        for oracle in arm.oracles.iter().filter(|oracle| !oracle.holds) {
            let text = match oracle.unread {
                true => format!("not read: {}; {}", oracle.oracle, oracle.saw),
                false => format!("does not hold: {}; saw {}", oracle.oracle, oracle.saw),
            };
            lines.extend(wrap(&clean(&text), self.width - ARM_INDENT));
        }
        lines.extend(self.stream("stdout", &arm.stdout.text));
        lines.extend(self.stream("stderr", &arm.stderr.text));
        lines
            .iter()
            .enumerate()
            .map(|(i, line)| {
                format!("    {:8}  {line}", if i == 0 { arm.arm.keyword() } else { "" })
            })
            .collect()
    }

    fn stream(&self, name: &str, text: &str) -> Vec<String> {
        let room = self.width - ARM_INDENT - name.len() - 2;
        let mut lines = telling_lines(text);
        let mut shown: Vec<String> = lines
            .by_ref()
            .take(STREAM_LINES)
            .map(|line| format!("{name}| {}", shorten(&clean(line), room)))
            .collect();
        match lines.count() {
            0 => {}
            more => shown.push(format!("{name}| … {more} more lines in the record")),
        }
        shown
    }
}

fn terms(row: &CaseRow) -> String {
    let requirements = match row.requirements.join(", ") {
        none if none.is_empty() => String::new(),
        some => format!("; requirement {some}"),
    };
    format!("level: {}{requirements}", row.level.keyword())
}
