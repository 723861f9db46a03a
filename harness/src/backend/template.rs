//! Templates: they turn a manifest's texts into arguments and files without a byte changed.
//!
//! An argument template renders one argument a line. A value may hold anything, line feeds
//! included: the formatter marks where each starts and escapes what would be taken for the
//! template's own layout, and [`argv`] undoes both.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::sync::LazyLock;

use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};

use boxproof_cases::suggestion;

use super::{LaunchError, context, variations};

/// Starts each escape; no template may hold it.
const ESCAPE: char = '\u{1}';
/// After [`ESCAPE`]: a value starts or ends here, so a blank line with it is an empty argument.
const VALUE: char = 'v';
/// After [`ESCAPE`]: a list starts or ends here; it must be alone on its line.
const LIST: char = 'l';
/// After [`ESCAPE`]: a line feed of a value.
const LINE_FEED: char = 'n';
/// After [`ESCAPE`]: the escape itself.
const ITSELF: char = 'e';

/// The most bytes of an expression: the engine takes a stack frame for each operator of a chain. The
/// longest of the recipes has half of it.
const LONGEST: usize = 1000;

/// Renders values as they are.
static TEXTS: LazyLock<Environment<'static>> = LazyLock::new(environment);

/// Renders values with their marks.
static ARGUMENTS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut env = environment();
    env.set_auto_escape_callback(|_| AutoEscape::Custom("argument"));
    env.set_formatter(mark);
    env
});

/// The arguments that `template` renders.
pub(super) fn argv(template: &str, context: &Value) -> Result<Vec<OsString>, LaunchError> {
    let rendered = ARGUMENTS.render_str(template, context).map_err(|error| broken(&error))?;
    let mut arguments = Vec::new();
    for line in rendered.split('\n') {
        arguments.extend(arguments_of(line.trim()).map_err(LaunchError::fault)?);
    }
    Ok(arguments.into_iter().map(OsString::from).collect())
}

/// The text that `template` renders, layout and all.
pub(super) fn text(template: &str, context: &Value) -> Result<String, LaunchError> {
    TEXTS.render_str(template, context).map_err(|error| broken(&error))
}

/// Returns whether `expression` holds.
pub(super) fn holds(expression: &str, context: &Value) -> Result<bool, LaunchError> {
    let compiled = TEXTS.compile_expression(expression).map_err(|error| broken(&error))?;
    match compiled.eval(context) {
        Ok(value) if value.is_undefined() => {
            Err(LaunchError::fault(format!("`{expression}` asks for what is not there")))
        }
        Ok(value) => Ok(value.is_true()),
        Err(error) => Err(broken(&error)),
    }
}

/// Checks that `template` can be parsed, and asks for no undefined variable.
pub(super) fn check(template: &str) -> Result<(), String> {
    check_with(template, context::VARIABLES)
}

/// Checks a template that can ask for `variables`.
pub(super) fn check_with(template: &str, variables: &[&str]) -> Result<(), String> {
    if template.contains(ESCAPE) {
        return Err("a template cannot hold the control character U+0001".to_owned());
    }
    tags(template).try_for_each(check_length)?;
    let read = TEXTS.template_from_str(template).map_err(|error| plain(&error))?;
    known(&read.undeclared_variables(false), variables)?;
    variations::check_members(&read.undeclared_variables(true).into_iter().collect())?;
    tags(template).try_for_each(check_filters)
}

/// The insides of the tags of `template`.
fn tags(template: &str) -> impl Iterator<Item = &str> {
    template.split("{{").flat_map(|part| part.split("{%")).skip(1).map(|part| {
        let end = part.find("}}").into_iter().chain(part.find("%}")).min();
        &part[..end.unwrap_or(part.len())]
    })
}

fn check_length(expression: &str) -> Result<(), String> {
    match expression.len() {
        ..=LONGEST => Ok(()),
        bytes => Err(format!("an expression of {bytes} bytes, more than {LONGEST}: split it")),
    }
}

/// Checks that every filter of `expression` exists: the engine looks only where one is applied.
fn check_filters(expression: &str) -> Result<(), String> {
    let bare = without_texts(expression);
    for part in bare.split('|').skip(1) {
        let name = part.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next();
        let name = name.unwrap_or_default();
        let filter = format!("0 | {name}");
        let applied = TEXTS.compile_expression(&filter);
        let applied = applied.and_then(|expression| expression.eval(()));
        if applied.is_err_and(|error| error.kind() == ErrorKind::UnknownFilter) {
            return Err(format!("there is no filter `{name}`"));
        }
    }
    check_tests(&bare)
}

