//! Reading a YAML document strictly ([`read`]); what is wrong is told with place, member and remedy.

use serde::de::DeserializeOwned;
use serde_saphyr::DuplicateKeyPolicy;

/// An error in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YamlFault {
    /// Line and column, from 1, where they are known.
    pub(crate) place: Option<(usize, usize)>,
    /// The fault, with its member where it is a value, and the remedy.
    pub(crate) message: String,
}

/// Ends of the library's messages: the place is told by itself, and its own settings mean nothing
/// to a reader.
const ENDS: [&str; 3] = [" at line ", ", set DuplicateKeyPolicy", "; use from_str_multiple"];

/// Values of another type than their member takes: a part of the library's message, and ours.
const KINDS: [(&str, &str); 4] = [
    ("expected sequence start", "expected a list, such as [ONE, OTHER]"),
    ("expected mapping start", "expected keys with values below it, such as "),
    ("expected string scalar", "expected one text; a list or keys with values are none"),
    ("invalid boolean", "expected true or false, without quotes"),
];

/// Documents that are no YAML, or none that is taken: a part of the library's message, and ours
/// behind it or, where it begins with a word, in its place.
const REMEDIES: [(&str, &str); 9] = [
    ("duplicate mapping key", "; keep one of the two"),
    ("multiple YAML documents", "; keep one in a file"),
    ("tabs disallowed", "; indent with blanks"),
    ("unexpected character: `\\u", "; remove it"),
    ("unexpected end of input", "the document is empty; write it, or name another file"),
    ("recursion limit", "it nests too deeply; write fewer levels"),
    ("Depth", "it nests too deeply; write fewer levels"),
    ("budget breached", "it has too many values, aliases counted in full; write fewer"),
    ("unclosed", "; close it"),
];

/// Reads `text` as a `T`; `example` is a value with keys.
pub(crate) fn read<T: DeserializeOwned>(text: &str, example: &str) -> Result<T, YamlFault> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().map(|at| (at.line() as usize, at.column() as usize));
        let said = error.without_snippet().to_string();
        let said = ENDS.iter().fold(&*said, |said, end| said.split(end).next().unwrap_or(said));
        YamlFault { place, message: message(text, place, said, example) }
    })
}

fn message(text: &str, place: Option<(usize, usize)>, said: &str, example: &str) -> String {
    let line = place.and_then(|(line, _)| text.lines().nth(line.checked_sub(1)?));
    let quoting = || line.and_then(unquoted).map(|entry| quote_it(&entry));
    if let Some((_, kind)) = KINDS.iter().find(|(part, _)| said.contains(part)) {
        let member = place.map(|(line, column)| member(text, line, column)).unwrap_or_default();
        let member = if member.is_empty() { member } else { member + ": " };
        let example = if kind.ends_with(' ') { example } else { "" };
        return format!("{member}{kind}{example}{}", quoting().unwrap_or_default());
    }
    match REMEDIES.iter().find(|(part, _)| said.contains(part)) {
        Some((_, remedy)) if remedy.starts_with("; ") => format!("{said}{remedy}"),
        Some((_, instead)) => (*instead).to_owned(),
        None => said.to_owned() + &quoting().unwrap_or_default(),
    }
}

/// The remedy for an entry whose first character, or a brace in it, is a part of YAML.
pub(crate) fn quote_it(entry: &str) -> String {
    format!("; YAML gives a meaning of its own to an unquoted `{entry}`: write \"{entry}\"")
}

