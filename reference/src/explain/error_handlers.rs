//! What the source code of a program does with errors ([`ErrorHandlers`]): whether it passes over all of
//! them, and what it says of them. A heuristic over the text, in the languages that scripts are in. Pure.

use std::sync::LazyLock;

use regex::Regex;

/// The bytes of one handler that are read.
const LONGEST: usize = 400;
/// The letters of a message by which it is known again.
const TELLING: usize = 6;
/// The letters of one that is a whole line.
const SHORTEST: usize = 3;

/// The beginnings of handlers.
static BEGINNING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
          \bexcept\b[^:\n]*:
        # A file that a test does not find, and the status of a program.
        | \bif\ not\ os\.(?:path\.)?(?:access|exists|isfile|isdir)\([^\n]*\):
        | \bif\s*\(\s*!\s*(?:fs\.)?existsSync\([^{};\n]*\)\s*\{
        | \bif\ [^:\n]*\breturncode\b[^:\n]*:
        # An error that a callback is given, and one that is a value.
        | \bif\s*\(\s*(?:e|err?|error)\s*\)\s*\{?
        | \b[[:word:]]+\ !=?\ nil\ \{
        # Exceptions of languages with braces, and of Ruby.
        | \bcatch\s*(?:\([^()]*\)\s*)?\{
        | \brescue\b(?:[\ \t]+[A-Z][[:word:]:,\ ]*)?(?:[\ \t]*=>[\ \t]*[[:word:]]+)?
        # Promises, events, and callbacks that do nothing.
        | \.catch\(
        | \.on(?:ce)?\(\s*['"]error['"]\s*,
        | =>\s*\{\s*\}
        | \bfunction\s*\([[:word:]]*\)\s*\{\s*\}
        # What is done where a call fails.
        | \b(?:or|\|\|)\s+
        | \|\|\s*
        | \bsuppress\([^()]*\):?"#,
    )
    .ok()
});
/// A result that code notes where nothing failed, to ask for it later.
static NOTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?:try|begin)\b[^}]{0,200}?(?:^|[\n;:{])\s*[[:word:]]+\s*=\s*(?:True|true|1)\b")
        .ok()
});
/// What a handler has in it that does not go on.
static ENDING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)exit|raise|throw|return|\bdie\b|croak|abort|fail|panic|fatal|reject").ok()
});
/// A variable that is given a value.
static ASSIGNED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b([[:word:]]+)\s*=[^=>]").ok());
static LITERAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"'([^'\n]+)'|"([^"\n]+)"|`([^`\n]+)`"#).ok());

/// What a handler does, and what it does it for, where that is known.
#[derive(Debug, Default, PartialEq, Eq)]
struct ErrorHandler {
    body: String,
    guarded: String,
}

impl ErrorHandler {
    /// Returns whether it does not go on, by its code without the texts in it.
    fn ends(&self) -> bool {
        let texts = LITERAL.as_ref().map(|literal| literal.replace_all(&self.body, "''"));
        ENDING.as_ref().is_some_and(|ending| ending.is_match(&texts.unwrap_or_default()))
    }
}

/// The error handlers in some source code.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorHandlers {
    handlers: Vec<ErrorHandler>,
    /// The code notes that nothing failed, and so has another way to tell.
    notes: bool,
}

impl ErrorHandlers {
    /// Finds those in `code`, besides those that are known.
    pub(super) fn add(&mut self, code: &str) {
        let Some(beginning) = BEGINNING.as_ref() else { return };
        let found = beginning.find_iter(code);
        self.handlers.extend(found.map(|at| {
            let after = after_loop(code, at.start()).unwrap_or_default();
            ErrorHandler {
                body: format!("{}{after}", body(code, at.start(), at.end())),
                guarded: guarded(code, at.start(), at.as_str()).to_owned(),
            }
        }));
        self.notes |= NOTED.as_ref().is_some_and(|noted| noted.is_match(code));
    }

    /// Returns whether there are handlers, and each goes on as if nothing had failed.
    pub(super) fn pass_over_all(&self) -> bool {
        let is_idle = |handler: &ErrorHandler| is_idle(&handler.body);
        !self.notes && !self.handlers.is_empty() && self.handlers.iter().all(is_idle)
    }

    /// Returns whether there are handlers that do not all go on as if nothing had failed.
    pub(super) fn catch(&self) -> bool {
        !self.handlers.is_empty() && !self.pass_over_all()
    }

    /// Returns whether `line` is said by handlers that all go on.
    pub(super) fn go_on_after(&self, line: &str) -> bool {
        let says =
            |handler: &&ErrorHandler| literals(&handler.body).any(|text| is_said(text, line));
        let mut saying = self.handlers.iter().filter(says).peekable();
        !self.notes && saying.peek().is_some() && !saying.any(ErrorHandler::ends)
    }

    /// Returns the code of which errors are caught, without an end, and that gives a value to a variable in `line`.
    pub(super) fn guarding(&self, line: &str) -> impl Iterator<Item = &str> {
        let has = |name: &str| {
            let is_end = |c: char| !c.is_alphanumeric() && c != '_';
            line.split(is_end).any(|word| word == name)
        };
        let gives = move |handler: &&ErrorHandler| {
            let given = ASSIGNED.as_ref().into_iter();
            let mut given = given.flat_map(|given| given.captures_iter(&handler.guarded));
            !handler.ends() && given.any(|found| has(&found[1]))
        };
        self.handlers.iter().filter(gives).map(|handler| handler.guarded.as_str())
    }

    /// Returns whether `output` has a message of a handler, and not of one for another file than that of which
    /// the name `is_it`.
    pub(super) fn say(&self, output: &str, is_it: &dyn Fn(&str) -> bool) -> bool {
        // A text may be a line for a shell.
        let is_it = |text: &str| is_it(text) || text.split(' ').any(is_it);
        let names = |handler: &ErrorHandler| literals(&handler.guarded).any(is_it);
        let is_elsewhere = self.handlers.iter().any(names);
        let may_be = |handler: &ErrorHandler| {
            let named = literals(&handler.guarded).filter(|text| text.len() > 1).count() > 0;
            names(handler) || !named && !is_elsewhere
        };
        // What a handler says that goes on is the reason if nothing is said after it.
        let last = output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        self.handlers.iter().any(|handler| {
            let output = if handler.ends() { output } else { last };
            literals(&handler.body).any(|text| is_said(text, output)) && may_be(handler)
        })
    }
}

/// Returns the texts in `code`.
fn literals(code: &str) -> impl Iterator<Item = &str> {
    let found = LITERAL.as_ref().into_iter().flat_map(|literal| literal.captures_iter(code));
    found.filter_map(|found| found.iter().skip(1).flatten().next()).map(|text| text.as_str())
}

/// Returns whether `output` has `text`, in which what is put in for a variable is not known.
fn is_said(text: &str, output: &str) -> bool {
    let fixed = text.split(['%', '{', '$', '#', '\\']).next().unwrap_or_default();
    let letters = fixed.chars().filter(|c| c.is_alphabetic()).count();
    let whole = text.trim().trim_end_matches("\\n");
    let is_line = || output.lines().any(|line| line.trim() == whole);
    letters >= TELLING && output.contains(fixed.trim()) || letters >= SHORTEST && is_line()
}

/// Returns what the handler is for that begins at `start` with the words `opening`, where that is known.
fn guarded<'a>(code: &'a str, start: usize, opening: &str) -> &'a str {
    let before = &code[..start];
    let begin = match opening.trim_start() {
        it if it.contains("returncode") => before.rfind("run("),
        it if it.starts_with(".on") => Some(made_at(before)),
        it if it.starts_with("if") && it.contains(['.', '!']) => {
            return &code[start..start + opening.len()];
        }
        it if it.starts_with("if") => {
            Some(before.trim_end().rfind([';', '\n']).map_or(0, |at| at + 1))
        }
        it if it.starts_with("except") || it.starts_with("catch") => before.rfind("try"),
        it if it.starts_with("or") || it.starts_with("||") => {
            Some(before.trim_end().rfind([';', '\n', '}']).map_or(0, |at| at + 1))
        }
        _ => None,
    };
    begin.map_or("", |begin| &before[begin..])
}

/// Returns where the object at the end of `before` is made: its assignment, or its own statement.
fn made_at(before: &str) -> usize {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
    let assigned = || {
        let mut found = ASSIGNED.as_ref()?.captures_iter(before);
        found.find(|found| &found[1] == name)?.get(0).map(|at| at.start())
    };
    let own = before.trim_end().rfind([';', '\n']).map_or(0, |at| at + 1);
    assigned().unwrap_or(own)
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
    if opening.ends_with(['{', '(', ',']) {
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
    let rest = rest.strip_prefix("do ").unwrap_or(rest);
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

/// Returns what a program in Python does after the loop in which it tries again and in which `start` is, where that
/// is its end, or what it does only if no try succeeded.
fn after_loop(code: &str, start: usize) -> Option<&str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let begin = code[..start].rfind('\n').map_or(0, |at| at + 1);
    let mut own = indent(&code[begin..]);
    let mut outer = code[..begin].lines().rev().filter(|line| {
        let encloses = !line.trim().is_empty() && indent(line) < own;
        own = if encloses { indent(line) } else { own };
        encloses
    });
    let is_loop =
        |line: &&str| ["for ", "while "].iter().any(|word| line.trim_start().starts_with(word));
    let own = indent(outer.find(is_loop)?);
    let lines = code[begin..].split_inclusive('\n');
    let mut at = begin;
    for line in lines {
        if at > begin && !line.trim().is_empty() && indent(line) <= own {
            let text = line.trim_start();
            let block = text.strip_prefix("else:").map(|_| {
                let head = at + indent(line);
                python_block(code, head, &code[head + "else:".len()..])
            });
            let ends = || ENDING.as_ref().is_some_and(|ending| ending.is_match(text));
            return block.or_else(|| (indent(line) == own && ends()).then_some(line));
        }
        at += line.len();
    }
    None
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
    #[case(
        "try: f()\nexcept OSError as e: print('no cache here', e)\ng()",
        "no cache here: x",
        true
    )]
    #[case("try: f()\nexcept OSError as e: print('no cache here', e)\ng()", "x", false)]
    #[case(
        "try: f()\nexcept OSError as e: print('no cache here'); exit(3)",
        "no cache here",
        false
    )]
    #[case("try: f()\nexcept OSError as e: print('check failed', e)\ng()", "check failed x", true)]
    #[case("try: f(timeout=1)\nexcept OSError as e: print('no news')\ng()", "no news", true)]
    #[case("try: f(); ok = True\nexcept OSError as e: print('no news')\ng()", "no news", false)]
    #[case("try{f()}catch(e){console.warn('cache off: '+e);g=1}", "cache off: x", true)]
    #[case(
        "try{f()}catch(e){console.warn('cache off: '+e);process.exitCode=1}",
        "cache off: x",
        false
    )]
    fn what_is_gone_on_after(#[case] code: &str, #[case] line: &str, #[case] due: bool) {
        assert_eq!(handlers(code).go_on_after(line), due, "{:?}", handlers(code));
    }

    #[rstest]
    #[case("try: f()\nexcept OSError: sys.exit('could not publish')", "could not publish\n", true)]
    #[case("try: f()\nexcept OSError: pass\nsys.exit('bad input')", "bad input\n", false)]
    #[case("mkdir '/o/a' or do { print STDERR \"no d\\n\"; exit 3 }", "no d\n", true)]
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
        let is_it = |text: &str| text.starts_with("/o");
        assert_eq!(handlers(code).say(output, &is_it), due, "{:?}", handlers(code));
    }

    #[rstest]
    #[case("unlink('/o/f'); open(F, '<', 'in') || die \"no input: $!\\n\"", "no input: x", false)]
    #[case("open(F, '>', '/o/f') || die \"no input: $!\\n\"", "no input: x", true)]
    #[case("try: f()\nexcept OSError: sys.exit('no output')", "no output", true)]
    #[case("try: f('in')\nexcept OSError: sys.exit('no output')", "no output", false)]
    #[case("try{w('/o/f')}catch{};try{r('in')}catch(e){say('no input')}", "no input", false)]
    #[case("try{w('/o/f')}catch{};try{r(x)}catch(e){say('no input')}", "no input", false)]
    #[case("f().catch(e => { say('boom') })", "boom", true)]
    #[case("try: w('/o/f')\nexcept OSError: print('no cache')\n", "no cache\nnot ready", false)]
    #[case("try: w('/o/f')\nexcept OSError: print('no cache')\n", "begun\nno cache\n", true)]
    #[case("if not os.path.exists('/o/f'): sys.exit('set it up')", "set it up", true)]
    #[case("if not os.path.exists('in'): sys.exit('set it up')", "set it up", false)]
    #[case("if (!fs.existsSync('/o/f')) { say('none'); exit(1) }", "none", true)]
    #[case("f().catch(e => { say('boom') })", "boomerang", false)]
    #[case(
        "for i in r:\n  try: w('/o/f')\n  except OSError: sleep(1)\nraise Gone('gave up')",
        "Gone: gave up",
        true
    )]
    #[case(
        "for i in r:\n  try:\n    w('/o/f')\n  except OSError:\n    sleep(1)\nelse:\n  print('gave up')\n  exit(1)",
        "gave up",
        true
    )]
    #[case(
        "for i in r:\n  try: w('in')\n  except OSError: sleep(1)\nraise Gone('gave up')",
        "Gone: gave up",
        false
    )]
    #[case(
        "for i in r:\n  try: w('/o/f')\n  except OSError: pass\nx = 1\nraise Gone('gave up')",
        "Gone: gave up",
        false
    )]
    #[case(
        "r = run(['cp', '/o/f'])\nif r.returncode: sys.exit('copy failed with %d' % 1)",
        "copy failed with 1",
        true
    )]
    #[case(
        "r = run('cp a /o/f', shell=True)\nif r.returncode: sys.exit('copy failed')",
        "copy failed",
        true
    )]
    #[case(
        "r = run(['cp', 'in'])\nif r.returncode: sys.exit('copy failed with %d' % 1)",
        "copy failed with 1",
        false
    )]
    #[case("w('/o/f', e => { if (e) { say('save failed'); exit(2) } })", "save failed", true)]
    #[case(
        "w('/o/f', x, (err) => {\n if (err) {\n  say('save failed')\n }\n})",
        "save failed",
        true
    )]
    #[case("r('in', function (error, d) { if (error) exit('no input') })", "no input", false)]
    #[case("w('/o/f', e => { if (e) say('no cache') }); say('not ready')", "not ready", false)]
    fn what_handlers_say_of_a_file(#[case] code: &str, #[case] output: &str, #[case] due: bool) {
        let found = handlers(code).say(output, &|text| text == "/o/f");
        assert_eq!(found, due, "{:?}", handlers(code));
    }
}
