//! Parsing of a form to its filter: [`filter`]. Pure.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};

use super::filter::SbplFilter;
use super::reader::SbplForm;
use crate::models::ModelError;

/// Values of parameters, by name.
pub(super) type ParameterValues = BTreeMap<String, String>;

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
pub(super) fn filter(form: &SbplForm, params: &ParameterValues) -> Result<SbplFilter, ModelError> {
    let SbplForm::List(forms, line) = form else {
        return Err(ModelError::Void("a filter is no list".to_owned()));
    };
    let at = |what: &str| format!("line {line}: {what}");
    let (head, rest) =
        forms.split_first().ok_or_else(|| ModelError::Void(at("an empty filter")))?;
    let inner = || rest.iter().map(|form| filter(form, params)).collect::<Result<Vec<_>, _>>();
    match head.as_word().unwrap_or_default() {
        "require-all" => Ok(SbplFilter::All(some(inner()?, *line)?)),
        "require-any" => Ok(SbplFilter::Any(some(inner()?, *line)?)),
        "require-not" => match <[SbplFilter; 1]>::try_from(inner()?) {
            Ok([one]) => Ok(SbplFilter::Not(Box::new(one))),
            Err(_) => Err(ModelError::Void(at("require-not takes one filter"))),
        },
        "remote" => remote(rest, params, *line),
        "local" => Ok(SbplFilter::OwnEnd),
        name if ELSEWHERE.contains(&name) => Ok(SbplFilter::Elsewhere),
        name if UNNAMED.contains(&name) => Ok(SbplFilter::Unnamed),
        name => named(name, rest, params, *line),
    }
}

/// A filter about names: paths or services.
fn named(
    name: &str,
    rest: &[SbplForm],
    params: &ParameterValues,
    line: usize,
) -> Result<SbplFilter, ModelError> {
    let texts = || rest.iter().map(|form| text(form, params, line)).collect::<Result<Vec<_>, _>>();
    let all = |make: &dyn Fn(String) -> Result<SbplFilter, ModelError>| -> Result<SbplFilter, ModelError> {
        some(texts()?.into_iter().map(make).collect::<Result<Vec<_>, _>>()?, line).map(SbplFilter::Any)
    };
    match name {
        "literal" | "path" | "path-literal" => all(&|path| Ok(sound(path, SbplFilter::Literal))),
        "subpath" | "path-subpath" => all(&|path| Ok(sound(path, SbplFilter::Subpath))),
        "prefix" | "path-prefix" => all(&|path| Ok(sound(path, SbplFilter::Prefix))),
        "regex" | "path-regex" => all(&|text| Ok(SbplFilter::Pattern(pattern(&text, line)?))),
        "global-name" => all(&|name| Ok(SbplFilter::Service(name))),
        "global-name-prefix" => all(&|name| Ok(SbplFilter::ServicePrefix(name))),
        "global-name-regex" => all(&|text| Ok(SbplFilter::ServicePattern(pattern(&text, line)?))),
        other => Err(ModelError::Unknown(format!("line {line}: the filter {other:?}"))),
    }
}

fn some(filters: Vec<SbplFilter>, line: usize) -> Result<Vec<SbplFilter>, ModelError> {
    match filters.is_empty() {
        true => Err(ModelError::Void(format!("line {line}: a filter without any part"))),
        false => Ok(filters),
    }
}

/// Returns a string, or one put together from parameters.
///
/// # Errors
/// A parameter without a value, or an expression that is no string.
pub(super) fn text(
    form: &SbplForm,
    params: &ParameterValues,
    line: usize,
) -> Result<String, ModelError> {
    let unknown = |what: String| ModelError::Unknown(format!("line {line}: {what}"));
    let forms = match form {
        SbplForm::Text(text) => return Ok(text.clone()),
        SbplForm::Word(word) => return Err(unknown(format!("the variable {word}"))),
        SbplForm::List(forms, _) => forms,
    };
    match (forms.first().and_then(SbplForm::as_word), &forms[1..]) {
        (Some("param"), [SbplForm::Text(name)]) => params.get(name).cloned().ok_or_else(|| {
            ModelError::Void(format!("line {line}: the parameter {name} has no value"))
        }),
        (Some("string-append"), parts) => {
            parts.iter().map(|part| text(part, params, line)).collect()
        }
        _ => Err(unknown("an expression in place of a string".to_owned())),
    }
}

