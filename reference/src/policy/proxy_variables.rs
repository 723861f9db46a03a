//! Variables by which programs find a proxy.

/// They name the proxy; both spellings are in use.
pub(crate) const PROXIES: [&str; 8] = [
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
];
/// Variables that name the hosts without a proxy: the command's own loopback.
pub(crate) const EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// The variable that makes Node read the others (Node 22.21 and 24).
pub(crate) const NODE: &str = "NODE_USE_ENV_PROXY";
/// Options of Java virtual machines, which read none of the others.
pub(crate) const JAVA: &str = "JAVA_TOOL_OPTIONS";
