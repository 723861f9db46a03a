//! The suite: every case of a corpus, loaded whole or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

use crate::case::{Case, CaseFile, CaseId, CaseStep, Control, Oracle, Twin};
use crate::load::{FILE_LIMIT, LoadError, parse};
use crate::requirement::RequirementRegistry;
use crate::vars;

mod channel;
mod fixture;
mod nested;
mod query;
mod requirement;
mod supervised;

static CORPUS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/corpus");
static REQUIREMENTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/requirements");

/// The directory of a corpus that holds the corpus's own requirements.
const REQUIREMENTS_DIR: &str = "requirements";

/// A loaded corpus.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::path::PathBuf;
///
/// use boxproof_cases::Suite;
///
/// let case = "purpose: A file is written.\nrequirement: R-fs-write\nact: {sh: echo x > file}\n\
///             expect: {allowed: {}}\n";
/// let requirements = "R-fs-write: {text: The workspace is writable., source: our promise}\n";
/// let suite = Suite::from_files(
///     "example",
///     BTreeMap::from([(PathBuf::from("fs/write.yaml"), case.to_owned())]),
///     &BTreeMap::from([(PathBuf::from("fs.yaml"), requirements.to_owned())]),
/// );
/// assert_eq!(suite.unwrap().cases[0].id.as_str(), "fs/write");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Every case, sorted by id.
    pub cases: Vec<Case>,
    /// The requirements they cite.
    pub requirements: RequirementRegistry,
    /// The source of the suite: `embedded`, or a directory.
    pub source: String,
    /// SHA-256 over paths and texts of all files, in hex.
    pub sha256: String,
    /// The files, path → text; for lint and schema checks.
    pub files: BTreeMap<PathBuf, String>,
}

/// Files, path → text.
type CorpusTexts = BTreeMap<PathBuf, String>;

/// The source of what is built into the program.
const EMBEDDED: &str = "embedded";

impl Suite {
    /// The corpus built into the program.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn embedded() -> Result<Self, Vec<LoadError>> {
        Self::from_files(EMBEDDED, texts(&CORPUS), &texts(&REQUIREMENTS))
    }

    /// Returns whether the suite is the one built into the program.
    pub fn is_embedded(&self) -> bool {
        self.source == EMBEDDED
    }

    /// The corpus in `dir`: every `*.yaml` below it, and `dir/requirements/*.yaml` besides the
    /// built-in requirements.
    ///
    /// # Errors
    /// Everything that is wrong with it, unreadable files included.
    pub fn load(dir: &Path) -> Result<Self, Vec<LoadError>> {
        let (own, cases): (CorpusTexts, CorpusTexts) =
            read_below(dir)?.into_iter().partition(|(path, _)| path.starts_with(REQUIREMENTS_DIR));
        let own = own.into_iter().map(|(path, text)| (dir.join(path), text)).collect();
        Self::assemble(&dir.display().to_string(), cases, [&texts(&REQUIREMENTS), &own])
    }

    /// A suite of these files (path → text).
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn from_files(
        source: &str,
        files: BTreeMap<PathBuf, String>,
        requirements: &BTreeMap<PathBuf, String>,
    ) -> Result<Self, Vec<LoadError>> {
        Self::assemble(source, files, [requirements, &CorpusTexts::new()])
    }

    /// The cases of these files (path → text), as a run record keeps them: what they cite is not
    /// looked up.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn recorded_cases(files: &BTreeMap<PathBuf, String>) -> Result<Vec<Case>, Vec<LoadError>> {
        let (mut cases, mut errors) = (Vec::new(), Vec::new());
        for (path, text) in files {
            match cases_of(path, text, None) {
                Ok(found) => cases.extend(found),
                Err(found) => errors.extend(found),
            }
        }
        if errors.is_empty() { Ok(cases) } else { Err(errors) }
    }

    /// Builds a suite from these files and from two sets of requirement files.
    fn assemble(
        source: &str,
        files: CorpusTexts,
        requirements: [&CorpusTexts; 2],
    ) -> Result<Self, Vec<LoadError>> {
        let mut errors = Vec::new();
        let files_in_order = requirements.into_iter().flatten();
        let registry = requirement::registry(files_in_order, &mut errors);
        let mut cases = Vec::new();
        for (path, text) in &files {
            match cases_of(path, text, Some(&registry)) {
                Ok(found) => cases.extend(found),
                Err(found) => errors.extend(found),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        cases.sort_by(|a, b| a.id.cmp(&b.id));
        let sha256 = digest(&files);
        Ok(Self { cases, requirements: registry, source: source.to_owned(), sha256, files })
    }
}

fn texts(dir: &Dir<'_>) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in dir.entries() {
        match entry {
            include_dir::DirEntry::Dir(dir) => found.extend(texts(dir)),
            include_dir::DirEntry::File(file) if is_yaml(file.path()) => {
                let text = String::from_utf8_lossy(file.contents()).into_owned();
                found.insert(file.path().to_owned(), text);
            }
            include_dir::DirEntry::File(_) => {}
        }
    }
    found
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml")
}

