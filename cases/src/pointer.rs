//! The place in a text that a message is about: [`point_at`].

/// Returns the line and the column (from 1) in `text` of what `message` is about, which is known to
/// be about `field` on or below `line`: of the word that the message names, else of the key, else
/// of the line. The column is 0 where there is no such line.
pub(crate) fn point_at(text: &str, (line, field): (usize, &str), message: &str) -> (usize, usize) {
    let last = field.rsplit('.').next().unwrap_or_default().split('[').next().unwrap_or_default();
    let word = offender(message);
    let below = text.lines().enumerate().skip(line.saturating_sub(1)).take_while(|(at, text)| {
        *at + 1 == line || text.starts_with([' ', '\t', '-', '}', ']', '#']) || text.is_empty()
    });
    let of_word = |(at, text): (usize, &str)| Some((at + 1, column_of(text, word?)?));
    let everywhere = text.lines().enumerate();
    // A variable is told as a part of the act, and may be anywhere.
    let variable = is_about_variable(message).then_some(everywhere);
    let found = below.into_iter().chain(variable.into_iter().flatten()).find_map(of_word);
    let of_line = || {
        let own = text.lines().nth(line.checked_sub(1)?)?;
        let first = own.len() - own.trim_start().len();
        let key = (!last.is_empty()).then(|| column_of(own, last)).flatten();
        Some((line, key.unwrap_or_else(|| own[..first].chars().count() + 1)))
    };
    found.or_else(of_line).unwrap_or((line, 0))
}

fn is_about_variable(message: &str) -> bool {
    message.starts_with("unknown variable $")
}

/// Returns the top-level key that `line` belongs to, if `message` is about a variable.
pub(crate) fn variable_field<'a>(text: &'a str, line: usize, message: &str) -> Option<&'a str> {
    let above: Vec<&str> = text.lines().take(line).collect();
    above.into_iter().rev().filter(|_| is_about_variable(message)).find_map(|line| {
        let (key, _) = line.split_once(':')?;
        key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_').then_some(key)
    })
}

/// Returns the first word of `message` that stands for a part of the file: one in backticks, a
/// variable, or the id of a requirement.
fn offender(message: &str) -> Option<&str> {
    let quoted = message.split('`').nth(1);
    let named = message
        .split_whitespace()
        .find(|word| word.starts_with("R-") || word.starts_with('$') && word.len() > 1);
    let named = named.map(|word| word.trim_end_matches([',', '.', ':', ';']));
    let at = |word: Option<&str>| word.and_then(|word| message.find(word)).unwrap_or(usize::MAX);
    if at(quoted) <= at(named) { quoted } else { named }
}

/// Returns the column (from 1) of `word` in `line`, where it is no part of a longer word.
fn column_of(line: &str, word: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let whole = |at: &usize| {
        let (before, after) = (&line[..*at], &line[at + word.len()..]);
        !before.ends_with(part) && !after.starts_with(part)
    };
    let mut places = line.match_indices(word).map(|(at, _)| at);
    let at = places.find(whole).filter(|_| !word.is_empty())?;
    Some(line[..at].trim_start_matches('\u{feff}').chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const TEXT: &str = "purpose: Wörks.
requirement: R-x
needs: [fs.write, net.none]
fixture: {$OTU/f: kept}
act: {probe: write, path: $WS/f}
expect:
  denied: {errno: [EROFS]}
";

    #[rstest]
    #[case(1, "purpos", "missing", (1, 1))]
    #[case(2, "requirement", "unknown requirement R-x: near it", (2, 14))]
    #[case(3, "needs[0]", "needs: unknown capability `net.none`: did you mean `x`?", (3, 19))]
    #[case(5, "act", "unknown variable $OTU: use one of $WS", (4, 11))]
    #[case(5, "act.path", "something", (5, 21))]
    #[case(6, "expect", "unknown errno `EROFS`", (7, 20))]
    #[case(6, "expect", "denied has no twin: name one, or `twin: {none: reason}`", (6, 1))]
    #[case(0, "", "cannot be read", (0, 0))]
    fn messages_point_at_their_word_or_key(
        #[case] line: usize,
        #[case] field: &str,
        #[case] message: &str,
        #[case] place: (usize, usize),
    ) {
        assert_eq!(point_at(TEXT, (line, field), message), place);
        assert_eq!(point_at(&format!("\u{feff}{TEXT}"), (line, field), message), place);
    }
}
