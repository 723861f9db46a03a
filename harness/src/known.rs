//! Known failures: the known faults of a backend, kept beside its manifest. The type is [`KnownFailures`].

mod date;
mod known_outcome;

use std::path::Path;

use boxproof_cases::Suite;
use boxproof_cases::load::{LoadError, parse};
use boxproof_reports::{Outcome, UserKind, Verdict};
use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;

pub use date::CivilDate;
pub use known_outcome::KnownOutcome;

/// Backends that show that the harness is right; a known failure there would hide that it is not.
const NEVER: &[&str] = &[
    "reference",
    "none",
    "allow-all",
    "deny-all",
    "silent-success",
    "silent-failure",
    "silent-refusal",
    "echo",
    "forger-denies",
    "forger-allows",
];

/// Returns whether the backend called `name` never has known failures.
pub fn is_exempt(name: &str) -> bool {
    NEVER.contains(&name.split(':').next().unwrap_or_default())
}

/// The known failures of one backend; by default none.
#[derive(Debug, Clone, Default)]
pub struct KnownFailures {
    rows: Vec<KnownRow>,
    /// True if it came with the program: then it is about the corpus that came with it, too.
    shipped: bool,
}

/// The known failures of a backend that has none.
static NOTHING: KnownFailures = KnownFailures { rows: Vec::new(), shipped: false };

/// The place of the schema of these lists, from the root of the repository.
pub const KNOWN_SCHEMA: &str = "harness/backends/schema/known-failures.schema.json";

/// Returns the JSON Schema of a list, whose checked-in copy is at [`KNOWN_SCHEMA`].
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Vec<KnownRow>);
    schema.insert("title".to_owned(), "boxproof known failures".into());
    let about = "What one backend is known to get wrong; the file lies beside its manifest.";
    schema.insert("description".to_owned(), about.into());
    boxproof_cases::schema::document(schema, KNOWN_SCHEMA)
}

/// One known failure.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownRow {
    /// The cases: an id, or a glob over ids.
    pub case: IdPattern,
    /// The verdict they come to.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The reason code the verdict comes with; another one is another failure.
    #[serde(default)]
    pub signature: Option<String>,
    /// The outcomes of a race, in the place of `verdict` and `signature`: a run shows one of them.
    #[serde(default)]
    pub any_of: Vec<KnownOutcome>,
    /// The reason, for people.
    pub reason: String,
    /// The report of the failure.
    #[serde(default)]
    pub link: Option<String>,
    /// The first day on which it excuses nothing any more.
    #[serde(default)]
    pub expires: Option<CivilDate>,
    /// The kind of user that the row is limited to.
    #[serde(default)]
    pub user: Option<UserKind>,
    /// The parts with which the version starts: `0.8` is 0.8 and 0.8.1, not 0.80.
    #[serde(default)]
    pub version: Option<String>,
    /// The operating system that the row is limited to (`linux`, `macos`).
    #[serde(default)]
    pub os: Option<SystemName>,
}

/// An operating system, by the name Rust has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SystemName {
    /// Linux.
    Linux,
    /// macOS.
    Macos,
}

impl SystemName {
    /// The one this program runs on.
    pub const HERE: Self = if cfg!(target_os = "macos") { Self::Macos } else { Self::Linux };
}

/// An id or a glob over ids, `*` within one segment.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct IdPattern(GlobMatcher);

impl TryFrom<String> for IdPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let area = text.split('/').next().unwrap_or_default();
        if area.contains(['*', '?', '[', '{', '\\']) {
            return Err(format!("`{text}` is about every area: begin with the name of one"));
        }
        let glob = GlobBuilder::new(&text).literal_separator(true).build();
        glob.map(|glob| Self(glob.compile_matcher())).map_err(|error| error.to_string())
    }
}

impl IdPattern {
    /// Returns whether the glob matches the case called `id`.
    pub fn matches(&self, id: &str) -> bool {
        self.0.is_match(id)
    }
}

impl std::fmt::Display for IdPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.glob().glob())
    }
}

/// The circumstances of a backend's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSetting {
    /// The operating system.
    pub os: SystemName,
    /// The kind of user that runs the backend.
    pub user: UserKind,
    /// The backend's version, if it has one.
    pub version: Option<String>,
    /// The day of the run.
    pub today: CivilDate,
}

/// The result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseOutcome<'a> {
    /// The case's id.
    pub case: &'a str,
    /// The verdict.
    pub verdict: Verdict,
    /// Its reason code.
    pub signature: &'a str,
}

