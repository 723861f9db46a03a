//! A Seatbelt profile as far as profiles of command sandboxes use the language: [`Profile`]. A
//! question is decided only where both known readings of the language agree. Written from public
//! descriptions; nothing here was compared with macOS.

mod expand;
mod filter;
mod operations;
mod parse;
mod read;
mod reading;
#[cfg(test)]
mod tests;

use boxproof_cases::case::Deed;

use super::Flaw;
use filter::{Filter, Object};
use parse::{Params, filter};
use read::Form;
use reading::Rules;

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
    filter: Option<Filter>,
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
    ) -> Result<Self, Flaw> {
        if text.len() > MOST_BYTES {
            let bytes = text.len();
            return Err(Flaw::Unknown(format!(
                "whether a profile of {bytes} bytes is loaded: compiled, it may have 65,535"
            )));
        }
        let params: Params =
            params.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let forms = read::read(text)?;
        let (version, rest) =
            forms.split_first().ok_or_else(|| Flaw::Void("it is empty".into()))?;
        let expected = ["version", "1"].map(|word| Form::Word(word.to_owned()));
        if !matches!(version, Form::List(words, _) if *words == expected) {
            return Err(Flaw::Void("it does not begin with (version 1)".to_owned()));
        }
        let mut profile = Self { allows_by_default: false, rules: Vec::new() };
        let rules = expand::expand(rest, &params)?;
        rules.iter().try_for_each(|form| profile.take(form, &params))?;
        Ok(profile)
    }

    fn take(&mut self, form: &Form, params: &Params) -> Result<(), Flaw> {
        let Form::List(forms, line) = form else {
            return Err(Flaw::Void("a rule is no list".to_owned()));
        };
        match forms.first().and_then(Form::word) {
            Some("allow") => self.rule(true, &forms[1..], *line, params),
            Some("deny") => self.rule(false, &forms[1..], *line, params),
            Some("import") => self.import(&forms[1..], *line),
            Some(word) if REPORTS.contains(&word) => Ok(()),
            other => Err(Flaw::Unknown(format!("line {line}: the rule {other:?}"))),
        }
    }

    fn rule(
        &mut self,
        allows: bool,
        forms: &[Form],
        line: usize,
        params: &Params,
    ) -> Result<(), Flaw> {
        // `(with …)` may stand anywhere.
        let (modifiers, forms): (Vec<&Form>, Vec<&Form>) =
            forms.iter().partition(|form| is_modifier(form));
        let decides_nothing = modifiers.into_iter().all(only_reports);
        let operations: Vec<String> =
            forms.iter().map_while(|form| form.word()).map(str::to_owned).collect();
        let filters = &forms[operations.len()..];
        if operations.is_empty() {
            return Err(Flaw::Void(format!("line {line}: a rule names no operation")));
        }
        if let Some(unknown) = operations.iter().find(|name| !operations::exists(name)) {
            return Err(Flaw::Unknown(format!("line {line}: the operation {unknown}")));
        }
        if operations == ["default"] && filters.is_empty() && !decides_nothing {
            return Err(Flaw::Unknown(format!("line {line}: a modifier of the default")));
        }
        if operations == ["default"] && filters.is_empty() {
            self.allows_by_default = allows;
            return Ok(());
        }
        let filters: Vec<Filter> =
            filters.iter().map(|form| filter(form, params)).collect::<Result<_, _>>()?;
        let filter = (!filters.is_empty()).then_some(Filter::Any(filters));
        let filter = match decides_nothing {
            true => filter,
            false => Some(Filter::All(filter.into_iter().chain([Filter::Unnamed]).collect())),
        };
        self.rules.push(Rule { allows, operations, filter });
        Ok(())
    }

    /// Leaves open the operations of the system's own profiles, as these are not here.
    fn import(&mut self, forms: &[Form], line: usize) -> Result<(), Flaw> {
        let [Form::Text(name)] = forms else {
            return Err(Flaw::Unknown(format!("line {line}: this import")));
        };
        let file = name.strip_prefix("/System/Library/Sandbox/Profiles/").unwrap_or(name);
        if !IMPORTS.contains(&file) {
            return Err(Flaw::Unknown(format!("line {line}: the imported profile {name:?}")));
        }
        let operations = ["default", "file*", "mach*", "network*", "process*"].map(str::to_owned);
        let operations = operations.to_vec();
        self.rules.push(Rule { allows: true, operations, filter: Some(Filter::System) });
        Ok(())
    }

    /// Returns whether `deed` can be done to `object`: a path without links, `host:port` or a name.
    /// A path is meant as on macOS, where `/tmp`, `/var` and `/etc` are links into `/private`.
    ///
    /// # Errors
    /// An object that is none of these, or a profile that does not decide.
    pub fn permits(&self, deed: Deed, object: &str) -> Result<bool, Flaw> {
        let path = real_name(object);
        let moved = format!("{path}.moved");
        let at = Object::Path(&path);
        let needs: Vec<(&str, Object<'_>)> = match deed {
            Deed::Read => vec![("file-read-data", at)],
            Deed::Write => vec![("file-write-data", at)],
            Deed::Create => vec![("file-write-create", at), ("file-write-data", at)],
            Deed::Remove => vec![("file-write-unlink", at)],
            Deed::Move => {
                vec![("file-write-unlink", at), ("file-write-create", Object::Path(&moved))]
            }
            Deed::Run => vec![("process-exec", at), ("file-read-data", at)],
            Deed::Lookup => vec![("mach-lookup", Object::Service(object))],
            Deed::Connect if object.starts_with('/') => {
                vec![("network-outbound", Object::Socket(&path))]
            }
            Deed::Connect => {
                let (host, port) = object.rsplit_once(':').ok_or_else(|| {
                    Flaw::Unknown(format!("the address {object:?}: write host:port"))
                })?;
                vec![("network-outbound", Object::Remote(host, port))]
            }
        };
        let decided = needs.into_iter().map(|(operation, object)| self.allows(operation, object));
        let decided: Vec<Result<bool, Flaw>> = decided.collect();
        // One denial decides, even where another operation is left open.
        match decided.contains(&Ok(false)) {
            true => Ok(false),
            false => decided.into_iter().collect::<Result<Vec<_>, _>>().map(|_| true),
        }
    }

    fn allows(&self, operation: &str, object: Object<'_>) -> Result<bool, Flaw> {
        let rules = Rules { rules: &self.rules, allows_by_default: self.allows_by_default };
        let readings = [rules.by_order(operation, object), rules.by_name(operation, object)];
        let allowed = readings.iter().any(|outcomes| outcomes.allowed);
        let denied = readings.iter().any(|outcomes| outcomes.denied);
        if allowed != denied {
            return Ok(allowed);
        }
        Err(Flaw::Unknown(match readings[0] == readings[1] {
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
fn only_reports(modifier: &Form) -> bool {
    let Form::List(words, _) = modifier else { return false };
    let named = words.get(1).and_then(|form| match form {
        Form::List(inner, _) => inner.first().and_then(Form::word),
        form => form.word(),
    });
    named.is_some_and(|word| REPORTING.contains(&word))
}

/// Returns whether `form` is `(with …)`.
fn is_modifier(form: &Form) -> bool {
    matches!(form, Form::List(inner, _) if inner.first().and_then(Form::word) == Some("with"))
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
