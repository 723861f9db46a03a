//! `~` and `${VAR}` in paths. Pure: the variables are given.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The context in which paths are read.
#[derive(Debug, Clone)]
pub(crate) struct ExpansionContext {
    /// The workspace: relative paths start there.
    pub(crate) workspace: PathBuf,
    /// The variables of the caller.
    pub(crate) env: BTreeMap<OsString, OsString>,
}

impl ExpansionContext {
    /// The path that `written` means; if it means none, why.
    pub(super) fn path(&self, written: &str) -> Result<PathBuf, String> {
        let text = match written.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                self.directory("HOME")? + &variables(rest, |name| self.variable(name))?
            }
            Some(_) => return Err("another user's home is not looked up; write it in full".into()),
            None => variables(written, |name| self.variable(name))?,
        };
        if text.contains('\0') {
            return Err("a path has no NUL".into());
        }
        Ok(self.workspace.join(text))
    }

    fn directory(&self, name: &str) -> Result<String, String> {
        let home = self.variable(name)?;
        match Path::new(&home).is_absolute() {
            true => Ok(home),
            false => Err(format!("${{{name}}} is {home:?}, no absolute path")),
        }
    }

    fn variable(&self, name: &str) -> Result<String, String> {
        let value = self.env.get(&OsString::from(name)).filter(|value| !value.is_empty());
        let value =
            value.ok_or_else(|| format!("${{{name}}} is not set; set it or write the path"))?;
        value.to_str().map(str::to_owned).ok_or_else(|| format!("${{{name}}} is no text"))
    }
}

/// `text` with every `${NAME}` replaced; any other dollar is refused, as it would be a name.
fn variables(text: &str, value: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        let inside = after.strip_prefix('{').and_then(|after| after.split_once('}'));
        let named = |name: &str| {
            let plain = |c: char| c == '_' || c.is_ascii_alphanumeric();
            !name.is_empty() && name.chars().all(plain)
        };
        let Some((name, after)) = inside.filter(|(name, _)| named(name)) else {
            return Err("a dollar begins a variable, which is written ${NAME}".into());
        };
        done.push_str(before);
        done.push_str(&value(name)?);
        rest = after;
    }
    Ok(done + rest)
}