/// A row that should not be there any more.
#[derive(Debug, Clone, Copy)]
pub struct StaleRow<'a> {
    /// The row.
    pub row: &'a KnownRow,
    /// The reason.
    pub why: StaleReason,
}

/// The reason why a row should not be there any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleReason {
    /// No case it matches was judged, although cases of every id it could match were planned.
    Unused,
    /// The cases it matches fail in other ways only.
    Drifted,
    /// The day of its expiry has come.
    Expired,
}

impl KnownFailures {
    /// Reads the list `text` of the file at `file`, for the backend called `name`.
    ///
    /// # Errors
    /// The first thing that is wrong with it, located.
    pub fn parse(file: &Path, text: &str, name: &str) -> Result<Self, LoadError> {
        if is_exempt(name) {
            let message = format!("{name} never has known failures: fix it, or the cases");
            return Err(LoadError::whole(file, message));
        }
        let rows: Vec<KnownRow> = parse(file, text)?;
        let twice = |at: usize| {
            let is_same = |row: &KnownRow| row.key() == rows[at].key();
            let message = "the same case, verdict, signature and setting as a row before";
            rows[..at].iter().any(is_same).then_some(message)
        };
        let fault = |(at, row): (usize, &KnownRow)| Some((at, row.fault().or_else(|| twice(at))?));
        match rows.iter().enumerate().find_map(fault) {
            Some((at, message)) => {
                let message = format!("row {}, {}: {message}", at + 1, rows[at].case);
                let line = line_of_row(text, at);
                Err(LoadError { line, ..LoadError::whole(file, message) })
            }
            None => Ok(Self { rows, shipped: false }),
        }
    }

    /// Marks the known failures as shipped with the program.
    pub(crate) fn shipped(self) -> Self {
        Self { shipped: true, ..self }
    }

    /// Returns the known failures that apply to `suite`: shipped ones do not apply to other
    /// people's cases, not even to those that have the same name.
    pub fn for_suite(&self, suite: &Suite) -> &Self {
        if self.shipped && !suite.is_embedded() { &NOTHING } else { self }
    }

    /// Returns every row, in the file's order.
    pub fn rows(&self) -> &[KnownRow] {
        &self.rows
    }

    /// Compares a result with the known failures; returns the outcome and the row that decided.
    pub fn outcome(
        &self,
        found: CaseOutcome<'_>,
        setting: &RunSetting,
    ) -> (Outcome, Option<&KnownRow>) {
        let of_case = |row: &&KnownRow| row.case.matches(found.case) && row.applies(setting);
        let rows = self.rows.iter().filter(of_case);
        let mut live = rows.filter(|row| !row.is_expired(&setting.today));
        if found.verdict == Verdict::Pass {
            let rows: Vec<&KnownRow> = live.collect();
            return match rows.first() {
                Some(row) if !rows.iter().any(|row| row.says(found)) => (Outcome::Xpass, Some(row)),
                _ => (Outcome::Expected, None),
            };
        }
        if !found.verdict.is_failure() && !found.verdict.is_unlearnt() {
            return (Outcome::Expected, None);
        }
        let known = live.find(|row| row.says(found));
        known.map_or((Outcome::Unexpected, None), |row| (Outcome::Xfail, Some(row)))
    }

    /// Rows that should not be there any more. `ids` are those of the whole suite, `found` what
    /// this run concluded: a row is unused when it matches no id at all, or when all that it
    /// matches here came to `unsupported`.
    pub fn stale<'a>(
        &'a self,
        ids: &[&str],
        found: &[CaseOutcome<'_>],
        setting: &RunSetting,
    ) -> Vec<StaleRow<'a>> {
        let rows = self.rows.iter().filter(|row| row.applies(setting));
        rows.filter_map(|row| {
            let why = if row.is_expired(&setting.today) {
                StaleReason::Expired
            } else if row.is_unused(ids, found) {
                StaleReason::Unused
            } else if row.has_drifted(found) {
                StaleReason::Drifted
            } else {
                return None;
            };
            Some(StaleRow { row, why })
        })
        .collect()
    }
}

/// The line (from 1) of the row number `at` (from 0) of a list that has each row on lines of its
/// own; 0 where it has not.
fn line_of_row(text: &str, at: usize) -> usize {
    let mut rows = text.lines().enumerate().filter(|(_, line)| line.starts_with('-'));
    rows.nth(at).map_or(0, |(line, _)| line + 1)
}

