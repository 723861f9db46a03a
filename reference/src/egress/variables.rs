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
/// They tell programs to go around it, which leads nowhere inside.
pub(crate) const EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];
