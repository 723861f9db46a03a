//! The suite: every case of a corpus, loaded whole or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use crate::EMBEDDED_FILES;
use crate::case::{Case, CaseFile, CaseId, CaseStep, Control, Oracle, Twin, UnrolledCase};
use crate::load::LoadError;
use crate::requirement::{RequirementId, RequirementRegistry};
use crate::vars::{self, UnknownVariable};

mod channel;
mod directories;
mod fixture;
mod nested;
mod query;
mod repair;
mod requirement;
mod supervised;
mod table;
mod values;

use directories::CorpusDirectories;
pub use directories::SkippedFile;
use repair::{RepairedCase, WrittenKeys};

/// The directory of the built-in cases.
const CORPUS: &str = "corpus";

/// The directory of a corpus that holds the corpus's own requirements, and the one of the built-in ones.
const REQUIREMENTS_DIR: &str = "requirements";

/// The built-in requirements. What is wrong with them is an error of every suite.
static BUILT_IN: LazyLock<RequirementRegistry> = LazyLock::new(|| {
    let mut registry = RequirementRegistry::default();
    requirement::read(&texts(REQUIREMENTS_DIR), &mut registry, &mut Vec::new());
    registry
});

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
    /// The requirements that the corpus itself defines, each with its file and line.
    pub own: BTreeMap<RequirementId, (PathBuf, usize)>,
    /// Path of a file → its path as it is seen from the working directory, where they differ.
    places: BTreeMap<PathBuf, PathBuf>,
    /// What is not read of the directories, although it looks like a case.
    pub skipped: Vec<SkippedFile>,
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
        whole(Self::survey_embedded())
    }

    /// As [`Self::survey`], of the corpus built into the program.
    pub fn survey_embedded() -> (Self, Vec<LoadError>) {
        Self::survey_embedded_part(|_| true)
    }

    /// As [`Self::survey_embedded`], with the cases of those files alone whose path without its
    /// extension, the id of the cases or its beginning, passes `reads`.
    pub fn survey_embedded_part(reads: impl Fn(&str) -> bool) -> (Self, Vec<LoadError>) {
        let requirements = [&CorpusTexts::new(), &texts(REQUIREMENTS_DIR)];
        Self::assemble(EMBEDDED.to_owned(), texts(CORPUS), requirements, reads)
    }

    /// Returns whether the suite is the one built into the program.
    pub fn is_embedded(&self) -> bool {
        self.source == EMBEDDED
    }

    /// Returns whether the suite answers for all built-in requirements: as it defines them all, or
    /// none of its own.
    pub fn is_whole(&self) -> bool {
        let built_in = BUILT_IN.iter().all(|(id, _)| self.requirements.get(id).is_some());
        let is_own = |(id, _): (&RequirementId, _)| self.own.contains_key(id);
        built_in && (self.own.is_empty() || BUILT_IN.iter().all(is_own))
    }

    /// The corpus in `dir`: every `*.yaml` below it, and `dir/requirements/*.yaml` besides the
    /// built-in requirements.
    ///
    /// # Errors
    /// Everything that is wrong with it, unreadable files included.
    pub fn load(dir: &Path) -> Result<Self, Vec<LoadError>> {
        Self::load_all(&[dir])
    }

    /// The corpus in `dirs`, each of them as [`Self::load`] reads it.
    ///
    /// # Errors
    /// As for one directory, and a case that is in two of them.
    pub fn load_all<P: AsRef<Path>>(dirs: &[P]) -> Result<Self, Vec<LoadError>> {
        whole(Self::survey(dirs))
    }

    /// The part of the corpus in `dirs` that can be read, and everything that is wrong with it.
    pub fn survey<P: AsRef<Path>>(dirs: &[P]) -> (Self, Vec<LoadError>) {
        let CorpusDirectories { cases, requirements, places, skipped, mut errors } =
            CorpusDirectories::read(dirs);
        let built_in = texts(REQUIREMENTS_DIR);
        let (suite, found) =
            Self::assemble(directories::source(dirs), cases, [&built_in, &requirements], |_| true);
        let at_its_place = |error: LoadError| LoadError {
            file: places.get(&error.file).unwrap_or(&error.file).clone(),
            ..error
        };
        errors.extend(found.into_iter().map(at_its_place));
        (Self { places, skipped, ..suite }, errors)
    }

    /// Returns the path of a file of the suite as it is seen from the working directory.
    pub fn place<'a>(&'a self, file: &'a Path) -> &'a Path {
        self.places.get(file).map_or(file, PathBuf::as_path)
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
        let requirements = [&CorpusTexts::new(), requirements];
        whole(Self::assemble(source.to_owned(), files, requirements, |_| true))
    }

    /// The cases of these files (path → text), as a run record keeps them: what they cite is not
    /// looked up.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn recorded_cases(files: &BTreeMap<PathBuf, String>) -> Result<Vec<Case>, Vec<LoadError>> {
        let (mut cases, mut errors) = (Vec::new(), Vec::new());
        for (path, text) in files {
            let (found, faults) = cases_of(path, text, None);
            cases.extend(found);
            errors.extend(faults);
        }
        if errors.is_empty() { Ok(cases) } else { Err(errors) }
    }

    /// Builds a suite from those of these files that pass `reads`, and from two sets of requirement
    /// files: those of another corpus, and its own.
    fn assemble(
        source: String,
        files: CorpusTexts,
        [other, own]: [&CorpusTexts; 2],
        reads: impl Fn(&str) -> bool,
    ) -> (Self, Vec<LoadError>) {
        let mut errors = Vec::new();
        let mut registry = RequirementRegistry::default();
        requirement::read(other, &mut registry, &mut errors);
        let own = requirement::read(own, &mut registry, &mut errors);
        let mut cases = Vec::new();
        let is_read = |path: &Path| reads(&path.with_extension("").to_string_lossy());
        for (path, text) in files.iter().filter(|(path, _)| is_read(path)) {
            let (found, faults) = cases_of(path, text, Some(&registry));
            cases.extend(found);
            errors.extend(faults.into_iter().map(|fault| fault.pointed(text)));
        }
        cases.sort_by(|a, b| a.id.cmp(&b.id));
        let sha256 = digest(&files);
        let (places, skipped, requirements) = (BTreeMap::new(), Vec::new(), registry);
        (Self { cases, requirements, own, source, sha256, files, places, skipped }, errors)
    }
}

