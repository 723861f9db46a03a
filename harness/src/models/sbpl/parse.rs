//! Parsing of a form to its filter: [`filter`]. Pure.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};

use super::filter::Filter;
use super::read::Form;
use crate::models::Flaw;

/// Values of parameters, by name.
pub(super) type Params = BTreeMap<String, String>;

/// Filters about objects that no question here is about.
const ELSEWHERE: &[&str] = &[
    "appleevent-destination",
    "control-name",
    "debug-mode",
    "device-conforms-to",
    "device-major",
    "device-minor",
    "extension",
    "extension-class",
    "fsctl-command",
    "global-name-issue",
    "info-type",
    "ioctl-command",
    "iokit-connection",
    "iokit-property",
    "iokit-property-regex",
    "iokit-registry-entry-class",
    "iokit-user-client-class",
    "ipc-posix-name",
    "ipc-posix-name-prefix",
    "ipc-posix-name-regex",
    "kernel-mig-routine",
    "kext-bundle-id",
    "local-name",
    "local-name-prefix",
    "local-name-regex",
    "mac-policy-name",
    "mac-syscall-number",
    "machtrap-number",
    "notification-name",
    "nvram-variable",
    "preference-domain",
    "privilege-id",
    "reboot-flags",
    "right-name",
    "semaphore-owner",
    "socket-option-level",
    "socket-option-name",
    "storage-class",
    "syscall-number",
    "sysctl-name",
    "sysctl-name-prefix",
    "sysctl-name-regex",
    "target",
    "xpc-service-name",
    "xpc-service-name-prefix",
    "xpc-service-name-regex",
];

/// Filters about something that the name of a path, host or service does not tell.
const UNNAMED: &[&str] = &[
    "csr",
    "entitlement-is-bool-true",
    "entitlement-is-present",
    "entitlement-value",
    "file-attribute",
    "file-mode",
    "process-attribute",
    "process-path",
    "require-entitlement",
    "signing-identifier",
    "socket-domain",
    "socket-protocol",
    "socket-type",
    "system-attribute",
    "uid",
    "vnode-type",
];

/// Returns the filter that `form` writes.
///
/// # Errors
/// Returns an error when the system would refuse it, or the model does not know it.
pub(super) fn filter(form: &Form, params: &Params) -> Result<Filter, Flaw> {
    let Form::List(forms, line) = form else {
        return Err(Flaw::Void("a filter is no list".to_owned()));
    };
    let at = |what: &str| format!("line {line}: {what}");
    let (head, rest) = forms.split_first().ok_or_else(|| Flaw::Void(at("an empty filter")))?;
    let inner = || rest.iter().map(|form| filter(form, params)).collect::<Result<Vec<_>, _>>();
    match head.word().unwrap_or_default() {
        "require-all" => Ok(Filter::All(some(inner()?, *line)?)),
        "require-any" => Ok(Filter::Any(some(inner()?, *line)?)),
        "require-not" => match <[Filter; 1]>::try_from(inner()?) {
            Ok([one]) => Ok(Filter::Not(Box::new(one))),
            Err(_) => Err(Flaw::Void(at("require-not takes one filter"))),
        },
        "remote" => remote(rest, params, *line),
        "local" => Ok(Filter::OwnEnd),
        name if ELSEWHERE.contains(&name) => Ok(Filter::Elsewhere),
        name if UNNAMED.contains(&name) => Ok(Filter::Unnamed),
        name => named(name, rest, params, *line),
    }
}

/// A filter about names: paths or services.
fn named(name: &str, rest: &[Form], params: &Params, line: usize) -> Result<Filter, Flaw> {
    let texts = || rest.iter().map(|form| text(form, params, line)).collect::<Result<Vec<_>, _>>();
    let all = |make: &dyn Fn(String) -> Result<Filter, Flaw>| -> Result<Filter, Flaw> {
        some(texts()?.into_iter().map(make).collect::<Result<Vec<_>, _>>()?, line).map(Filter::Any)
    };
    match name {
        "literal" | "path" | "path-literal" => all(&|path| Ok(sound(path, Filter::Literal))),
        "subpath" | "path-subpath" => all(&|path| Ok(sound(path, Filter::Subpath))),
        "prefix" | "path-prefix" => all(&|path| Ok(sound(path, Filter::Prefix))),
        "regex" | "path-regex" => all(&|text| Ok(Filter::Pattern(pattern(&text, line)?))),
        "global-name" => all(&|name| Ok(Filter::Service(name))),
        "global-name-prefix" => all(&|name| Ok(Filter::ServicePrefix(name))),
        "global-name-regex" => all(&|text| Ok(Filter::ServicePattern(pattern(&text, line)?))),
        other => Err(Flaw::Unknown(format!("line {line}: the filter {other:?}"))),
    }
}

fn some(filters: Vec<Filter>, line: usize) -> Result<Vec<Filter>, Flaw> {
    match filters.is_empty() {
        true => Err(Flaw::Void(format!("line {line}: a filter without any part"))),
        false => Ok(filters),
    }
}

