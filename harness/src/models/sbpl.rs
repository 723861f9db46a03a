//! A Seatbelt profile as far as profiles of command sandboxes use the language: [`Profile`]. A
//! question is decided only where both known readings of the language agree. Written from public
//! descriptions; nothing here was compared with macOS.

mod expand;
mod filter;
mod operations;
mod parse;
mod reader;
mod rule_decision;
#[cfg(test)]
mod tests;

use boxproof_cases::case::ObjectOperation;

use super::ModelError;
use filter::{OperationObject, SbplFilter};
use parse::{ParameterValues, filter};
use reader::SbplForm;
use rule_decision::SbplRules;

/// A profile that was read.
#[derive(Debug, Clone)]
pub struct Profile {
    allows_by_default: bool,
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    allows: bool,
    operations: Vec<String>,
    /// The filter of the rule; without one it is about every object.
    filter: Option<SbplFilter>,
}

/// Profiles of the system that many others import.
const IMPORTS: [&str; 5] =
    ["bsd.sb", "com.apple.corefoundation.sb", "dyld-support.sb", "opendirectory.sb", "system.sb"];
/// Forms that say how a decision is reported, and decide nothing.
const REPORTS: [&str; 3] = ["debug", "disable-callouts", "trace"];
/// A profile is compiled into at most 65,535 bytes. A text of several times that size is not loaded
/// by the system, so that its rules do not count.
const MOST_BYTES: usize = 4 * 65_535;

impl Profile {
    /// Reads `text` with these values of parameters.
    ///
    /// # Errors
    /// Returns an error when the system would refuse it, or the model does not know what it says.
    pub fn read<'a>(
        text: &str,
        params: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ModelError> {
        if text.len() > MOST_BYTES {
            let bytes = text.len();
            return Err(ModelError::Unknown(format!(
                "whether a profile of {bytes} bytes is loaded: compiled, it may have 65,535"
            )));
        }
        let params: ParameterValues =
            params.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let forms = reader::read(text)?;
        let (version, rest) =
            forms.split_first().ok_or_else(|| ModelError::Void("it is empty".into()))?;
        let expected = ["version", "1"].map(|word| SbplForm::Word(word.to_owned()));
        if !matches!(version, SbplForm::List(words, _) if *words == expected) {
            return Err(ModelError::Void("it does not begin with (version 1)".to_owned()));
        }
        let mut profile = Self { allows_by_default: false, rules: Vec::new() };
        let rules = expand::expand(rest, &params)?;
        rules.iter().try_for_each(|form| profile.take(form, &params))?;
        Ok(profile)
    }

    fn take(&mut self, form: &SbplForm, params: &ParameterValues) -> Result<(), ModelError> {
        let SbplForm::List(forms, line) = form else {
            return Err(ModelError::Void("a rule is no list".to_owned()));
        };
        match forms.first().and_then(SbplForm::as_word) {
            Some("allow") => self.rule(true, &forms[1..], *line, params),
            Some("deny") => self.rule(false, &forms[1..], *line, params),
            Some("import") => self.import(&forms[1..], *line),
            Some(word) if REPORTS.contains(&word) => Ok(()),
            other => Err(ModelError::Unknown(format!("line {line}: the rule {other:?}"))),
        }
    }

    fn rule(
        &mut self,
        allows: bool,
        forms: &[SbplForm],
        line: usize,
        params: &ParameterValues,
    ) -> Result<(), ModelError> {
        // `(with …)` may stand anywhere.
        let (modifiers, forms): (Vec<&SbplForm>, Vec<&SbplForm>) =
            forms.iter().partition(|form| is_modifier(form));
        let decides_nothing = modifiers.into_iter().all(only_reports);
        let operations: Vec<String> =
            forms.iter().map_while(|form| form.as_word()).map(str::to_owned).collect();
        let filters = &forms[operations.len()..];
        if operations.is_empty() {
            return Err(ModelError::Void(format!("line {line}: a rule names no operation")));
        }
        if let Some(unknown) = operations.iter().find(|name| !operations::exists(name)) {
            return Err(ModelError::Unknown(format!("line {line}: the operation {unknown}")));
        }
        if operations == ["default"] && filters.is_empty() && !decides_nothing {
            return Err(ModelError::Unknown(format!("line {line}: a modifier of the default")));
        }
        if operations == ["default"] && filters.is_empty() {
            self.allows_by_default = allows;
            return Ok(());
        }
        let filters: Vec<SbplFilter> =
            filters.iter().map(|form| filter(form, params)).collect::<Result<_, _>>()?;
        let filter = (!filters.is_empty()).then_some(SbplFilter::Any(filters));
        let filter = match decides_nothing {
            true => filter,
            false => {
                Some(SbplFilter::All(filter.into_iter().chain([SbplFilter::Unnamed]).collect()))
            }
        };
        self.rules.push(Rule { allows, operations, filter });
        Ok(())
    }

