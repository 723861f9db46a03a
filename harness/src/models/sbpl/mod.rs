//! A Seatbelt profile as far as profiles of command sandboxes use the language: [`Profile`]. Rules
//! of an operation are looked at in order and the last one that matches decides; where none does,
//! the default does. Written from public descriptions; nothing here was compared with macOS.

mod filter;
mod operations;
mod read;
#[cfg(test)]
mod tests;

use boxproof_cases::case::Deed;

use super::Flaw;
use filter::{Filter, Object, Params};
use read::Form;

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
    /// What it is about; everything, if that is not limited.
    filter: Option<Filter>,
}

impl Profile {
    /// Reads `text` with these values of parameters.
    ///
    /// # Errors
    /// When the system would refuse it, or the model does not know what it says.
    pub fn read<'a>(
        text: &str,
        params: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Flaw> {
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
        rest.iter().try_for_each(|form| profile.take(form, &params))?;
        Ok(profile)
    }

    fn take(&mut self, form: &Form, params: &Params) -> Result<(), Flaw> {
        let Form::List(forms, line) = form else {
            return Err(Flaw::Void("a rule is no list".to_owned()));
        };
        let allows = match forms.first().and_then(Form::word) {
            Some("allow") => true,
            Some("deny") => false,
            other => return Err(Flaw::Unknown(format!("line {line}: the rule {other:?}"))),
        };
        let operations: Vec<String> =
            forms[1..].iter().map_while(Form::word).map(str::to_owned).collect();
        let filters = &forms[1 + operations.len()..];
        if operations.is_empty() {
            return Err(Flaw::Void(format!("line {line}: a rule names no operation")));
        }
        if let Some(unknown) = operations.iter().find(|name| !operations::exists(name)) {
            return Err(Flaw::Unknown(format!("line {line}: the operation {unknown}")));
        }
        if operations == ["default"] && filters.is_empty() {
            self.allows_by_default = allows;
            return Ok(());
        }
        let filter = filters_of(filters, params)?;
        self.rules.push(Rule { allows, operations, filter });
        Ok(())
    }

    /// Whether `deed` can be done to `object`: a path without links, `host:port` or a name.
    ///
    /// # Errors
    /// When the object is none of these.
    pub fn permits(&self, deed: Deed, object: &str) -> Result<bool, Flaw> {
        let moved = format!("{object}.moved");
        let path = Object::Path(object);
        let needs: Vec<(&str, Object<'_>)> = match deed {
            Deed::Read => vec![("file-read-data", path)],
            Deed::Write => vec![("file-write-data", path)],
            Deed::Create => vec![("file-write-create", path), ("file-write-data", path)],
            Deed::Remove => vec![("file-write-unlink", path)],
            Deed::Move => {
                vec![("file-write-unlink", path), ("file-write-create", Object::Path(&moved))]
            }
            Deed::Run => vec![("process-exec", path), ("file-read-data", path)],
            Deed::Lookup => vec![("mach-lookup", Object::Service(object))],
            Deed::Connect if object.starts_with('/') => {
                vec![("network-outbound", Object::Socket(object))]
            }
            Deed::Connect => {
                let (host, port) = object.rsplit_once(':').ok_or_else(|| {
                    Flaw::Unknown(format!("the address {object:?}: write host:port"))
                })?;
                vec![("network-outbound", Object::Remote(host, port))]
            }
        };
        Ok(needs.into_iter().all(|(operation, object)| self.allows(operation, object)))
    }

    fn allows(&self, operation: &str, object: Object<'_>) -> bool {
        let about = |rule: &&Rule| {
            rule.operations.iter().any(|name| operations::covers(name, operation))
                && rule.filter.as_ref().is_none_or(|filter| filter.has(object))
        };
        self.rules.iter().rev().find(about).map_or(self.allows_by_default, |rule| rule.allows)
    }
}

/// The filters of one rule, of which one has to match; `(with …)` says how a denial is told.
fn filters_of(forms: &[Form], params: &Params) -> Result<Option<Filter>, Flaw> {
    let is_modifier = |form: &Form| {
        matches!(form, Form::List(inner, _)
        if inner.first().and_then(Form::word) == Some("with"))
    };
    let filters = forms.iter().filter(|form| !is_modifier(form));
    let filters: Vec<Filter> =
        filters.map(|form| filter::filter(form, params)).collect::<Result<_, _>>()?;
    Ok((!filters.is_empty()).then_some(Filter::Any(filters)))
}