/// Returns a string, or one put together from parameters.
///
/// # Errors
/// A parameter without a value, or an expression that is no string.
pub(super) fn text(form: &Form, params: &Params, line: usize) -> Result<String, Flaw> {
    let unknown = |what: String| Flaw::Unknown(format!("line {line}: {what}"));
    let forms = match form {
        Form::Text(text) => return Ok(text.clone()),
        Form::Word(word) => return Err(unknown(format!("the variable {word}"))),
        Form::List(forms, _) => forms,
    };
    match (forms.first().and_then(Form::word), &forms[1..]) {
        (Some("param"), [Form::Text(name)]) => params
            .get(name)
            .cloned()
            .ok_or_else(|| Flaw::Void(format!("line {line}: the parameter {name} has no value"))),
        (Some("string-append"), parts) => {
            parts.iter().map(|part| text(part, params, line)).collect()
        }
        _ => Err(unknown("an expression in place of a string".to_owned())),
    }
}

/// A path that can match is absolute, without `.`, `..` and needless slashes. Of any other one the
/// text does not say what it stands for.
fn sound(path: String, make: fn(String) -> Filter) -> Filter {
    let plain = path == "/"
        || path.strip_prefix('/').is_some_and(|rest| {
            rest.split('/').all(|name| !name.is_empty() && name != "." && name != "..")
        });
    match (plain, path.strip_suffix('/')) {
        (true, _) => make(path),
        // With a slash at its end it may mean the directory, or nothing.
        (false, Some(parent)) if matches!(sound(parent.to_owned(), make), Filter::Unclear(_)) => {
            Filter::Unclear("/".to_owned())
        }
        (false, Some(parent)) => Filter::Unclear(parent.to_owned()),
        (false, None) => Filter::Unclear("/".to_owned()),
    }
}

/// A pattern. Case cannot be ignored as a whole: the system refuses that, and with it all rules.
fn pattern(text: &str, line: usize) -> Result<Regex, Flaw> {
    let at = |what: String| format!("line {line}: {what}");
    if text.contains("(?") && text.matches("(?").count() != text.matches("(?:").count() {
        return Err(Flaw::Void(at(format!("the pattern {text:?} has a flag"))));
    }
    if backslash_in_class(text) {
        return Err(Flaw::Unknown(at(format!("a backslash in a class of {text:?}"))));
    }
    let built = RegexBuilder::new(text).unicode(false).dot_matches_new_line(true).build();
    built.map_err(|error| Flaw::Void(at(error.to_string())))
}

fn backslash_in_class(text: &str) -> bool {
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            '\\' if inside => return true,
            '\\' => {
                escaped = !escaped;
                continue;
            }
            '[' if !escaped => inside = true,
            ']' if !escaped => inside = false,
            _ => {}
        }
        escaped = false;
    }
    false
}

/// Parses `(remote ip "host:port")`, `(remote tcp)` or `(remote unix-socket …)`.
fn remote(forms: &[Form], params: &Params, line: usize) -> Result<Filter, Flaw> {
    let at = |what: &str| format!("line {line}: {what}");
    let any = || Filter::Remote("*".to_owned(), "*".to_owned());
    match (forms.first().and_then(Form::word), &forms[1..]) {
        (Some("unix-socket" | "unix"), []) => {
            Ok(Filter::Sockets(Box::new(Filter::Subpath("/".into()))))
        }
        (Some("unix-socket" | "unix"), [one]) => {
            Ok(Filter::Sockets(Box::new(filter(one, params)?)))
        }
        (Some("ip" | "ip4" | "ip6" | "tcp" | "tcp4" | "tcp6"), []) => Ok(any()),
        // No question is about datagrams.
        (Some("udp" | "udp4" | "udp6"), []) => Ok(Filter::Elsewhere),
        (Some(protocol), [address]) => {
            let about = address_filter(&text(address, params, line)?, line)?;
            match protocol {
                "ip" | "tcp" => Ok(about),
                // It is unknown by which of the two a name is reached.
                "ip4" | "ip6" | "tcp4" | "tcp6" => Ok(Filter::All(vec![about, Filter::Unnamed])),
                "udp" | "udp4" | "udp6" => Ok(Filter::Elsewhere),
                _ => Err(Flaw::Unknown(at("this kind of remote"))),
            }
        }
        _ => Err(Flaw::Unknown(at("this kind of remote"))),
    }
}

/// A host that is neither `*` nor `localhost`, or a port that is no number, voids the profile.
fn address_filter(address: &str, line: usize) -> Result<Filter, Flaw> {
    let void = |what: &str| Flaw::Void(format!("line {line}: {what} in {address:?}"));
    let (host, port) = address.rsplit_once(':').ok_or_else(|| void("no port"))?;
    if !matches!(host, "*" | "localhost") {
        return Err(void("a host that is neither * nor localhost"));
    }
    let is_number = port.parse::<u16>().is_ok_and(|number| number > 0);
    match port == "*" || is_number {
        true => Ok(Filter::Remote(host.to_owned(), port.to_owned())),
        false => Err(void("a port that is neither * nor a number above 0")),
    }
}