/// Returns the suite if nothing is wrong with it.
fn whole((suite, errors): (Suite, Vec<LoadError>)) -> Result<Suite, Vec<LoadError>> {
    if errors.is_empty() { Ok(suite) } else { Err(errors) }
}

fn texts(directory: &str) -> CorpusTexts {
    let files = EMBEDDED_FILES.below(directory).map(|(path, text)| (PathBuf::from(path), text));
    files.filter(|(path, _)| is_yaml(path)).map(|(path, text)| (path, text.to_owned())).collect()
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml")
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

/// The cases of one file, one, or one a row, and everything that is wrong with them. Without a
/// `registry` the requirements that they cite are not looked up.
fn cases_of(
    path: &Path,
    text: &str,
    registry: Option<&RequirementRegistry>,
) -> (Vec<Case>, Vec<LoadError>) {
    let mut cases = Vec::new();
    let RepairedCase { file, mut errors, written } = match repair::read(path, text) {
        Ok(repaired) => repaired,
        Err(errors) => return (cases, errors),
    };
    let is_repaired = !errors.is_empty();
    // What is written now is refused; a record keeps what was written when it was made.
    let is_author = registry.is_some();
    let mut found = if is_author { table::faults(&file, text) } else { Vec::new() };
    let parameters = file.parameters();
    for UnrolledCase { row, file, undefined } in file.unrolled() {
        let row = row.as_deref();
        for parameter in undefined.iter().filter(|_| is_author) {
            let fault = (parameter.field.clone(), parameter.fault(row, &parameters));
            found.push((row.map(str::to_owned), fault));
        }
        let made = file
            .map_err(|message| (String::new(), format!("this row makes no valid case: {message}")));
        let made = made.and_then(|file| {
            compile(path, row, file).map_err(|(field, message)| (field.to_owned(), message))
        });
        match made {
            Err(fault) => found.push((row.map(str::to_owned), fault)),
            Ok(case) => {
                for (field, message) in faults(&case, registry) {
                    found.push((row.map(str::to_owned), (field.to_owned(), message)));
                }
                cases.push(case);
            }
        }
    }
    let written = match is_repaired || found.is_empty() {
        true => written,
        false => WrittenKeys::parse(text).unwrap_or_default(),
    };
    let located = found.into_iter().map(|(row, (field, message))| {
        LoadError::at(path, text, &written.field(row.as_deref(), &field), message)
    });
    errors.extend(located.filter(|error| written.is_sure(&error.field)));
    let mut seen = BTreeSet::new();
    errors.retain(|error| seen.insert((error.line, error.message.clone())));
    // A case that was repaired is another one than its author meant.
    if is_repaired { (Vec::new(), errors) } else { (cases, errors) }
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

/// Returns everything that is wrong with `case`.
fn faults(case: &Case, registry: Option<&RequirementRegistry>) -> Vec<FieldFault> {
    let checks = [
        check_subjects,
        check_oracles,
        fixture::check,
        query::check,
        channel::check,
        check_arms,
        supervised::check,
        nested::check,
        check_counts,
    ];
    let cited = registry.map(|registry| requirement::faults(case, registry));
    let mut found = cited.unwrap_or_default();
    if registry.is_some() {
        found.extend(values::faults(case));
    }
    let variables: Vec<UnknownVariable> =
        case.strings().into_iter().flat_map(vars::unknown_in).collect();
    // What such a variable is part of is wrong for this reason.
    let is_known =
        |message: &str| !variables.iter().any(|v| message.contains(&format!("${}", v.0)));
    found.extend(
        checks
            .into_iter()
            .filter_map(|check| check(case).err())
            .filter(|(_, message)| is_known(message)),
    );
    found.extend(variables.iter().map(|unknown| ("act", unknown.to_string())));
    found
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