/// Checks that every test of `bare`, an expression without texts, exists.
fn check_tests(bare: &str) -> Result<(), String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = bare.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        if word != "is" {
            continue;
        }
        words.next_if_eq(&"not");
        let Some(name) = words.peek() else { continue };
        let test = format!("0 is {name}");
        let asked = TEXTS.compile_expression(&test);
        let asked = asked.and_then(|expression| expression.eval(()));
        if asked.is_err_and(|error| error.kind() == ErrorKind::UnknownTest) {
            return Err(format!("there is no test `{name}`"));
        }
    }
    Ok(())
}

/// Returns `expression` without its quoted texts.
fn without_texts(expression: &str) -> String {
    let (mut bare, mut quote) = (String::new(), None);
    for char in expression.chars() {
        match quote {
            Some(end) if char == end => quote = None,
            Some(_) => {}
            None if ['"', '\''].contains(&char) => quote = Some(char),
            None => bare.push(char),
        }
    }
    bare
}

/// Checks that `expression` can be parsed, and asks for no undefined variable.
pub(super) fn check_rule(expression: &str) -> Result<(), String> {
    check_length(expression)?;
    let read = TEXTS.compile_expression(expression).map_err(|error| plain(&error))?;
    known(&read.undeclared_variables(false), context::VARIABLES)?;
    variations::check_members(&read.undeclared_variables(true).into_iter().collect())?;
    check_filters(expression)
}

/// Returns the variables that `template` asks for, members included, as in `policy.env.set`.
pub(super) fn names(template: &str) -> BTreeSet<String> {
    let read = TEXTS.template_from_str(template);
    read.map(|read| read.undeclared_variables(true).into_iter().collect()).unwrap_or_default()
}

/// Returns the variables that `expression` asks for, as [`names`] does.
pub(super) fn names_of_rule(expression: &str) -> BTreeSet<String> {
    let read = TEXTS.compile_expression(expression);
    read.map(|read| read.undeclared_variables(true).into_iter().collect()).unwrap_or_default()
}

fn known(names: &HashSet<String>, variables: &[&str]) -> Result<(), String> {
    let globals = TEXTS.globals().map(|(name, _)| name);
    let known: Vec<&str> = variables.iter().copied().chain(globals).collect();
    match names.iter().filter(|name| !known.contains(&name.as_str())).min() {
        Some(name) => {
            let hint = suggestion(name, variables.iter().copied());
            let hint =
                if hint.is_empty() { format!(": use one of {}", known.join(" ")) } else { hint };
            Err(format!("there is no `{name}`{hint}"))
        }
        None => Ok(()),
    }
}

fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_trim_blocks(true);
    env.set_keep_trailing_newline(true);
    // `safe` would let a value past the marks.
    env.remove_filter("safe");
    env.add_filter("json", |value: Value| {
        serde_json::to_string(&value)
            .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
    });
    // The way to write an argument that may be empty, or a literal one with blanks around it.
    env.add_function("arg", |value: Value| value);
    context::add_functions(&mut env);
    env
}

fn broken(error: &Error) -> LaunchError {
    LaunchError::fault(plain(error))
}

fn plain(error: &Error) -> String {
    let line =
        error.line().map(|line| format!("line {line} of the template: ")).unwrap_or_default();
    let detail = error.detail().unwrap_or("cannot be rendered");
    format!("{line}{}: {detail}", error.kind())
}

/// Writes one value with its marks.
fn mark(out: &mut Output<'_>, _: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    // Output of a block or macro of the template is marked already.
    let text = if value.is_safe() { value.to_string() } else { marked_value(value)? };
    out.write_str(&text).map_err(Error::from)
}

fn marked_value(value: &Value) -> Result<String, Error> {
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Ok(marked(&scalar(value)?));
    }
    let items = value.try_iter()?.map(|item| Ok(marked(&scalar(&item)?)));
    let items = items.collect::<Result<String, Error>>()?;
    Ok(format!("{ESCAPE}{LIST}{items}{ESCAPE}{LIST}"))
}

