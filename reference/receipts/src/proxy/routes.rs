//! The table of requests that are actions; a request outside the table is an action too.

/// The five families that a receipt's `binding.endpoint` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndpointFamily {
    Command,
    Code,
    Files,
    Directories,
    Pty,
}

impl EndpointFamily {
    /// The name of the tool.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Code => "code",
            Self::Files => "files",
            Self::Directories => "directories",
            Self::Pty => "pty",
        }
    }
}

/// The part of a request that names its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputSource {
    /// A JSON body with `command`.
    Command,
    /// A JSON body with `code`.
    Code,
    /// One `path` of the query.
    Path,
    /// Every `path` of the query.
    Paths,
    /// A JSON body whose member names are paths.
    Names,
    /// A JSON body that lists `src` and `dest`.
    Moves,
    /// A multipart body, or a plain one with a `path` in the query.
    Upload,
}

/// The outcome that an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutcomeSource {
    /// Events that end with an exit code.
    Exit,
    /// Events of a kernel.
    Results,
    /// A file's bytes.
    Content,
    /// A list of entries.
    Entries,
    /// Nothing but success.
    Done,
    /// Nothing, not even whether the file was written.
    Nothing,
    /// The failed one of several paths.
    Deleted,
}

/// The treatment of a request by the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestRoute {
    /// It is reported.
    Action { action: &'static str, family: EndpointFamily, asks: InputSource, shows: OutcomeSource },
    /// A record of a terminal is made.
    PtyNew,
    /// A client attaches to a terminal.
    PtyAttach,
    /// A terminal is ended.
    PtyEnd,
    /// It only reads; it is not reported.
    Quiet,
    /// It is not let through.
    Refused,
    /// Its effect is unknown, so an event is reported.
    Unknown,
}

const fn action(
    action: &'static str,
    family: EndpointFamily,
    asks: InputSource,
    shows: OutcomeSource,
) -> RequestRoute {
    RequestRoute::Action { action, family, asks, shows }
}

const EXECUTE: RequestRoute = action(
    "system.command.execute",
    EndpointFamily::Command,
    InputSource::Command,
    OutcomeSource::Exit,
);
const CODE: RequestRoute =
    action("system.code.execute", EndpointFamily::Code, InputSource::Code, OutcomeSource::Results);
const READ: RequestRoute = action(
    "filesystem.file.read",
    EndpointFamily::Files,
    InputSource::Path,
    OutcomeSource::Content,
);
const CREATE: RequestRoute = action(
    "filesystem.file.create",
    EndpointFamily::Files,
    InputSource::Upload,
    OutcomeSource::Done,
);
const MODIFY: RequestRoute = action(
    "filesystem.file.modify",
    EndpointFamily::Files,
    InputSource::Upload,
    OutcomeSource::Done,
);
const CHANGE: RequestRoute = action(
    "filesystem.file.modify",
    EndpointFamily::Files,
    InputSource::Names,
    OutcomeSource::Nothing,
);
const MOVE: RequestRoute =
    action("filesystem.file.move", EndpointFamily::Files, InputSource::Moves, OutcomeSource::Done);
const DELETE: RequestRoute = action(
    "filesystem.file.delete",
    EndpointFamily::Files,
    InputSource::Paths,
    OutcomeSource::Deleted,
);
const LIST: RequestRoute = action(
    "filesystem.directory.list",
    EndpointFamily::Directories,
    InputSource::Path,
    OutcomeSource::Entries,
);
const MKDIR: RequestRoute = action(
    "filesystem.directory.create",
    EndpointFamily::Directories,
    InputSource::Names,
    OutcomeSource::Done,
);
const RMDIR: RequestRoute = action(
    "filesystem.directory.delete",
    EndpointFamily::Directories,
    InputSource::Paths,
    OutcomeSource::Deleted,
);

