//! Filters of rules in a Seatbelt profile: [`SbplFilter`], and whether an object matches it. Pure.

use regex::bytes::Regex;

/// The object of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationObject<'a> {
    /// A path without links.
    Path(&'a str),
    /// The other end of a TCP connection: host and port.
    Remote(&'a str, &'a str),
    /// A unix socket by its path.
    Socket(&'a str),
    /// A Mach service.
    Service(&'a str),
}

impl OperationObject<'_> {
    fn path(&self) -> Option<&str> {
        match self {
            Self::Path(path) | Self::Socket(path) => Some(path),
            _ => None,
        }
    }
}

/// The result of matching a filter with an object. The order is that of `and`: the smaller of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FilterMatch {
    No,
    /// The object's name does not tell.
    Maybe,
    Yes,
}

impl From<bool> for FilterMatch {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// The objects that a rule is about.
#[derive(Debug, Clone)]
pub(super) enum SbplFilter {
    Literal(String),
    Subpath(String),
    Prefix(String),
    Pattern(Regex),
    Service(String),
    ServicePrefix(String),
    ServicePattern(Regex),
    /// Host and port, `*` for any.
    Remote(String, String),
    /// Unix sockets, those that the inner filter is about.
    Sockets(Box<SbplFilter>),
    All(Vec<SbplFilter>),
    Any(Vec<SbplFilter>),
    Not(Box<SbplFilter>),
    /// Objects that no deed here touches: another process, a kernel setting, a device class.
    Elsewhere,
    /// Connections by their own end, which the name of the other one does not tell.
    OwnEnd,
    /// Objects of every kind, by a property that their names do not tell: the type of a file,
    /// an entitlement of the process.
    Unnamed,
    /// A path of which the text does not say what it stands for; the directory that it is in.
    Unclear(String),
    /// The objects of the system's own profiles.
    System,
}

impl SbplFilter {
    /// Matches `object` with the filter.
    pub(super) fn has(&self, object: OperationObject<'_>) -> FilterMatch {
        let path = |test: &dyn Fn(&str) -> bool| object.path().is_some_and(test).into();
        match self {
            Self::Literal(text) => path(&|path| path == text),
            Self::Subpath(text) => path(&|path| is_below(path, text)),
            Self::Prefix(text) => path(&|path| path.starts_with(text.as_str())),
            Self::Pattern(regex) => path(&|path| regex.is_match(path.as_bytes())),
            Self::Service(_) | Self::ServicePrefix(_) | Self::ServicePattern(_) => {
                matches!(object, OperationObject::Service(name) if self.has_service(name)).into()
            }
            Self::Remote(host, port) => matches!(object, OperationObject::Remote(h, p)
                if (host == "*" || is_local(h)) && (port == "*" || port == p))
            .into(),
            Self::Sockets(inner) => match object {
                OperationObject::Socket(_) => inner.has(object),
                _ => FilterMatch::No,
            },
            Self::All(all) => all.iter().map(|f| f.has(object)).min().unwrap_or(FilterMatch::Yes),
            Self::Any(any) => any.iter().map(|f| f.has(object)).max().unwrap_or(FilterMatch::No),
            Self::Not(filter) => match filter.has(object) {
                FilterMatch::Yes => FilterMatch::No,
                FilterMatch::Maybe => FilterMatch::Maybe,
                FilterMatch::No => FilterMatch::Yes,
            },
            Self::Elsewhere => FilterMatch::No,
            Self::OwnEnd => match object {
                OperationObject::Remote(..) | OperationObject::Socket(_) => FilterMatch::Maybe,
                _ => FilterMatch::No,
            },
            Self::Unnamed => FilterMatch::Maybe,
            Self::Unclear(parent) => match object.path() {
                Some(path) if is_below(path, parent) => FilterMatch::Maybe,
                _ => FilterMatch::No,
            },
            Self::System => is_of_the_system(object),
        }
    }

    fn has_service(&self, name: &str) -> bool {
        match self {
            Self::Service(text) => name == text,
            Self::ServicePrefix(text) => name.starts_with(text.as_str()),
            Self::ServicePattern(regex) => regex.is_match(name.as_bytes()),
            _ => false,
        }
    }
}

/// Places that the system's own profiles open in part.
const SYSTEM: [&str; 9] = [
    "/AppleInternal",
    "/Library",
    "/System",
    "/bin",
    "/dev",
    "/private/etc",
    "/private/var",
    "/sbin",
    "/usr",
];

/// The system's profiles name services, devices, libraries, settings and the sockets of system
/// services; they open no host and nothing of a user.
fn is_of_the_system(object: OperationObject<'_>) -> FilterMatch {
    match object {
        OperationObject::Service(_) => FilterMatch::Maybe,
        OperationObject::Remote(..) => FilterMatch::No,
        OperationObject::Path("/") => FilterMatch::Maybe,
        OperationObject::Path(path) | OperationObject::Socket(path) => {
            match SYSTEM.iter().any(|place| is_below(path, place)) && !is_scratch(path) {
                true => FilterMatch::Maybe,
                false => FilterMatch::No,
            }
        }
    }
}

/// Returns whether `path` lies where programs keep files of their own, about which no system
/// profile has rules.
fn is_scratch(path: &str) -> bool {
    ["/private/var/cache", "/private/var/folders", "/private/var/tmp", "/private/var/root"]
        .iter()
        .any(|place| is_below(path, place))
}

pub(super) fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::is_scratch;

    /// The temporary directory of a user is below `/private/var/folders` (confstr(3),
    /// `_CS_DARWIN_USER_TEMP_DIR`).
    #[test]
    fn temporary_directories_of_macos_are_scratch() {
        assert!(is_scratch("/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/f"));
        assert!(!is_scratch("/private/var/db/f") && !is_scratch("/private/var/foldersx/f"));
    }
}