/// A path that can match is absolute, without `.`, `..` and needless slashes. Of any other one the
/// text does not say what it stands for.
fn sound(path: String, make: fn(String) -> SbplFilter) -> SbplFilter {
    let plain = path == "/"
        || path.strip_prefix('/').is_some_and(|rest| {
            rest.split('/').all(|name| !name.is_empty() && name != "." && name != "..")
        });
    match (plain, path.strip_suffix('/')) {
        (true, _) => make(path),
        // With a slash at its end it may mean the directory, or nothing.
        (false, Some(parent))
            if matches!(sound(parent.to_owned(), make), SbplFilter::Unclear(_)) =>
        {
            SbplFilter::Unclear("/".to_owned())
        }
        (false, Some(parent)) => SbplFilter::Unclear(parent.to_owned()),
        (false, None) => SbplFilter::Unclear("/".to_owned()),
    }
}

/// A pattern. Case cannot be ignored as a whole: the system refuses that, and with it all rules.
fn pattern(text: &str, line: usize) -> Result<Regex, ModelError> {
    let at = |what: String| format!("line {line}: {what}");
    if text.contains("(?") && text.matches("(?").count() != text.matches("(?:").count() {
        return Err(ModelError::Void(at(format!("the pattern {text:?} has a flag"))));
    }
    if backslash_in_class(text) {
        return Err(ModelError::Unknown(at(format!("a backslash in a class of {text:?}"))));
    }
    let built = RegexBuilder::new(text).unicode(false).dot_matches_new_line(true).build();
    built.map_err(|error| ModelError::Void(at(error.to_string())))
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
fn remote(
    forms: &[SbplForm],
    params: &ParameterValues,
    line: usize,
) -> Result<SbplFilter, ModelError> {
    let at = |what: &str| format!("line {line}: {what}");
    let any = || SbplFilter::Remote("*".to_owned(), "*".to_owned());
    match (forms.first().and_then(SbplForm::as_word), &forms[1..]) {
        (Some("unix-socket" | "unix"), []) => {
            Ok(SbplFilter::Sockets(Box::new(SbplFilter::Subpath("/".into()))))
        }
        (Some("unix-socket" | "unix"), [one]) => {
            Ok(SbplFilter::Sockets(Box::new(filter(one, params)?)))
        }
        (Some("ip" | "ip4" | "ip6" | "tcp" | "tcp4" | "tcp6"), []) => Ok(any()),
        // No question is about datagrams.
        (Some("udp" | "udp4" | "udp6"), []) => Ok(SbplFilter::Elsewhere),
        (Some(protocol), [address]) => {
            let about = address_filter(&text(address, params, line)?, line)?;
            match protocol {
                "ip" | "tcp" => Ok(about),
                // It is unknown by which of the two a name is reached.
                "ip4" | "ip6" | "tcp4" | "tcp6" => {
                    Ok(SbplFilter::All(vec![about, SbplFilter::Unnamed]))
                }
                "udp" | "udp4" | "udp6" => Ok(SbplFilter::Elsewhere),
                _ => Err(ModelError::Unknown(at("this kind of remote"))),
            }
        }
        _ => Err(ModelError::Unknown(at("this kind of remote"))),
    }
}

/// A host that is neither `*` nor `localhost`, or a port that is no number, voids the profile.
fn address_filter(address: &str, line: usize) -> Result<SbplFilter, ModelError> {
    let void = |what: &str| ModelError::Void(format!("line {line}: {what} in {address:?}"));
    let (host, port) = address.rsplit_once(':').ok_or_else(|| void("no port"))?;
    if !matches!(host, "*" | "localhost") {
        return Err(void("a host that is neither * nor localhost"));
    }
    let is_number = port.parse::<u16>().is_ok_and(|number| number > 0);
    match port == "*" || is_number {
        true => Ok(SbplFilter::Remote(host.to_owned(), port.to_owned())),
        false => Err(void("a port that is neither * nor a number above 0")),
    }
}