impl KnownRow {
    /// Returns the properties that must differ between two rows.
    fn key(&self) -> impl PartialEq + '_ {
        let setting = (self.user, self.version.as_deref(), self.os);
        (self.case.to_string(), self.verdict, self.signature.as_deref(), setting)
    }

    fn fault(&self) -> Option<&'static str> {
        if self.reason.trim().is_empty() {
            return Some("signature and reason say something");
        }
        match (self.verdict, &self.signature, self.any_of.as_slice()) {
            (Some(verdict), Some(signature), []) => known_outcome::fault(verdict, signature),
            (None, None, [_, ..]) => known_outcome::fault_of_race(&self.any_of),
            _ => Some("a row has `verdict` and `signature`, or `any_of`"),
        }
    }

    /// Returns whether the row lists the outcome `found`.
    pub fn says(&self, found: CaseOutcome<'_>) -> bool {
        let is_only = self.verdict == Some(found.verdict)
            && self.signature.as_deref() == Some(found.signature);
        is_only || self.any_of.iter().any(|outcome| outcome.is(found))
    }

    /// Returns whether its cases come to several outcomes.
    pub fn is_race(&self) -> bool {
        !self.any_of.is_empty()
    }

    /// Returns whether the row is meant for these circumstances.
    pub fn applies(&self, setting: &RunSetting) -> bool {
        self.os.is_none_or(|os| os == setting.os)
            && self.user.is_none_or(|user| user == setting.user)
            && self.version.as_deref().is_none_or(|parts| {
                setting.version.as_deref().is_some_and(|version| starts_with_parts(version, parts))
            })
    }

    fn is_expired(&self, today: &CivilDate) -> bool {
        self.expires.as_ref().is_some_and(|day| day <= today)
    }

    fn is_unused(&self, ids: &[&str], found: &[CaseOutcome<'_>]) -> bool {
        if !ids.iter().any(|id| self.case.matches(id)) {
            return true;
        }
        let mut here = found.iter().filter(|found| self.case.matches(found.case)).peekable();
        here.peek().is_some() && here.all(|found| found.verdict == Verdict::Unsupported)
    }
}