fn scalar(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::String | ValueKind::Number => Ok(value.to_string()),
        ValueKind::Bool => Ok(value.is_true().to_string()),
        kind => {
            let message = format!("a value of kind {kind} is no argument: choose a member of it");
            Err(Error::new(ErrorKind::InvalidOperation, message))
        }
    }
}

fn marked(value: &str) -> String {
    let escaped = value
        .replace(ESCAPE, &format!("{ESCAPE}{ITSELF}"))
        .replace('\n', &format!("{ESCAPE}{LINE_FEED}"));
    format!("{ESCAPE}{VALUE}{escaped}{ESCAPE}{VALUE}")
}

/// The arguments one rendered line stands for: none, one, or those of a list.
fn arguments_of(line: &str) -> Result<Vec<String>, String> {
    let list = format!("{ESCAPE}{LIST}");
    if !line.contains(&list) {
        let given = !line.is_empty();
        return Ok(given.then(|| unescaped(line)).into_iter().collect());
    }
    let inner = line.strip_prefix(&list).and_then(|rest| rest.strip_suffix(&list));
    let inner = inner.filter(|inner| !inner.contains(&list)).ok_or_else(|| {
        format!("`{}`: a list stands alone on its line; join it for one argument", unescaped(line))
    })?;
    let mark = format!("{ESCAPE}{VALUE}");
    // Marks come in pairs, so that every other piece is an item.
    Ok(inner.split(&mark).skip(1).step_by(2).map(unescaped).collect())
}

