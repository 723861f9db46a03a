//! Definitions and conditions of a profile worked out, so that only rules are left: `define`, `if`,
//! `when`, `unless`, `begin`, and calls of what was defined. Pure.

use std::collections::BTreeMap;

use super::parse::{ParameterValues, text};
use super::reader::SbplForm;
use crate::models::ModelError;

/// The deepest nesting of calls, and the most forms that a profile may come to.
const DEEPEST: usize = 32;
const MOST: usize = 100_000;

/// The definition of a name.
#[derive(Debug, Clone)]
enum SbplDefinition {
    Value(SbplForm),
    Function { arguments: Vec<String>, body: Vec<SbplForm> },
}

/// The definitions so far.
struct DefinitionExpander<'a> {
    params: &'a ParameterValues,
    names: BTreeMap<String, SbplDefinition>,
    made: usize,
}

/// Returns the rules that `forms` come to.
///
/// # Errors
/// An expression that the model does not know, or one without end.
pub(super) fn expand(
    forms: &[SbplForm],
    params: &ParameterValues,
) -> Result<Vec<SbplForm>, ModelError> {
    let mut expander = DefinitionExpander { params, names: BTreeMap::new(), made: 0 };
    let mut rules = Vec::new();
    forms.iter().try_for_each(|form| expander.statement(form, 0, &mut rules))?;
    Ok(rules)
}