impl KnownRow {
    /// Returns whether a case it matches failed, and none as the row says. Passes are reported on
    /// their own, and results without a lesson say nothing.
    fn has_drifted(&self, found: &[CaseOutcome<'_>]) -> bool {
        let here = found.iter().filter(|found| self.case.matches(found.case));
        let mut failed = here.filter(|found| found.verdict.is_failure()).peekable();
        failed.peek().is_some() && !failed.any(|found| self.says(*found))
    }
}

/// Returns whether `version` is `parts`, or goes on after it with a new part.
fn starts_with_parts(version: &str, parts: &str) -> bool {
    let rest = version.strip_prefix(parts);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const ROWS: &str = "
- {case: fs/mkdir, verdict: under-block, signature: opened, reason: Known., expires: 2026-06-01}
- {case: 'exec/**', verdict: contract, signature: exit-code, reason: Known., version: '0.8'}
- {case: net/tcp, verdict: over-block, signature: refused, reason: Known., user: root, os: linux}
- {case: net/tcp, verdict: leak, signature: process, reason: Known., link: owner/repo#1}
";

    fn known() -> KnownFailures {
        KnownFailures::parse(Path::new("box.known.yaml"), ROWS, "box").unwrap()
    }

    #[test]
    fn a_list_that_was_shipped_says_nothing_of_anybody_s_own_cases() {
        let case = "purpose: P.\nrequirement: R-x\nact: {sh: 'true'}\nexpect: {allowed: {}}\n";
        let own = Suite::from_files(
            "own",
            [("fs/mkdir.yaml".into(), case.to_owned())].into(),
            &[("r.yaml".into(), "R-x: {text: It works., source: a test}\n".to_owned())].into(),
        );
        let (own, embedded) = (own.unwrap(), Suite::embedded().unwrap());
        assert_eq!(known().for_suite(&own).rows().len(), 4);
        assert_eq!(known().shipped().for_suite(&own).rows().len(), 0);
        assert_eq!(known().shipped().for_suite(&embedded).rows().len(), 4);
        let now = setting(UserKind::Ordinary, "1", "2026-05-01");
        assert!(known().shipped().for_suite(&own).stale(&["fs/mkdir"], &[], &now).is_empty());
    }

    fn setting(user: UserKind, version: &str, today: &str) -> RunSetting {
        let version = (!version.is_empty()).then(|| version.to_owned());
        RunSetting {
            os: SystemName::Linux,
            user,
            version,
            today: CivilDate::try_from(today.to_owned()).unwrap(),
        }
    }

    fn usual() -> RunSetting {
        setting(UserKind::Root, "0.8.1", "2026-05-31")
    }

    #[rstest]
    #[case("fs/mkdir", Verdict::UnderBlock, "opened", Outcome::Xfail)]
    #[case("fs/mkdir", Verdict::UnderBlock, "other", Outcome::Unexpected)]
    #[case("fs/mkdir", Verdict::Leak, "opened", Outcome::Unexpected)]
    #[case("fs/mkdir", Verdict::Pass, "", Outcome::Xpass)]
    #[case("fs/mkdir", Verdict::Unsupported, "fs.write", Outcome::Expected)]
    #[case("fs/mkdir", Verdict::NotApplicable, "userns", Outcome::Expected)]
    #[case("fs/mkdir", Verdict::Skipped, "not installed", Outcome::Expected)]
    #[case("fs/mkdir", Verdict::Inconclusive, "control-failed", Outcome::Unexpected)]
    #[case("fs/mkdir", Verdict::Error, "setup", Outcome::Unexpected)]
    #[case("fs/mkdirs", Verdict::Pass, "", Outcome::Expected)]
    #[case("fs/mkdirs", Verdict::UnderBlock, "opened", Outcome::Unexpected)]
    #[case("exec/codes/one", Verdict::Contract, "exit-code", Outcome::Xfail)]
    #[case("net/tcp", Verdict::OverBlock, "refused", Outcome::Xfail)]
    #[case("net/tcp", Verdict::Leak, "process", Outcome::Xfail)]
    fn verdicts_meet_what_is_known(
        #[case] case: &str,
        #[case] verdict: Verdict,
        #[case] signature: &str,
        #[case] outcome: Outcome,
    ) {
        let known = known();
        let (found, row) = known.outcome(CaseOutcome { case, verdict, signature }, &usual());
        assert_eq!(found, outcome);
        assert_eq!(row.is_some(), matches!(outcome, Outcome::Xfail | Outcome::Xpass));
    }

    #[rstest]
    #[case("exec/a", "contract", setting(UserKind::Root, "0.8", "2026-01-01"), Outcome::Xfail)]
    #[case(
        "exec/a",
        "contract",
        setting(UserKind::Root, "0.80", "2026-01-01"),
        Outcome::Unexpected
    )]
    #[case("exec/a", "contract", setting(UserKind::Root, "", "2026-01-01"), Outcome::Unexpected)]
    #[case(
        "net/tcp",
        "over-block",
        setting(UserKind::Ordinary, "0.8", "2026-01-01"),
        Outcome::Unexpected
    )]
    #[case("net/tcp", "over-block", RunSetting { os: SystemName::Macos, ..usual() }, Outcome::Unexpected)]
    #[case("fs/mkdir", "under-block", setting(UserKind::Root, "", "2026-05-31"), Outcome::Xfail)]
    #[case(
        "fs/mkdir",
        "under-block",
        setting(UserKind::Root, "", "2026-06-01"),
        Outcome::Unexpected
    )]
    fn rows_apply_where_they_say(
        #[case] case: &str,
        #[case] verdict: &str,
        #[case] setting: RunSetting,
        #[case] outcome: Outcome,
    ) {
        let known = known();
        let row = known.rows().iter().find(|row| row.case.matches(case)).unwrap();
        let verdict = serde_json::from_value(verdict.into()).unwrap();
        let found = CaseOutcome { case, verdict, signature: row.signature.as_deref().unwrap() };
        assert_eq!(known.outcome(found, &setting).0, outcome);
    }

    const RACE: &str = "
- case: exec/ended/hup
  any_of:
  - {verdict: leak, signature: left-behind, seen: 2}
  - {verdict: pass, seen: 1}
  reason: The helper is slower than the check at times.
