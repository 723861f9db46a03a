//! Suggestion of the name that a misspelt one was meant to be.

/// Returns the one of `names` that `word` was probably meant to be; none where none is near.
pub fn nearest_name<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    let near = names.into_iter().map(|name| (strsim::osa_distance(word, name), name));
    near.filter(|(edits, _)| *edits <= limit).min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

/// Returns the clause `: did you mean …?` for the nearest of `names`, else nothing.
pub fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest_name(word, names).map(|name| format!(": did you mean `{name}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("fs.wrte", Some("fs.write"))]
    #[case("fs.wirte", Some("fs.write"))]
    #[case("net.nome", Some("net.none"))]
    #[case("completely", None)]
    #[case("", None)]
    fn only_a_near_name_is_suggested(#[case] word: &str, #[case] wanted: Option<&str>) {
        assert_eq!(nearest_name(word, ["fs.write", "net.none", "net.host"]), wanted);
    }

    #[test]
    fn a_suggestion_is_a_question() {
        assert_eq!(suggestion("fs.wrte", ["fs.write"]), ": did you mean `fs.write`?");
        assert_eq!(suggestion("nope", ["fs.write"]), "");
    }
}