impl DefinitionExpander<'_> {
    /// Expands one form of the top level, or of the body of a call.
    fn statement(
        &mut self,
        form: &SbplForm,
        depth: usize,
        out: &mut Vec<SbplForm>,
    ) -> Result<(), ModelError> {
        let SbplForm::List(forms, line) = form else {
            out.push(form.clone());
            return Ok(());
        };
        let (Some(head), rest) = (forms.first().and_then(SbplForm::as_word), forms.get(1..)) else {
            out.push(form.clone());
            return Ok(());
        };
        let rest = rest.unwrap_or_default();
        match (head, rest) {
            ("define", [SbplForm::Word(name), value]) => {
                let value = self.substitute(value, depth)?;
                self.names.insert(name.clone(), SbplDefinition::Value(value));
                Ok(())
            }
            ("define", [SbplForm::List(signature, _), body @ ..]) => {
                self.define_function(signature, body, *line)
            }
            ("define", _) => Err(unknown(*line, "this definition")),
            ("begin", body) => self.statements(body, depth, out),
            ("if", [condition, yes, no @ ..]) => match self.holds(condition, *line, depth)? {
                true => self.statement(yes, depth, out),
                false => self.statements(no, depth, out),
            },
            ("when" | "unless", [condition, body @ ..]) => {
                let runs = self.holds(condition, *line, depth)? == (head == "when");
                if runs { self.statements(body, depth, out) } else { Ok(()) }
            }
            _ => match self.call(head, rest, *line, depth)? {
                Some(body) => self.statements(&body, depth + 1, out),
                None => {
                    out.push(self.substitute(form, depth)?);
                    Ok(())
                }
            },
        }
    }

    fn statements(
        &mut self,
        forms: &[SbplForm],
        depth: usize,
        out: &mut Vec<SbplForm>,
    ) -> Result<(), ModelError> {
        forms.iter().try_for_each(|form| self.statement(form, depth, out))
    }

    fn define_function(
        &mut self,
        signature: &[SbplForm],
        body: &[SbplForm],
        line: usize,
    ) -> Result<(), ModelError> {
        let words: Option<Vec<String>> =
            signature.iter().map(|form| form.as_word().map(str::to_owned)).collect();
        let words = words.filter(|words| !words.iter().any(|word| word == "."));
        let Some((name, arguments)) = words.as_ref().and_then(|words| words.split_first()) else {
            return Err(unknown(line, "this signature"));
        };
        let function =
            SbplDefinition::Function { arguments: arguments.to_vec(), body: body.to_vec() };
        self.names.insert(name.clone(), function);
        Ok(())
    }

    /// The body of the function called `name`, its arguments put in; none if there is none.
    fn call(
        &mut self,
        name: &str,
        given: &[SbplForm],
        line: usize,
        depth: usize,
    ) -> Result<Option<Vec<SbplForm>>, ModelError> {
        let Some(SbplDefinition::Function { arguments, body }) = self.names.get(name).cloned()
        else {
            return Ok(None);
        };
        if depth >= DEEPEST {
            return Err(unknown(line, "a call that calls itself"));
        }
        if arguments.len() != given.len() {
            return Err(ModelError::Void(format!(
                "line {line}: {name} takes {} arguments",
                arguments.len()
            )));
        }
        let given = given.iter().map(|form| self.substitute(form, depth));
        let given = given.collect::<Result<Vec<_>, _>>()?;
        let values: BTreeMap<&str, &SbplForm> =
            arguments.iter().map(String::as_str).zip(&given).collect();
        Ok(Some(body.iter().map(|form| put_in(form, &values)).collect()))
    }

    /// An expression with every defined name and call replaced.
    fn substitute(&mut self, form: &SbplForm, depth: usize) -> Result<SbplForm, ModelError> {
        self.made += 1;
        if self.made > MOST {
            return Err(ModelError::Unknown("a profile of so many expressions".to_owned()));
        }
        match form {
            SbplForm::Text(_) => Ok(form.clone()),
            SbplForm::Word(word) => Ok(match self.names.get(word) {
                Some(SbplDefinition::Value(value)) => value.clone(),
                _ => form.clone(),
            }),
            SbplForm::List(forms, line) => self.substitute_list(forms, *line, depth),
        }
    }

    fn substitute_list(
        &mut self,
        forms: &[SbplForm],
        line: usize,
        depth: usize,
    ) -> Result<SbplForm, ModelError> {
        let head = forms.first().and_then(SbplForm::as_word).unwrap_or_default();
        if let ("if", [_, condition, yes, no]) = (head, forms) {
            let chosen = if self.holds(condition, line, depth)? { yes } else { no };
            return self.substitute(chosen, depth);
        }
        match self.call(head, forms.get(1..).unwrap_or_default(), line, depth)? {
            Some(body) => match body.as_slice() {
                [one] => self.substitute(one, depth + 1),
                _ => Err(unknown(line, "a function of several expressions in place of one")),
            },
            None => {
                let all = forms.iter().map(|form| self.substitute(form, depth));
                Ok(SbplForm::List(all.collect::<Result<_, _>>()?, line))
            }
        }
    }

    /// Returns whether a condition holds.
    fn holds(&mut self, form: &SbplForm, line: usize, depth: usize) -> Result<bool, ModelError> {
        let form = self.substitute(form, depth)?;
        let SbplForm::List(forms, _) = &form else {
            return match form.as_word() {
                Some("#t") => Ok(true),
                Some("#f") => Ok(false),
                _ => Err(unknown(line, "this condition")),
            };
        };
        let mut each = |forms: &[SbplForm]| {
            forms.iter().map(|form| self.holds(form, line, depth)).collect::<Result<Vec<_>, _>>()
        };
        match (forms.first().and_then(SbplForm::as_word).unwrap_or_default(), &forms[1..]) {
            ("not", [one]) => self.holds(one, line, depth).map(|holds| !holds),
            ("and", all) => Ok(each(all)?.into_iter().all(|holds| holds)),
            ("or", any) => Ok(each(any)?.into_iter().any(|holds| holds)),
            ("param", [SbplForm::Text(name)]) => Ok(self.params.contains_key(name)),
            ("equal?" | "string=?", [one, other]) => {
                Ok(text(one, self.params, line)? == text(other, self.params, line)?)
            }
            _ => Err(unknown(line, "this condition")),
        }
    }
}

fn put_in(form: &SbplForm, values: &BTreeMap<&str, &SbplForm>) -> SbplForm {
    match form {
        SbplForm::Text(_) => form.clone(),
        SbplForm::Word(word) => values.get(word.as_str()).map_or(form, |value| value).clone(),
        SbplForm::List(forms, line) => {
            SbplForm::List(forms.iter().map(|form| put_in(form, values)).collect(), *line)
        }
    }
}

fn unknown(line: usize, what: &str) -> ModelError {
    ModelError::Unknown(format!("line {line}: {what}"))
}