fn read_below(dir: &Path) -> Result<BTreeMap<PathBuf, String>, Vec<LoadError>> {
    let mut found = BTreeMap::new();
    let mut errors = Vec::new();
    for entry in walkdir::WalkDir::new(dir).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let file = error.path().unwrap_or(dir).to_owned();
                errors.push(LoadError::whole(&file, format!("cannot be read: {error}")));
                continue;
            }
        };
        if !entry.file_type().is_file() || !is_yaml(entry.path()) {
            continue;
        }
        let path = entry.into_path();
        match read_text(&path) {
            Ok(text) => {
                let relative = path.strip_prefix(dir).map_or_else(|_| path.clone(), Path::to_owned);
                found.insert(relative, text);
            }
            Err(message) => errors.push(LoadError::whole(&path, message)),
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

/// The text of a file; of one that is too large as much as shows that it is.
fn read_text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_LIMIT + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(format!("more than {FILE_LIMIT} bytes: split it into several files"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        format!("line {line} is not UTF-8: write the file in UTF-8, and bytes as escapes")
    })
}

fn digest(files: &BTreeMap<PathBuf, String>) -> String {
    let mut hash = Sha256::new();
    for (path, text) in files {
        hash.update(path.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update(text.as_bytes());
        hash.update([0]);
    }
    format!("{:x}", hash.finalize())
}

/// The cases of one file: one, or one a row. Without a `registry` the requirements that they cite
/// are not looked up.
fn cases_of(
    path: &Path,
    text: &str,
    registry: Option<&RequirementRegistry>,
) -> Result<Vec<Case>, Vec<LoadError>> {
    let at = |field: &str, message: String| LoadError::at(path, text, field, message);
    let file: CaseFile = parse(path, text).map_err(|error| vec![error])?;
    let unrolled = file.unrolled().map_err(|(row, message)| {
        vec![at(&format!("rows.{row}"), format!("this row makes no valid case: {message}"))]
    })?;
    let mut cases = Vec::new();
    let mut errors = Vec::new();
    for (row, file) in unrolled {
        let prefix = row.as_deref().map(|row| format!("rows.{row}.")).unwrap_or_default();
        match compile(path, row.as_deref(), file).and_then(|case| check(case, registry)) {
            Ok(case) => cases.push(case),
            Err((field, message)) => errors.push(at(&format!("{prefix}{field}"), message)),
        }
    }
    if errors.is_empty() { Ok(cases) } else { Err(errors) }
}

/// A field and what is wrong with it.
type FieldFault = (&'static str, String);

fn compile(path: &Path, row: Option<&str>, file: CaseFile) -> Result<Case, FieldFault> {
    let id = id_of(path, row)?;
    let steps = steps_of(&file)?;
    let control = query::control(&steps, file.control)?;
    let control = channel::control(&steps, control)?;
    Ok(Case {
        id,
        file: path.to_owned(),
        purpose: file.purpose,
        requirements: file.requirement,
        level: file.level,
        sources: file.sources,
        platforms: file.platforms,
        host: file.host.iter().map(|need| need.fact).collect(),
        least_versions: file.host.into_iter().filter_map(|n| Some((n.fact, n.least?))).collect(),
        needs: file.needs,
        about: file.about,
        exclusive: file.exclusive,
        slow: file.slow,
        timeout_ms: file.timeout_ms,
        waits_ms: file.waits_ms,
        fixture: file.fixture,
        prepare: file.prepare,
        launcher: file.launcher,
        run: file.run,
        stdin: file.stdin,
        steps,
        repeat: file.repeat,
        parallel: file.parallel,
        during: file.during,
        expect: file.expect,
        control,
        twin: file.twin,
    })
}

fn id_of(path: &Path, row: Option<&str>) -> Result<CaseId, FieldFault> {
    let stem = path.with_extension("").to_string_lossy().into_owned();
    let words = stem.split('/').chain(row);
    for word in words {
        let kebab = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if word.is_empty() || !word.bytes().all(kebab) {
            return Err(("rows", format!("`{word}` in an id: use a-z, 0-9 and -")));
        }
    }
    Ok(CaseId::new(row.map_or(stem.clone(), |row| format!("{stem}/{row}"))))
}

fn steps_of(file: &CaseFile) -> Result<Vec<CaseStep>, FieldFault> {
    let base = &file.policy;
    match (&file.act, file.steps.as_slice()) {
        (Some(act), []) => {
            Ok(vec![CaseStep { act: act.clone(), policy: base.clone(), may_fail: false }])
        }
        (None, [_, ..]) => Ok(file
            .steps
            .iter()
            .map(|step| CaseStep {
                act: step.act.clone(),
                policy: step.policy.as_ref().map_or_else(|| base.clone(), |p| base.overlaid(p)),
                may_fail: step.may_fail,
            })
            .collect()),
        _ => Err(("act", "a case has either one act or a list of steps".to_owned())),
    }
}

fn check(case: Case, registry: Option<&RequirementRegistry>) -> Result<Case, FieldFault> {
    registry.map_or(Ok(()), |registry| requirement::check(&case, registry))?;
    check_subjects(&case)?;
    check_variables(&case)?;
    check_oracles(&case)?;
    fixture::check(&case)?;
    query::check(&case)?;
    channel::check(&case)?;
    check_arms(&case)?;
    supervised::check(&case)?;
    nested::check(&case)?;
    check_counts(&case)?;
    Ok(case)
}

/// The most times an act is done, one after the other.
const REPEAT_LIMIT: u32 = 1_000;
/// The most times an act is done at once.
const PARALLEL_LIMIT: u32 = 100;
/// The longest time of an arm.
const TIMEOUT_LIMIT_MS: u64 = 3_600_000;

fn check_counts(case: &Case) -> Result<(), FieldFault> {
    if case.repeat == 0 || case.parallel == 0 {
        return Err(("repeat", "repeat and parallel count from 1".to_owned()));
    }
    if case.repeat > REPEAT_LIMIT {
        return Err(("repeat", format!("{} is more than {REPEAT_LIMIT}", case.repeat)));
    }
    if case.parallel > PARALLEL_LIMIT {
        return Err(("parallel", format!("{} is more than {PARALLEL_LIMIT}", case.parallel)));
    }
    if case.timeout_ms > TIMEOUT_LIMIT_MS {
        return Err(("timeout_ms", format!("{} is more than an hour", case.timeout_ms)));
    }
    if case.waits_ms.is_some_and(|waits| waits > TIMEOUT_LIMIT_MS) {
        return Err(("waits_ms", "more than an hour".to_owned()));
    }
    Ok(())
}

/// A failure speaks only against claims without which the case is not asked.
fn check_subjects(case: &Case) -> Result<(), FieldFault> {
    let mut seen = BTreeSet::new();
    for subject in case.about.iter().flatten() {
        if !case.needs.contains(subject) {
            return Err(("about", format!("{subject} is not in `needs`: name it there, too")));
        }
        if !seen.insert(subject) {
            return Err(("about", format!("{subject} is named twice")));
        }
    }
    Ok(())
}

fn check_variables(case: &Case) -> Result<(), FieldFault> {
    match case.strings().into_iter().find_map(vars::unknown_in) {
        Some(unknown) => Err(("act", unknown.to_string())),
        None => Ok(()),
    }
}

/// The variables that name the harness's listeners.
const LISTENERS: [&str; 11] = [
    "$TCP4",
    "$TCP6",
    "$HTTP",
    "$METADATA",
    "$METADATA6",
    "$UDP",
    "$UNIX",
    "$DGRAM",
    "$SEQPACKET",
    "$ABSTRACT",
    "$ABSTRACT_DGRAM",
];

fn check_oracles(case: &Case) -> Result<(), FieldFault> {
    for oracle in &case.expect.oracle {
        let wanted: &[&str] = match oracle {
            Oracle::Unreached(_) | Oracle::Reached(_) => &LISTENERS,
            Oracle::Untouched(_) => &["$VICTIM"],
            Oracle::Undisclosed(_) => &["$CANARY"],
            _ => continue,
        };
        if !wanted.contains(&oracle.strings()[0]) {
            return Err(("expect", format!("`{oracle}`: name one of {}", wanted.join(" "))));
        }
    }
    Ok(())
}

/// Returns whether the case needs a twin, which shows under a wider policy that the denied act is
/// possible. Questions have no effect, and each channel case shows by a marker that the channel was
/// at work.
fn needs_twin(case: &Case) -> bool {
    let acts = case.question().is_none() && case.channel().is_none();
    acts && case.expect.decision.is_negative()
}

fn check_arms(case: &Case) -> Result<(), FieldFault> {
    if let Control::None(reason) = &case.control
        && reason.trim().is_empty()
    {
        return Err(("control", "none needs its reason".to_owned()));
    }
    match &case.twin {
        Some(Twin::None(reason)) if reason.trim().is_empty() => {
            Err(("twin", "none needs its reason".to_owned()))
        }
        None if needs_twin(case) => Err((
            "expect",
            format!(
                "{} has no twin: name the policy keys under which the act succeeds, or \
                 `twin: {{none: reason}}`",
                case.expect.decision.keyword()
            ),
        )),
        Some(_) if case.expect.decision.may_work() => {
            Err(("twin", "an allowed act needs no twin".to_owned()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