fn unescaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match (char == ESCAPE).then(|| chars.next()).flatten() {
            None => out.push(char),
            Some(LINE_FEED) => out.push('\n'),
            Some(ITSELF) => out.push(ESCAPE),
            Some(_) => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::context;
    use rstest::rstest;

    fn render(template: &str, x: &str) -> Vec<String> {
        let list = vec![x, "", "b c"];
        let context = context! { x, list, nothing => Vec::<String>::new(), yes => true, n => 7 };
        let argv = argv(template, &context).unwrap();
        argv.into_iter().map(|argument| argument.into_string().unwrap()).collect()
    }

    #[rstest]
    #[case("plain")]
    #[case("")]
    #[case("two\nlines\n")]
    #[case("\n")]
    #[case("  blanks around\t")]
    #[case("\r")]
    #[case("-- {{ x }} {% if %} \\ \" ' $x <&>")]
    #[case("\u{1}v\u{1}n\u{1}")]
    #[case("ünï😀")]
    fn every_value_is_preserved(#[case] x: &str) {
        assert_eq!(render("{{ x }}", x), [x]);
        assert_eq!(render("{{ arg(x) }}", x), [x]);
        assert_eq!(render("--flag={{ x }}:{{ x }}", x), [format!("--flag={x}:{x}")]);
        assert_eq!(render("a\n\n{{ list }}\n  z  \n", x), ["a", x, "", "b c", "z"]);
        assert_eq!(render("{% set y %}{{ x }}{% endset %}{{ y }}", x), [x]);
        assert_eq!(render("{% macro m(v) %}{{ v }}{% endmacro %}\n{{ m(x) }}", x), [x]);
    }

    #[rstest]
    #[case("", &[])]
    #[case("\n  \n\t\n", &[])]
    #[case("{{ nothing }}", &[])]
    #[case("{{ '' }}", &[""])]
    #[case("{% if yes %}\n  --on\n{% endif %}\n{% if not yes %}\n--off\n{% endif %}", &["--on"])]
    #[case("{% for item in list %}\n--arg\n{{ item }}\n{% endfor %}", &["--arg", "x", "--arg", "", "--arg", "b c"])]
    #[case("--n={{ n }}\n{{ yes }}", &["--n=7", "true"])]
    #[case("{{ list | join(',') }}", &["x,,b c"])]
    fn lines_are_arguments(#[case] template: &str, #[case] expected: &[&str]) {
        assert_eq!(render(template, "x"), expected);
    }

    #[rstest]
    #[case("--flag={{ list }}", "stands alone")]
    #[case("{{ list }}{{ list }}", "stands alone")]
    #[case("{{ nope }}", "undefined")]
    #[case("{{ map }}", "kind map is no argument")]
    #[case("{{ none }}", "kind none is no argument")]
    #[case("{{ holes }}", "kind none is no argument")]
    fn what_is_no_argument_is_an_error(#[case] template: &str, #[case] message: &str) {
        let context =
            context! { list => ["a", "b"], map => context! { a => 1 }, holes => [Some(1), None] };
        let error = argv(template, &context).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }

    #[rstest]
    #[case("{{ uid", "syntax error")]
    #[case("{% if uid %}", "syntax error")]
    #[case("{{ polcy.mode }}", "there is no `polcy`: did you mean `policy`?")]
    #[case(
        "{{ policy.writeable }}",
        "there is no `policy.writeable`: did you mean `policy.writable`?"
    )]
    #[case("{% if policy.mod is defined %}x{% endif %}", "did you mean `policy.mode`?")]
    #[case("{{ policy.network.domain }}", "did you mean `policy.network.domains`?")]
    #[case("{{ nope }}", "there is no `nope`: use one of policy")]
    #[case("{{ exist(cwd) }}", "there is no `exist`")]
    #[case("\u{1}", "U+0001")]
    #[case("x{{ uid | nope }}", "no filter `nope`")]
    #[case("{% if uid is nope %}x{% endif %}", "no test `nope`")]
    #[case("{% if uid is not nope %}x{% endif %}", "no test `nope`")]
    #[case("{{ 'a' if policy.mode is nope(1) else 'b' }}", "no test `nope`")]
    #[case("{% for a in policy.writable | sort | nope %}{{ a }}{% endfor %}", "no filter `nope`")]
    #[case("{% include 'x' %}", "syntax error")]
    #[case("{% import 'x' as y %}", "syntax error")]
    fn a_broken_template_is_found_when_it_is_read(#[case] template: &str, #[case] message: &str) {
        let error = check(template).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[rstest]
    #[case("uid ==", "syntax error")]
    #[case("polcy.mode == 'x'", "there is no `polcy`")]
    #[case("policy.readible", "did you mean `policy.readable`?")]
    #[case("policy.writable | nope", "no filter `nope`")]
    #[case("policy.mode is nope", "no test `nope`")]
    fn so_is_a_broken_rule(#[case] expression: &str, #[case] message: &str) {
        let error = check_rule(expression).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn good_templates_and_rules_are_read() {
        let good =
            "{% for x in policy.writable %}{{ x }}{{ dirname(x) }}{% endfor %}{{ range(3) }}";
        assert_eq!(check(good), Ok(()));
        assert_eq!(check("a | b {{ cwd | json }} {{ '|nope' ~ cwd | upper }} | nope"), Ok(()));
        assert_eq!(check_rule("uid == 0 and not exists(cwd)"), Ok(()));
    }

    #[test]
    fn no_value_gets_past_the_marks() {
        let error = argv("{{ x | safe }}", &context! { x => "a\nb" }).unwrap_err();
        assert!(error.to_string().contains("safe"), "{error}");
    }

    #[test]
    fn texts_keep_their_layout_and_json_is_json() {
        let context = context! { path => "/a \"b\"\n" };
        assert_eq!(
            text("{\"p\": {{ path | json }}}\n", &context).unwrap(),
            "{\"p\": \"/a \\\"b\\\"\\n\"}\n"
        );
    }

    #[rstest]
    #[case("list", true)]
    #[case("nothing", false)]
    #[case("x == 'x' and list is not defined", false)]
    fn expressions_hold_or_not(#[case] expression: &str, #[case] expected: bool) {
        let context = context! { x => "x", list => ["a"], nothing => Vec::<String>::new() };
        assert_eq!(holds(expression, &context).unwrap(), expected);
    }

    #[test]
    fn an_expression_that_asks_for_nothing_known_is_an_error() {
        assert!(holds("nope.member", &context! {}).is_err());
        let context = context! { policy => context! { mode => "x" } };
        for expression in ["policy.mod", "policy.mod == 'x'", "policy.mod | reject('eq', 'x')"] {
            assert!(holds(expression, &context).is_err(), "{expression}");
        }
    }

    #[test]
    fn a_chain_without_end_is_refused() {
        let chain = "uid | int ".repeat(20_000);
        for error in [check_rule(&chain), check(&format!("{{{{ {chain} }}}}"))] {
            assert!(error.unwrap_err().contains("more than 1000: split it"));
        }
    }
}