/// Returns the entry on `line` that YAML reads as something else than a text, if there is one.
pub(crate) fn unquoted(line: &str) -> Option<String> {
    let line = line.split(" #").next()?;
    let words = line.split([' ', '\t', ',', '[']).map(|word| {
        // A bracket that closes what is around it is no part of the entry.
        let mut word = word.trim_end_matches(']');
        while word.ends_with('}') && word.matches('}').count() > word.matches('{').count() {
            word = word[..word.len() - 1].trim_end_matches(']');
        }
        word
    });
    let trap = |word: &&str| {
        let braces = word.starts_with('{') && word.contains('}') && !word.ends_with('}');
        word.starts_with(['!', '*', '&', '@', '`', '%'])
            || !word.starts_with(['"', '\'', '{']) && word.contains('{')
            || word.starts_with("{{") && word.contains("}}")
            || braces
    };
    words.into_iter().find(trap).map(str::to_owned)
}

/// Returns the member that the value at `line` and `column` is of, such as `spec.denyRead`.
fn member(text: &str, line: usize, column: usize) -> String {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let Some((here, above)) = lines.split_last() else { return String::new() };
    let before: String = here.chars().take(column.saturating_sub(1)).collect();
    let mut names = keys_around(&before);
    let mut depth = indentation(here);
    for line in above.iter().rev().filter(|line| !line.trim().is_empty()) {
        // Entries of a list may stand as far out as its key.
        let entry = names.is_empty() && indentation(line) == depth && here.trim().starts_with('-');
        if indentation(line) < depth || entry {
            depth = indentation(line);
            names.extend(line.trim().split(": ").next().and_then(key));
        }
    }
    names.reverse();
    names.join(".")
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The keys whose values are open at the end of `before`, innermost first.
fn keys_around(before: &str) -> Vec<String> {
    let mut open: Vec<Option<String>> = vec![None];
    for part in before.split_inclusive(['{', '}', ',', ' ']) {
        if let Some(name) = key(part.trim_end())
            && let Some(last) = open.last_mut()
        {
            *last = Some(name);
        }
        match part.chars().last() {
            Some('{') => open.push(None),
            Some('}') => _ = open.pop(),
            _ => {}
        }
    }
    open.into_iter().rev().flatten().collect()
}

/// The name in `word`, if a colon follows it.
fn key(word: &str) -> Option<String> {
    let name = word.trim_end().trim_end_matches(" |").strip_suffix(':').or_else(|| {
        // The value begins on this line.
        word.split_once(": ").map(|(name, _)| name)
    })?;
    let name = name.trim_start_matches(['-', ' ', '{', '[', ',']).trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use rstest::rstest;

    type Lists = BTreeMap<String, BTreeMap<String, Vec<String>>>;

    type Keys = BTreeMap<String, serde::de::IgnoredAny>;

    fn fault(text: &str) -> String {
        error_text::<Lists>(text)
    }

    fn error_text<T: DeserializeOwned>(text: &str) -> String {
        let fault = read::<T>(text, "{read: [\"**\"]}").err().unwrap();
        let (line, column) = fault.place.unwrap();
        format!("{line}:{column}: {}", fault.message)
    }

    #[rstest]
    #[case::truth("a:\n  b: true\n", "2:6: a.b: expected a list, such as [ONE, OTHER]")]
    #[case::text("x: {}\na:\n  y: []\n  b: c\n", "4:6: a.b: expected a list")]
    #[case::flow("a: {c: [], b: d}\n", "1:15: a.b: expected a list")]
    #[case::nested("{a: {c: [x], b: 1}}\n", "1:17: a.b: expected a list")]
    #[case::keys(
        "a: [b]\n",
        "1:4: a: expected keys with values below it, such as {read: [\"**\"]}"
    )]
    #[case::entry("a:\n  b:\n  - {c: d}\n", "3:5: a.b: expected one text")]
    #[case::entry_deeper("a:\n  b:\n    - [c]\n", "3:7: a.b: expected one text")]
    #[case::entry_behind_lines(
        "a:\n  b:\n    - \"x\n        k:\n        y\"\n    - [c]\n",
        "6:7: a.b: expected one text"
    )]
    #[case::behind_a_sibling("a:\n  y:\n    - x\n  b: c\n", "4:6: a.b: expected a list")]
    #[case::below_a_long_name("long_name:\n  b: c\n", "2:6: long_name.b: expected a list")]
    #[case::behind_closed_keys("{a: {c: [x]}, d: 1}\n", "1:18: d: expected keys")]
    #[case::top("- a\n", "1:1: expected keys with values")]
    fn a_value_of_another_type_is_told_with_its_member(#[case] text: &str, #[case] said: &str) {
        let fault = fault(text);
        assert!(fault.starts_with(said), "{fault}");
    }

    #[rstest]
    #[case::list("a:\n  b: [${HOME}/x]\n", "${HOME}/x", 2)]
    #[case::second("a:\n  b: [/tmp, ${HOME}/x]\n", "${HOME}/x", 2)]
    #[case::lines("a:\n  b: [\n    /tmp,\n    ${HOME}/x,\n  ]\n", "${HOME}/x", 4)]
    #[case::keys("a: {b: [c], d: ${HOME}}\n", "${HOME}", 1)]
    #[case::both("a: {b: [c, ${HOME}/x]}\n", "${HOME}/x", 1)]
    #[case::inside("a:\n  b: [src/${NAME}/x]\n", "src/${NAME}/x", 2)]
    #[case::template("a:\n  b: [{{home}}/x]\n", "{{home}}/x", 2)]
    #[case::braces("a:\n  b: [{c}/x]\n", "{c}/x", 2)]
    #[case::star("a:\n  b: [*]\n", "*", 2)]
    #[case::pattern("a:\n  b: [*.env]\n", "*.env", 2)]
    #[case::at("a:\n  b: [@x]\n", "@x", 2)]
    fn an_entry_without_quotes_is_told(#[case] text: &str, #[case] entry: &str, #[case] line: u32) {
        let fault = fault(text);
        assert!(fault.starts_with(&format!("{line}:")), "{fault}");
        assert!(fault.ends_with(&format!("`{entry}`: write \"{entry}\"")), "{fault}");
    }

    #[rstest]
    #[case("b: {{c: d}, e: f}")]
    #[case("b: [x}}y]")]
    #[case("b: ['!x', \"*y\"] # {z}")]
    fn no_entry_is_told_without_a_trap(#[case] line: &str) {
        assert_eq!(unquoted(line), None);
    }

    #[rstest]
    #[case::twice("a: {}\na: {}\n", "duplicate mapping key: a; keep one of the two")]
    #[case::documents(
        "a: {}\n---\nb: {}\n",
        "multiple YAML documents detected; keep one in a file"
    )]
    #[case::tab("a:\n\tb: []\n", "; indent with blanks")]
    #[case::nul("a: {b: [\"\0\"]}\n", "; remove it")]
    #[case::quote("a: {b: [\"x]}\n", "unclosed quote; close it")]
    #[case::bracket("a: {b: [x\n", "; close it")]
    #[case::deep(&format!("a: {}\n", "{b: ".repeat(500)), "it nests too deeply; write fewer levels")]
    #[case::deep_list(&format!("a: {}\n", "[".repeat(500)), "it nests too deeply; write fewer levels")]
    fn what_is_no_document_is_told_with_its_remedy(#[case] text: &str, #[case] said: &str) {
        let fault = error_text::<Keys>(text);
        let whole = if said.starts_with("; ") { said } else { &format!(": {said}") };
        assert!(fault.ends_with(whole), "{fault}");
    }

    #[test]
    fn aliases_that_multiply_are_told() {
        let more = |n: u8| format!("{}: &{} [{}]\n", n, n, format!("*{},", n - 1).repeat(9));
        let text = "0: &0 [x,x,x,x,x,x,x,x,x]\n".to_owned() + &(1..9).map(more).collect::<String>();
        let fault = error_text::<Keys>(&text);
        assert!(
            fault.ends_with("it has too many values, aliases counted in full; write fewer"),
            "{fault}"
        );
    }
}
