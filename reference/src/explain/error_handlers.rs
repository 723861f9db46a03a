//! What the source code of a program does with errors ([`ErrorHandlers`]): whether it passes over all of
//! them, and what it says of them. A heuristic over the text, in the languages that scripts are in. Pure.

use std::sync::LazyLock;

use regex::Regex;

/// The bytes of one handler that are read.
const LONGEST: usize = 400;
/// The letters of a message by which it is known again.
const TELLING: usize = 6;

/// The beginnings of handlers: an exception in Python, of languages with braces, in Ruby, a rejected promise,
/// an error that is a value, and what is done where a call fails.
static BEGINNING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\bexcept\b[^:\n]*:|\bcatch\s*(?:\([^()]*\)\s*)?\{|\brescue\b(?:[ \t]+[A-Z][[:word:]:, ]*)?(?:[ \t]*=>[ \t]*[[:word:]]+)?|\.catch\(|\b[[:word:]]+ !=? nil \{|\b(?:or|\|\|)\s+|\|\|\s*|\bsuppress\([^()]*\):?|=>\s*\{\s*\}|\bfunction\s*\([[:word:]]*\)\s*\{\s*\}",
    )
    .ok()
});
/// A result that code notes where nothing failed, to ask for it later.
static NOTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?:try|begin)\b[^}]{0,200}?\b[[:word:]]+\s*=\s*(?:True|true|1)\b").ok()
});
static LITERAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"'([^'\n]+)'|"([^"\n]+)"|`([^`\n]+)`"#).ok());

/// The bodies of the error handlers in some source code.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorHandlers {
    bodies: Vec<String>,
    /// The code notes that nothing failed, and so has another way to tell.
    notes: bool,
}

impl ErrorHandlers {
    /// Finds those in `code`, besides those that are known.
    pub(super) fn add(&mut self, code: &str) {
        let Some(beginning) = BEGINNING.as_ref() else { return };
        let found = beginning.find_iter(code);
        self.bodies.extend(found.map(|at| body(code, at.start(), at.end()).to_owned()));
        self.notes |= NOTED.as_ref().is_some_and(|noted| noted.is_match(code));
    }

    /// Returns whether there are handlers, and each goes on as if nothing had failed.
    pub(super) fn pass_over_all(&self) -> bool {
        !self.notes && !self.bodies.is_empty() && self.bodies.iter().all(|body| is_idle(body))
    }

    /// Returns whether there are handlers that do not all go on as if nothing had failed.
    pub(super) fn catch(&self) -> bool {
        !self.bodies.is_empty() && !self.pass_over_all()
    }

    /// Returns whether `output` has a message of a handler.
    pub(super) fn say(&self, output: &str) -> bool {
        let Some(literal) = LITERAL.as_ref() else { return false };
        let texts = self.bodies.iter().flat_map(|body| literal.captures_iter(body));
        let mut texts = texts.filter_map(|found| found.iter().skip(1).flatten().next());
        texts.any(|text| {
            // What is put in for a variable is not known.
            let fixed = text.as_str().split(['%', '{', '$', '#', '\\']).next().unwrap_or_default();
            let letters = fixed.chars().filter(|c| c.is_alphabetic()).count();
            letters >= TELLING && output.contains(fixed.trim())
        })
    }
}

/// Returns the handler that begins at `start`, and whose first words end at `end`.
fn body(code: &str, start: usize, end: usize) -> &str {
    let rest = &code[end..];
    let mut most = rest.len().min(LONGEST);
    while !rest.is_char_boundary(most) {
        most -= 1;
    }
    let rest = &rest[..most];
    let opening = code[start..end].trim_end();
    if opening.starts_with("suppress") || opening.ends_with('}') {
        return "";
    }
    if opening.ends_with(['{', '(']) {
        let close = closing(rest, 1);
        return &rest[..close];
    }
    if opening.ends_with(':') {
        return python_block(code, start, rest);
    }
    if opening.starts_with("rescue") {
        let ends = ["\nend", " end", ";end", "ensure", "else"];
        let close = ends.iter().filter_map(|word| rest.find(word)).min();
        return &rest[..close.unwrap_or(rest.len())];
    }
    match rest.starts_with(['{', '(']) {
        true => &rest[..closing(&rest[1..], 1) + 1],
        false => &rest[..rest.find([';', '\n', '}']).unwrap_or(rest.len())],
    }
}

/// Returns the place at which the `depth` brackets that are open are closed again.
fn closing(rest: &str, mut depth: usize) -> usize {
    for (at, c) in rest.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Returns the rest of the line, or the lines behind it that are indented further than its beginning.
fn python_block<'a>(code: &str, start: usize, rest: &'a str) -> &'a str {
    let line = rest.find('\n').unwrap_or(rest.len());
    if !rest[..line].trim().is_empty() {
        return &rest[..line];
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let begin = code[..start].rfind('\n').map_or(0, |at| at + 1);
    let own = indent(&code[begin..]);
    let mut end = (line + 1).min(rest.len());
    for next in rest[end..].split_inclusive('\n') {
        if !next.trim().is_empty() && indent(next) <= own {
            break;
        }
        end += next.len();
    }
    &rest[..end]
}

/// Returns whether a handler with this `body` does nothing.
fn is_idle(body: &str) -> bool {
    let plain = |c: char| c.is_whitespace() || "(){}=>;,".contains(c);
    let lines = body.lines().map(|line| line.split(['#']).next().unwrap_or(line));
    let lines = lines.map(|line| line.split("//").next().unwrap_or(line));
    let mut words = lines.flat_map(|line| line.split(plain)).filter(|word| !word.is_empty());
    let idle = ["pass", "...", "nil", "continue", "true", ":", "null", "undefined", "_", "e"];
    words.all(|word| idle.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn handlers(code: &str) -> ErrorHandlers {
        let mut found = ErrorHandlers::default();
        found.add(code);
        found
    }

    #[rstest]
    #[case::python("try: os.unlink('/o/f')\nexcept OSError: pass\nsys.exit(5)\n", true)]
    #[case::python_block("try:\n  f()\nexcept OSError:\n  pass\nsys.exit(5)\n", true)]
    #[case::python_ends("try: f()\nexcept OSError: sys.exit(5)\n", false)]
    #[case::python_ends_in_a_block("try:\n  f()\nexcept OSError:\n  sys.exit(5)\n", false)]
    #[case::python_notes("try:\n  f()\n  ok = True\nexcept OSError: pass\nsys.exit(not ok)", false)]
    #[case::one_of_two("try { f() } catch {}\ntry { g() } catch (e) { process.exit(2) }", false)]
    #[case::node("try{f()}catch{};process.exit(3)", true)]
    #[case::node_named("try { f() } catch (e) { /* no */ }", false)]
    #[case::node_comment("try { f() } catch (e) {\n // no\n}\nprocess.exit(1)", true)]
    #[case::promise("f().catch(() => {}); process.exit(1)", true)]
    #[case::promise_ends("f().catch(() => process.exit(1))", false)]
    #[case::suppressed(
        "with contextlib.suppress(OSError):\n    os.mkdir('/o/k')\nsys.exit(6)",
        true
    )]
    #[case::callback("fs.mkdir('/o/k', () => {}); process.exit(6)", true)]
    #[case::callback_ends("fs.mkdir('/o/k', e => process.exit(6))", false)]
    #[case::ruby("begin\n f\nrescue StandardError\nend\nexit 3", true)]
    #[case::ruby_ends("begin; f; rescue SystemCallError; exit 8; end", false)]
    #[case::perl("mkdir '/o/d' or exit 3;", false)]
    #[case::go("if err != nil {\n os.Exit(3)\n}", false)]
    #[case::none("open('/o/x','w'); exit(1)", false)]
    fn what_handlers_pass_over(#[case] code: &str, #[case] due: bool) {
        assert_eq!(handlers(code).pass_over_all(), due, "{:?}", handlers(code));
    }

    #[rstest]
    #[case("try: f()\nexcept OSError: sys.exit('could not publish')", "could not publish\n", true)]
    #[case("try: f()\nexcept OSError: pass\nsys.exit('bad input')", "bad input\n", false)]
    #[case("rename 'a', '/o/a' or die \"move failed\\n\";", "move failed\n", true)]
    #[case(
        "if (!x) { die 'bad input' } f() or die 'no luck: $!';",
        "bad input at p line 1.\n",
        false
    )]
    #[case(
        "if err != nil {\n\tlog.Fatalf(\"publishing %s\", p)\n}",
        "2026/11/30 publishing /o/x\n",
        true
    )]
    #[case(
        "f().catch(e => { console.error('upload broke'); process.exit(1) })",
        "upload broke\n",
        true
    )]
    #[case(
        "try { f() } catch (e) { throw new Error(`no cache in ${d}`) }",
        "Error: no cache in /o\n",
        true
    )]
    fn what_handlers_say(#[case] code: &str, #[case] output: &str, #[case] due: bool) {
        assert_eq!(handlers(code).say(output), due, "{:?}", handlers(code));
    }
}