";

    #[rstest]
    #[case(Verdict::Pass, "", Outcome::Expected, 0)]
    #[case(Verdict::Leak, "left-behind", Outcome::Xfail, 0)]
    #[case(Verdict::Leak, "process", Outcome::Unexpected, 1)]
    #[case(Verdict::UnderBlock, "oracle", Outcome::Unexpected, 1)]
    fn a_race_comes_to_one_of_its_outcomes(
        #[case] verdict: Verdict,
        #[case] signature: &str,
        #[case] outcome: Outcome,
        #[case] stale: usize,
    ) {
        let known = KnownFailures::parse(Path::new("box.known.yaml"), RACE, "box").unwrap();
        let found = CaseOutcome { case: "exec/ended/hup", verdict, signature };
        assert_eq!(known.outcome(found, &usual()).0, outcome);
        assert_eq!(known.stale(&["exec/ended/hup"], &[found], &usual()).len(), stale);
    }

    #[rstest]
    #[case("2026-05-31", Verdict::UnderBlock, &[])]
    #[case("2026-05-31", Verdict::Leak, &[("fs/mkdir", StaleReason::Drifted)])]
    #[case("2026-05-31", Verdict::Inconclusive, &[])]
    #[case("2026-05-31", Verdict::Pass, &[])]
    #[case("2026-05-31", Verdict::Unsupported, &[("fs/mkdir", StaleReason::Unused)])]
    #[case("2026-06-01", Verdict::UnderBlock, &[("fs/mkdir", StaleReason::Expired)])]
    fn stale_rows_are_told(
        #[case] today: &str,
        #[case] verdict: Verdict,
        #[case] expected: &[(&str, StaleReason)],
    ) {
        let known = known();
        let found = [CaseOutcome { case: "fs/mkdir", verdict, signature: "opened" }];
        let ids = ["fs/mkdir", "exec/codes/one", "net/tcp"];
        let stale = known.stale(&ids, &found, &setting(UserKind::Root, "0.8", today));
        let stale: Vec<_> =
            stale.iter().map(|stale| (stale.row.case.to_string(), stale.why)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(case, why)| ((*case).to_owned(), *why)).collect();
        assert_eq!(stale, expected);
    }

    #[test]
    fn a_row_that_no_id_matches_is_unused() {
        let known = known();
        let stale = known.stale(&["fs/mkdir", "net/tcp"], &[], &usual());
        assert_eq!(stale.len(), 1);
        assert_eq!(stale[0].row.case.to_string(), "exec/**");
    }

    #[rstest]
    #[case("leak, signature", "leaks, signature", "unknown variant `leaks`")]
    #[case("leak, signature", "pass, signature", "can be known")]
    #[case("signature: process", "signature: ' '", "say something")]
    #[case("link:", "lnk:", "unknown field `lnk`")]
    #[case("2026-06-01", "2026-6-1", "YYYY-MM-DD")]
    #[case("os: linux", "os: plan9", "unknown variant `plan9`")]
    #[case("'exec/**'", "'exec/['", "exec/[")]
    #[case("'exec/**'", "'**'", "every area")]
    #[case("'exec/**'", "'*/**'", "every area")]
    #[case("'exec/**'", "'{fs,exec}/**'", "every area")]
    #[case(
        "'exec/**', verdict: contract, signature: exit-code, reason: Known., version: '0.8'",
        "fs/mkdir, verdict: under-block, signature: opened, reason: Again.",
        "known.yaml:3: row 2, fs/mkdir: the same"
    )]
    #[case("2026-06-01", "2027-02-29", "is no day")]
    #[case("verdict: leak, signature: process", "verdict: leak", "or `any_of`")]
    #[case("verdict: leak, signature: process", "any_of: [{verdict: pass, seen: 1}]", "two")]
    #[case("process, reason", "process, any_of: [{verdict: pass, seen: 1}], reason", "or `any_of`")]
    #[case(
        "verdict: leak, signature: process",
        "any_of: [{verdict: pass, seen: 1}, {verdict: pass, seen: 2}]",
        "once"
    )]
    #[case(
        "verdict: leak, signature: process",
        "any_of: [{verdict: pass, seen: 1}, {verdict: unsupported, signature: x, seen: 2}]",
        "can be known"
    )]
    #[case(
        "verdict: leak, signature: process",
        "any_of: [{verdict: pass, seen: 1}, {verdict: leak, seen: 2}]",
        "say something"
    )]
    #[case(
        "verdict: leak, signature: process",
        "any_of: [{verdict: pass, seen: 0}, {verdict: leak, signature: process, seen: 2}]",
        "expected a nonzero u32"
    )]
    fn faults_are_told(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
        let text = ROWS.replace(from, to);
        let error = KnownFailures::parse(Path::new("box.known.yaml"), &text, "box").unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.to_string().starts_with("box.known.yaml"), "{error}");
    }

    #[rstest]
    #[case("reference")]
    #[case("reference:landlock")]
    #[case("none")]
    #[case("allow-all")]
    #[case("deny-all")]
    fn some_never_have_known_failures(#[case] name: &str) {
        let error = KnownFailures::parse(Path::new("x.known.yaml"), ROWS, name).unwrap_err();
        assert!(error.to_string().contains("never has known failures"), "{error}");
    }
}
