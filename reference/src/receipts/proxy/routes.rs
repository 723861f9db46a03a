//! The table of requests that are actions; a request outside the table is an action too.

/// The five families that a receipt's `binding.endpoint` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Command,
    Code,
    Files,
    Directories,
    Pty,
}

impl Family {
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
pub(super) enum Asks {
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
pub(super) enum Shows {
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
pub(super) enum Route {
    /// It is reported.
    Action { action: &'static str, family: Family, asks: Asks, shows: Shows },
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

const fn action(action: &'static str, family: Family, asks: Asks, shows: Shows) -> Route {
    Route::Action { action, family, asks, shows }
}

const EXECUTE: Route =
    action("system.command.execute", Family::Command, Asks::Command, Shows::Exit);
const CODE: Route = action("system.code.execute", Family::Code, Asks::Code, Shows::Results);
const READ: Route = action("filesystem.file.read", Family::Files, Asks::Path, Shows::Content);
const CREATE: Route = action("filesystem.file.create", Family::Files, Asks::Upload, Shows::Done);
const MODIFY: Route = action("filesystem.file.modify", Family::Files, Asks::Upload, Shows::Done);
const CHANGE: Route = action("filesystem.file.modify", Family::Files, Asks::Names, Shows::Nothing);
const MOVE: Route = action("filesystem.file.move", Family::Files, Asks::Moves, Shows::Done);
const DELETE: Route = action("filesystem.file.delete", Family::Files, Asks::Paths, Shows::Deleted);
const LIST: Route =
    action("filesystem.directory.list", Family::Directories, Asks::Path, Shows::Entries);
const MKDIR: Route =
    action("filesystem.directory.create", Family::Directories, Asks::Names, Shows::Done);
const RMDIR: Route =
    action("filesystem.directory.delete", Family::Directories, Asks::Paths, Shows::Deleted);

/// Method, path and route. `{}` is one part that is not empty, `**` is any rest.
const TABLE: &[(&str, &str, Route)] = &[
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
    ("POST", "/pty", Route::PtyNew),
    ("GET", "/pty/{}/ws", Route::PtyAttach),
    ("DELETE", "/pty/{}", Route::PtyEnd),
    ("GET", "/pty/{}", Route::Quiet),
    ("GET", "/ping", Route::Quiet),
    ("GET", "/metrics", Route::Quiet),
    ("GET", "/metrics/**", Route::Quiet),
    ("GET", "/files/info", Route::Quiet),
    ("GET", "/files/search", Route::Quiet),
    ("GET", "/command/status/{}", Route::Quiet),
    ("GET", "/command/{}/logs", Route::Quiet),
    ("GET", "/code/contexts", Route::Quiet),
    ("GET", "/code/contexts/{}", Route::Quiet),
    ("*", "/proxy", Route::Refused),
    ("*", "/proxy/**", Route::Refused),
];

/// Returns the route of a request; `path` is percent-decoded.
pub(super) fn route(method: &str, path: &str) -> Route {
    let path = path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path);
    let found = TABLE
        .iter()
        .find(|(verb, pattern, _)| (*verb == "*" || *verb == method) && fits(pattern, path));
    found.map_or(Route::Unknown, |(_, _, route)| *route)
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
    #[case("POST", "/session//run", Route::Unknown)]
    #[case("DELETE", "/directories", RMDIR)]
    #[case("POST", "/files/mv", MOVE)]
    #[case("POST", "/files/replace", CHANGE)]
    #[case("POST", "/files/permissions", CHANGE)]
    #[case("PUT", "/files", MODIFY)]
    #[case("GET", "/pty/x/ws", Route::PtyAttach)]
    #[case("GET", "/metrics/watch", Route::Quiet)]
    #[case("GET", "/command/status/7", Route::Quiet)]
    #[case("POST", "/proxy/44772/command", Route::Refused)]
    #[case("GET", "/proxy", Route::Refused)]
    #[case("POST", "/ping", Route::Unknown)]
    #[case("POST", "/session", Route::Unknown)]
    #[case("DELETE", "/command", Route::Unknown)]
    #[case("POST", "/COMMAND", Route::Unknown)]
    #[case("POST", "//command", Route::Unknown)]
    #[case("GET", "/", Route::Unknown)]
    fn requests_and_meanings(#[case] method: &str, #[case] path: &str, #[case] means: Route) {
        assert_eq!(route(method, path), means);
    }
}
