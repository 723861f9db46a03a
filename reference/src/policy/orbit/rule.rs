//! One rule of a list: its text, and its parsed form.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::glob::runs_inside;

/// A position in a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// The document's name.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A rule as written, and its pattern in the one spelling that is matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternRule {
    /// Its text in the document.
    pub written: String,
    /// The pattern: no `!`, no `./`, no empty name; the root is `.`.
    pub pattern: String,
    /// It is an exception.
    pub negated: bool,
    /// Its position; `None` for a rule that no document contains.
    pub place: Option<SourceLocation>,
}

/// Runs inside names that one rule may have; each makes it costlier to match.
const MOST_RUNS: usize = 64;

/// The reason why a text is no rule, as the end of a sentence about its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternRuleError {
    /// Nothing but blanks.
    Empty,
    /// It names something that need not be in the workspace.
    Escapes,
    /// It has more runs inside names than can be matched.
    TooLarge,
}

impl PatternRule {
    /// Returns whether a document may have the exception `path` behind this denial: one exact path,
    /// or all below one, strictly within `<directory>/**`.
    pub(super) fn takes_exception(&self, path: &str) -> bool {
        let named = path.strip_suffix("/**").unwrap_or(path);
        let directory = self.pattern.strip_suffix("**");
        let within = directory.and_then(|directory| named.strip_prefix(directory));
        !named.contains(['*', '?']) && named != "." && within.is_some_and(|rest| !rest.is_empty())
    }

    /// Brings `written` into its one spelling.
    pub(super) fn new(
        written: &str,
        place: Option<SourceLocation>,
    ) -> Result<Self, PatternRuleError> {
        let trimmed = written.trim();
        if trimmed.is_empty() {
            return Err(PatternRuleError::Empty);
        }
        let (negated, rest) = match trimmed.strip_prefix('!') {
            Some(rest) if fault!("dialects.negations") => (false, rest),
            Some(rest) => (true, rest),
            None => (false, trimmed),
        };
        let slashed = match rest.contains('\\') {
            true => Cow::Owned(rest.replace('\\', "/")),
            false => Cow::Borrowed(rest),
        };
        let pattern = inside(&slashed)?;
        // `./!x` is an exception for `x` as well; upstream strips the `./` before it reads the
        // rest.
        let taken_back = pattern.strip_prefix('!').filter(|_| !negated && slashed != pattern);
        let (negated, pattern) = match taken_back {
            Some(rest) => (true, inside(rest)?),
            None => (negated, pattern),
        };
        if pattern.len() > MOST_RUNS && runs_inside(&pattern) > MOST_RUNS {
            return Err(PatternRuleError::TooLarge);
        }
        Ok(Self { written: trimmed.to_owned(), pattern, negated, place })
    }
}

/// Removes the redundant parts of `path`; an error if it can lead out of the directory above it.
fn inside(path: &str) -> Result<String, PatternRuleError> {
    if path == "~" || path.starts_with("~/") || path.starts_with('/') {
        return Err(PatternRuleError::Escapes);
    }
    // Most rules are in that spelling already, and a document has many of them.
    if path.as_bytes().split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b"..")) {
        return Ok(path.to_owned());
    }
    let names: Vec<&str> =
        path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    match names.contains(&"..") && !fault!("dialects.rules-upwards") {
        true => Err(PatternRuleError::Escapes),
        false if names.is_empty() => Ok(".".to_owned()),
        false => Ok(names.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain("src/**", "src/**", false)]
    #[case::blanks("  a b ", "a b", false)]
    #[case::negated("!src/s", "src/s", true)]
    #[case::leading_dots("././a", "a", false)]
    #[case::backslashes(r"a\b", "a/b", false)]
    #[case::slashes("src//a", "src/a", false)]
    #[case::dots("src/./a", "src/a", false)]
    #[case::directory("src/", "src", false)]
    #[case::root("./", ".", false)]
    #[case::not_the_root("!", ".", true)]
    #[case::blank_name("! x", " x", true)]
    #[case::hidden_negation("./!x", "x", true)]
    #[case::twice("!!x", "!x", true)]
    #[case::home_of_bob("~bob", "~bob", false)]
    #[case::variable("$HOME/x", "$HOME/x", false)]
    #[case::three_dots("..a", "..a", false)]
    #[case::drive("C:/x", "C:/x", false)]
    fn rules_have_one_spelling(#[case] written: &str, #[case] pattern: &str, #[case] neg: bool) {
        let rule = PatternRule::new(written, None).unwrap();
        assert_eq!((rule.pattern.as_str(), rule.negated), (pattern, neg));
        assert_eq!(rule.written, written.trim());
    }

    #[rstest]
    #[case("", PatternRuleError::Empty)]
    #[case("  ", PatternRuleError::Empty)]
    #[case("~", PatternRuleError::Escapes)]
    #[case("~/x", PatternRuleError::Escapes)]
    #[case("/etc/**", PatternRuleError::Escapes)]
    #[case("..", PatternRuleError::Escapes)]
    #[case("../x", PatternRuleError::Escapes)]
    #[case("a/../b", PatternRuleError::Escapes)]
    #[case("./../x", PatternRuleError::Escapes)]
    #[case(r"..\x", PatternRuleError::Escapes)]
    #[case("!../x", PatternRuleError::Escapes)]
    #[case("./!../x", PatternRuleError::Escapes)]
    fn what_leads_out_is_no_rule(#[case] written: &str, #[case] why: PatternRuleError) {
        assert_eq!(PatternRule::new(written, None), Err(why));
    }

    #[rstest]
    #[case("a/**", "a/b", true)]
    #[case("a/**", "a/b/**", true)]
    #[case("**", "a", true)]
    #[case("a/**", "a/", false)]
    #[case("a/**", "a/**", false)]
    #[case("a/**", "b/c", false)]
    #[case("a/b", "a/b", false)]
    #[case("a/**", "a/*", false)]
    #[case("a/**", "a/?/**", false)]
    #[case("**", ".", false)]
    fn an_exception_is_one_path_strictly_within(
        #[case] denial: &str,
        #[case] path: &str,
        #[case] taken: bool,
    ) {
        assert_eq!(PatternRule::new(denial, None).unwrap().takes_exception(path), taken);
    }

    #[rstest]
    #[case("**/", false)]
    #[case("a**/", true)]
    fn runs_inside_names_are_limited(#[case] part: &str, #[case] is_too_large: bool) {
        let rule = PatternRule::new(&(part.repeat(70) + "x"), None);
        assert_eq!(rule.err(), is_too_large.then_some(PatternRuleError::TooLarge));
    }
}
