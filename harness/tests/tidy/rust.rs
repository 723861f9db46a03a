//! The part of Rust's grammar that the rules need: comments, literals, braces and functions.

/// Blanks out every comment and literal of `text`, line for line.
pub(crate) fn code(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let skipped = literal(&chars[at..]);
        out.extend(chars[at..at + skipped].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        at += skipped;
        if skipped == 0 {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// Returns the length of the comment or literal that starts here; 0 when none does.
fn literal(rest: &[char]) -> usize {
    match rest {
        ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => block_comment(rest),
        ['"', ..] => quoted(rest, '"'),
        ['\'', '\\', ..] => quoted(rest, '\''),
        ['\'', _, '\'', ..] => 3,
        ['r', '"' | '#', ..] => raw(rest),
        _ => 0,
    }
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// Returns the length of `r"…"` or `r#"…"#`; 0 for a raw identifier.
fn raw(rest: &[char]) -> usize {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = &rest[hashes + 2..];
    let end = body.windows(closing.len()).position(|window| window == closing);
    end.map_or(rest.len(), |end| hashes + 2 + end + closing.len())
}

/// The code without the items that only tests are built with.
pub(crate) fn without_tests(code: &str) -> String {
    let mut left = code.to_owned();
    while let Some(start) = left.find("#[cfg(test").or_else(|| left.find("#[cfg(all(test")) {
        let end = item_end(&left[start..]).map_or(left.len(), |end| start + end);
        left.replace_range(start..end, "");
    }
    left
}

/// Returns the end of the item that starts here: after its closing brace, or after its semicolon.
fn item_end(code: &str) -> Option<usize> {
    let first = code.find(['{', ';'])?;
    if code[first..].starts_with(';') {
        Some(first + 1)
    } else {
        Some(first + block(&code[first..])?)
    }
}

/// Returns the length of the block that starts with the brace here.
fn block(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Counts `word` in `code`, without the ends of longer words: `unix::` is no `nix::`.
pub(crate) fn mentions(code: &str, word: &str) -> usize {
    let starts = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    code.match_indices(word).filter(|(at, _)| word.starts_with('.') || starts(*at)).count()
}

/// A function with a body.
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// The line it starts on, from 1.
    pub(crate) line: usize,
    /// From `fn` to the closing brace.
    pub(crate) text: &'a str,
}

/// Lists every function with a body in `code`, nested ones too.
pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    let starts = code.match_indices("fn ").map(|(at, _)| at);
    let whole_word = |at: &usize| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    starts.filter(whole_word).filter_map(|at| function(code, at)).collect()
}

fn function(code: &str, at: usize) -> Option<Function<'_>> {
    let rest = &code[at..];
    let end = item_end(&unbracketed(rest))?;
    let text = &rest[..end];
    let name = text[3..].split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    let line = code[..at].matches('\n').count() + 1;
    (text.ends_with('}') && !name.is_empty()).then_some(Function { name, line, text })
}

/// Semicolons in brackets, as in `[u8; 4]`, end no signature: they are blanked out.
fn unbracketed(code: &str) -> String {
    let mut depth = 0;
    let blank = |c: char| {
        depth += i32::from(matches!(c, '[' | '(')) - i32::from(matches!(c, ']' | ')'));
        if c == ';' && depth > 0 { ' ' } else { c }
    };
    code.chars().map(blank).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("a // unsafe\nb", "a          \nb")]
    #[case("a /* { /* } */ } */ b", "a                   b")]
    #[case(r#"f("a\"{", 'x', '\'', b)"#, "f(      ,    ,     , b)")]
    #[case("f(r#\"{\"#, r#type)", "f(      , r#type)")]
    #[case("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)")]
    fn comments_and_literals_are_blank(#[case] text: &str, #[case] code: &str) {
        assert_eq!(super::code(text), code);
    }

    #[test]
    fn functions_are_found_with_their_bodies() {
        let code = "fn a(x: [u8; 2]) {\n  fn b() { }\n}\ntrait T { fn c(); }\ntype D = fn (u8);";
        let found = super::functions(code);
        let found: Vec<_> =
            found.iter().map(|f| (f.name, f.line, f.text.lines().count())).collect();
        assert_eq!(found, [("a", 1, 3), ("b", 2, 1)]);
    }

    #[test]
    fn a_word_is_not_the_end_of_another() {
        assert_eq!(super::mentions("thread::sleep(x); fall_asleep(); sleep(y)", "sleep("), 2);
        assert_eq!(super::mentions("a.exists() std::os::unix::ffi", ".exists()"), 1);
    }

    #[test]
    fn test_items_are_cut_out() {
        let code = "a;\n#[cfg(test)]\nmod tests;\nb;\n#[cfg(test)]\nmod t { fn f() { } }\nc;";
        assert_eq!(super::without_tests(code), "a;\n\nb;\n\nc;");
    }
}