    /// Leaves open the operations of the system's own profiles, as these are not here.
    fn import(&mut self, forms: &[SbplForm], line: usize) -> Result<(), ModelError> {
        let [SbplForm::Text(name)] = forms else {
            return Err(ModelError::Unknown(format!("line {line}: this import")));
        };
        let file = name.strip_prefix("/System/Library/Sandbox/Profiles/").unwrap_or(name);
        if !IMPORTS.contains(&file) {
            return Err(ModelError::Unknown(format!("line {line}: the imported profile {name:?}")));
        }
        let operations = ["default", "file*", "mach*", "network*", "process*"].map(str::to_owned);
        let operations = operations.to_vec();
        self.rules.push(Rule { allows: true, operations, filter: Some(SbplFilter::System) });
        Ok(())
    }

    /// Returns whether `deed` can be done to `object`: a path without links, `host:port` or a name.
    /// A path is meant as on macOS, where `/tmp`, `/var` and `/etc` are links into `/private`.
    ///
    /// # Errors
    /// An object that is none of these, or a profile that does not decide.
    pub fn permits(&self, deed: ObjectOperation, object: &str) -> Result<bool, ModelError> {
        let path = real_name(object);
        let moved = format!("{path}.moved");
        let at = OperationObject::Path(&path);
        let needs: Vec<(&str, OperationObject<'_>)> = match deed {
            ObjectOperation::Read => vec![("file-read-data", at)],
            ObjectOperation::Write => vec![("file-write-data", at)],
            ObjectOperation::Create => vec![("file-write-create", at), ("file-write-data", at)],
            ObjectOperation::Remove => vec![("file-write-unlink", at)],
            ObjectOperation::Move => {
                vec![
                    ("file-write-unlink", at),
                    ("file-write-create", OperationObject::Path(&moved)),
                ]
            }
            ObjectOperation::Run => vec![("process-exec", at), ("file-read-data", at)],
            ObjectOperation::Lookup => vec![("mach-lookup", OperationObject::Service(object))],
            ObjectOperation::Connect if object.starts_with('/') => {
                vec![("network-outbound", OperationObject::Socket(&path))]
            }
            ObjectOperation::Connect => {
                let (host, port) = object.rsplit_once(':').ok_or_else(|| {
                    ModelError::Unknown(format!("the address {object:?}: write host:port"))
                })?;
                vec![("network-outbound", OperationObject::Remote(host, port))]
            }
        };
        let decided = needs.into_iter().map(|(operation, object)| self.allows(operation, object));
        let decided: Vec<Result<bool, ModelError>> = decided.collect();
        if deed == ObjectOperation::Run && decided == [Ok(true), Ok(false)] {
            return Err(ModelError::Unknown("whether a program starts that cannot be read".into()));
        }
        // One denial decides, even where another operation is left open.
        match decided.contains(&Ok(false)) {
            true => Ok(false),
            false => decided.into_iter().collect::<Result<Vec<_>, _>>().map(|_| true),
        }
    }

    fn allows(&self, operation: &str, object: OperationObject<'_>) -> Result<bool, ModelError> {
        let rules = SbplRules { rules: &self.rules, allows_by_default: self.allows_by_default };
        let readings = [rules.by_order(operation, object), rules.by_name(operation, object)];
        let allowed = readings.iter().any(|outcomes| outcomes.allowed);
        let denied = readings.iter().any(|outcomes| outcomes.denied);
        if allowed != denied {
            return Ok(allowed);
        }
        Err(ModelError::Unknown(match readings[0] == readings[1] {
            true => format!("whether {operation} is allowed: a rule asks more than the name tells"),
            false => format!(
                "whether {operation} is allowed: by their order the rules say otherwise than by \
                 their names"
            ),
        }))
    }
}

/// The modifiers that say how a decision is reported, or what happens besides, and decide nothing.
const REPORTING: [&str; 9] = [
    "message",
    "no-callout",
    "no-log",
    "no-report",
    "no-sandbox",
    "report",
    "send-signal",
    "telemetry",
    "telemetry-backtrace",
];

/// Returns whether a modifier is known to decide nothing.
fn only_reports(modifier: &SbplForm) -> bool {
    let SbplForm::List(words, _) = modifier else { return false };
    let named = words.get(1).and_then(|form| match form {
        SbplForm::List(inner, _) => inner.first().and_then(SbplForm::as_word),
        form => form.as_word(),
    });
    named.is_some_and(|word| REPORTING.contains(&word))
}

/// Returns whether `form` is `(with …)`.
fn is_modifier(form: &SbplForm) -> bool {
    matches!(form, SbplForm::List(inner, _) if inner.first().and_then(SbplForm::as_word) == Some("with"))
}

/// Returns the name that macOS has for `path`: `/tmp`, `/var` and `/etc` are links there, and rules
/// are about names without links.
pub fn real_name(path: &str) -> String {
    let links = ["/tmp", "/var", "/etc"];
    match links.iter().any(|link| filter::is_below(path, link)) {
        true => format!("/private{path}"),
        false => path.to_owned(),
    }
}