/// Method, path and route. `{}` is one part that is not empty, `**` is any rest.
const TABLE: &[(&str, &str, RequestRoute)] = &[
    ("POST", "/command", EXECUTE),
    ("POST", "/session/{}/run", EXECUTE),
    ("POST", "/code", CODE),
    ("GET", "/files/download", READ),
    ("GET", "/files", READ),
    ("POST", "/files/upload", CREATE),
    ("POST", "/files", CREATE),
    ("PUT", "/files", MODIFY),
    ("POST", "/files/replace", CHANGE),
    ("POST", "/files/permissions", CHANGE),
    ("POST", "/files/mv", MOVE),
    ("DELETE", "/files", DELETE),
    ("GET", "/directories/list", LIST),
    ("GET", "/directories", LIST),
    ("POST", "/directories", MKDIR),
    ("DELETE", "/directories", RMDIR),
    ("POST", "/pty", RequestRoute::PtyNew),
    ("GET", "/pty/{}/ws", RequestRoute::PtyAttach),
    ("DELETE", "/pty/{}", RequestRoute::PtyEnd),
    ("GET", "/pty/{}", RequestRoute::Quiet),
    ("GET", "/ping", RequestRoute::Quiet),
    ("GET", "/metrics", RequestRoute::Quiet),
    ("GET", "/metrics/**", RequestRoute::Quiet),
    ("GET", "/files/info", RequestRoute::Quiet),
    ("GET", "/files/search", RequestRoute::Quiet),
    ("GET", "/command/status/{}", RequestRoute::Quiet),
    ("GET", "/command/{}/logs", RequestRoute::Quiet),
    ("GET", "/code/contexts", RequestRoute::Quiet),
    ("GET", "/code/contexts/{}", RequestRoute::Quiet),
    ("*", "/proxy", RequestRoute::Refused),
    ("*", "/proxy/**", RequestRoute::Refused),
];

/// Returns the route of a request; `path` is percent-decoded.
pub(super) fn route(method: &str, path: &str) -> RequestRoute {
    let path = path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path);
    let untold = |pattern: &str| match pattern {
        "/session/{}/run" => fault!("receipts.sessions-untold"),
        "/files/permissions" => fault!("receipts.permissions-untold"),
        "/proxy" | "/proxy/**" => fault!("receipts.port-proxy-open"),
        "/directories" => fault!("receipts.directories-untold"),
        "/files/mv" => fault!("receipts.moves-untold"),
        _ => false,
    };
    let found = TABLE
        .iter()
        .find(|(verb, pattern, _)| (*verb == "*" || *verb == method) && fits(pattern, path));
    match found {
        Some((_, pattern, _)) if untold(pattern) => RequestRoute::Quiet,
        None if fault!("receipts.unknown-untold") => RequestRoute::Quiet,
        found => found.map_or(RequestRoute::Unknown, |(_, _, route)| *route),
    }
}

fn fits(pattern: &str, path: &str) -> bool {
    let (mut parts, mut found) = (pattern.split('/'), path.split('/'));
    loop {
        match (parts.next(), found.next()) {
            (None, None) | (Some("**"), Some(_)) => return true,
            (Some("{}"), Some(part)) if !part.is_empty() => {}
            (Some(one), Some(other)) if one == other => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("POST", "/command", EXECUTE)]
    #[case("POST", "/command/", EXECUTE)]
    #[case("POST", "/session/s1/run", EXECUTE)]
    #[case("POST", "/session//run", RequestRoute::Unknown)]
    #[case("DELETE", "/directories", RMDIR)]
    #[case("POST", "/files/mv", MOVE)]
    #[case("POST", "/files/replace", CHANGE)]
    #[case("POST", "/files/permissions", CHANGE)]
    #[case("PUT", "/files", MODIFY)]
    #[case("GET", "/pty/x/ws", RequestRoute::PtyAttach)]
    #[case("GET", "/metrics/watch", RequestRoute::Quiet)]
    #[case("GET", "/command/status/7", RequestRoute::Quiet)]
    #[case("POST", "/proxy/44772/command", RequestRoute::Refused)]
    #[case("GET", "/proxy", RequestRoute::Refused)]
    #[case("POST", "/ping", RequestRoute::Unknown)]
    #[case("POST", "/session", RequestRoute::Unknown)]
    #[case("DELETE", "/command", RequestRoute::Unknown)]
    #[case("POST", "/COMMAND", RequestRoute::Unknown)]
    #[case("POST", "//command", RequestRoute::Unknown)]
    #[case("GET", "/", RequestRoute::Unknown)]
    fn requests_and_meanings(
        #[case] method: &str,
        #[case] path: &str,
        #[case] means: RequestRoute,
    ) {
        assert_eq!(route(method, path), means);
    }
}
