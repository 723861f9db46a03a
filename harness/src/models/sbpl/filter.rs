//! What a rule of a Seatbelt profile is about: [`Filter`], and whether an object is among it. Pure.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};

use super::read::Form;
use crate::models::Flaw;

/// What one operation is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object<'a> {
    /// A path without links.
    Path(&'a str),
    /// The other end of a connection: host and port.
    Remote(&'a str, &'a str),
    /// A unix socket by its path.
    Socket(&'a str),
    /// A Mach service.
    Service(&'a str),
}

/// Which objects a rule is about.
#[derive(Debug, Clone)]
pub(super) enum Filter {
    Literal(String),
    Subpath(String),
    Prefix(String),
    Pattern(Regex),
    Service(String),
    ServicePrefix(String),
    /// Host and port, `*` for any.
    Remote(String, String),
    /// Unix sockets, those that the inner filter is about.
    Sockets(Box<Filter>),
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    /// About nothing that is tried here: another process, a kernel setting, a device class.
    Elsewhere,
}

impl Filter {
    /// Whether `object` is among it.
    pub(super) fn has(&self, object: Object<'_>) -> bool {
        let path = match object {
            Object::Path(path) | Object::Socket(path) => Some(path),
            _ => None,
        };
        match self {
            Self::Literal(text) => path == Some(text),
            Self::Subpath(text) => path.is_some_and(|path| below(path, text)),
            Self::Prefix(text) => path.is_some_and(|path| path.starts_with(text.as_str())),
            Self::Pattern(regex) => path.is_some_and(|path| regex.is_match(path.as_bytes())),
            Self::Service(name) => object == Object::Service(name),
            Self::ServicePrefix(text) => {
                matches!(object, Object::Service(name) if name.starts_with(text.as_str()))
            }
            Self::Remote(host, port) => matches!(object, Object::Remote(h, p)
                if (host == "*" || is_local(h)) && (port == "*" || port == p)),
            Self::Sockets(inner) => matches!(object, Object::Socket(_)) && inner.has(object),
            Self::All(filters) => filters.iter().all(|filter| filter.has(object)),
            Self::Any(filters) => filters.iter().any(|filter| filter.has(object)),
            Self::Not(filter) => !filter.has(object),
            Self::Elsewhere => false,
        }
    }
}

fn below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "[::1]")
}

/// Values of parameters, by name.
pub(super) type Params = BTreeMap<String, String>;

/// The filter that `form` writes.
pub(super) fn filter(form: &Form, params: &Params) -> Result<Filter, Flaw> {
    let Form::List(forms, line) = form else {
        return Err(Flaw::Void("a filter is no list".to_owned()));
    };
    let at = |what: &str| format!("line {line}: {what}");
    let (head, rest) = forms.split_first().ok_or_else(|| Flaw::Void(at("an empty filter")))?;
    let inner = || rest.iter().map(|form| filter(form, params)).collect::<Result<Vec<_>, _>>();
    let texts = || rest.iter().map(|form| text(form, params, *line)).collect::<Result<Vec<_>, _>>();
    let paths = |make: fn(String) -> Filter| -> Result<Filter, Flaw> {
        let all = texts()?.into_iter().map(|path| Ok(make(sound(path, *line)?)));
        several(all.collect::<Result<_, Flaw>>()?, *line)
    };
    match head.word().unwrap_or_default() {
        "literal" | "path" | "path-literal" => paths(Filter::Literal),
        "subpath" => paths(Filter::Subpath),
        "prefix" => paths(Filter::Prefix),
        "regex" | "path-regex" => {
            let all = texts()?.into_iter().map(|text| pattern(&text, *line));
            several(all.collect::<Result<_, Flaw>>()?, *line)
        }
        "global-name" => several(texts()?.into_iter().map(Filter::Service).collect(), *line),
        "global-name-prefix" => {
            several(texts()?.into_iter().map(Filter::ServicePrefix).collect(), *line)
        }
        "require-all" => Ok(Filter::All(some(inner()?, *line)?)),
        "require-any" => Ok(Filter::Any(some(inner()?, *line)?)),
        "require-not" => match <[Filter; 1]>::try_from(inner()?) {
            Ok([one]) => Ok(Filter::Not(Box::new(one))),
            Err(_) => Err(Flaw::Void(at("require-not takes one filter"))),
        },
        "remote" => remote(rest, params, *line),
        "local"
        | "target"
        | "sysctl-name"
        | "sysctl-name-prefix"
        | "iokit-user-client-class"
        | "iokit-registry-entry-class"
        | "mac-policy-name"
        | "ipc-posix-name"
        | "ipc-posix-name-regex"
        | "socket-domain"
        | "preference-domain"
        | "extension"
        | "local-name"
        | "syscall-number"
        | "mac-syscall-number" => Ok(Filter::Elsewhere),
        other => Err(Flaw::Unknown(at(&format!("the filter {other:?}")))),
    }
}

fn some(filters: Vec<Filter>, line: usize) -> Result<Vec<Filter>, Flaw> {
    match filters.is_empty() {
        true => Err(Flaw::Void(format!("line {line}: a filter without any part"))),
        false => Ok(filters),
    }
}

fn several(filters: Vec<Filter>, line: usize) -> Result<Filter, Flaw> {
    some(filters, line).map(Filter::Any)
}

/// A string, or one put together from parameters.
fn text(form: &Form, params: &Params, line: usize) -> Result<String, Flaw> {
    let unknown = |what: String| Flaw::Unknown(format!("line {line}: {what}"));
    let Form::List(forms, _) = form else {
        return match form {
            Form::Text(text) => Ok(text.clone()),
            other => Err(Flaw::Void(format!("line {line}: {other:?} is no string"))),
        };
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

/// A path that can match: absolute, without `.`, `..` and needless slashes.
fn sound(path: String, line: usize) -> Result<String, Flaw> {
    let plain = path == "/"
        || path.strip_prefix('/').is_some_and(|rest| {
            rest.split('/').all(|name| !name.is_empty() && name != "." && name != "..")
        });
    match plain {
        true => Ok(path),
        false => Err(Flaw::Unknown(format!("line {line}: what the path {path:?} stands for"))),
    }
}

/// A pattern. Case cannot be ignored as a whole: the system refuses that, and with it all rules.
fn pattern(text: &str, line: usize) -> Result<Filter, Flaw> {
    let at = |what: String| format!("line {line}: {what}");
    if text.contains("(?") && text.matches("(?").count() != text.matches("(?:").count() {
        return Err(Flaw::Void(at(format!("the pattern {text:?} has a flag"))));
    }
    if backslash_in_class(text) {
        return Err(Flaw::Unknown(at(format!("a backslash in a class of {text:?}"))));
    }
    let built = RegexBuilder::new(text).unicode(false).dot_matches_new_line(true).build();
    built.map(Filter::Pattern).map_err(|error| Flaw::Void(at(error.to_string())))
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

/// `(remote ip "host:port")` or `(remote unix-socket …)`.
fn remote(forms: &[Form], params: &Params, line: usize) -> Result<Filter, Flaw> {
    let at = |what: &str| format!("line {line}: {what}");
    match (forms.first().and_then(Form::word), &forms[1..]) {
        (Some("unix-socket"), []) => Ok(Filter::Sockets(Box::new(Filter::Subpath("/".into())))),
        (Some("unix-socket"), [one]) => Ok(Filter::Sockets(Box::new(filter(one, params)?))),
        (Some("ip" | "tcp" | "udp"), [Form::Text(address)]) => address_filter(address, line),
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
