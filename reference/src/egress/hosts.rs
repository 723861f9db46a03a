//! Name resolution: a file of the launcher's (hosts(5)) first, then the host's resolver.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use super::host::TargetHost;

/// The variable of the launcher's that names the file.
pub(crate) const VARIABLE: &str = "REFBOX_EGRESS_HOSTS";

/// Names and addresses from a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HostsFile(HashMap<String, Vec<IpAddr>>);

impl HostsFile {
    /// Reads the file that the launcher's environment names, if any.
    ///
    /// # Errors
    ///
    /// One sentence, if it cannot be read or a line is none of hosts(5).
    pub(super) fn of_launcher() -> Result<Self, String> {
        let Some(file) = std::env::var_os(VARIABLE) else { return Ok(Self::default()) };
        let file = Path::new(&file);
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("{VARIABLE}: {}: {error}", file.display()))?;
        Self::read(&text)
            .map_err(|(line, why)| format!("{VARIABLE}: {}:{line}: {why}", file.display()))
    }

    fn read(text: &str) -> Result<Self, (usize, String)> {
        let mut hosts = HashMap::<String, Vec<IpAddr>>::new();
        for (index, line) in text.lines().enumerate() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(address) = words.next() else { continue };
            let odd = |why: String| (index + 1, why);
            let address = address.parse().map_err(|_| odd(format!("`{address}` is no address")))?;
            for name in words {
                match TargetHost::read(name).map_err(|error| odd(error.to_string()))? {
                    TargetHost::Name(name) => hosts.entry(name).or_default().push(address),
                    TargetHost::Address(_) => return Err(odd(format!("`{name}` is no name"))),
                }
            }
        }
        Ok(Self(hosts))
    }

    /// The addresses of `target`, those to try first in front.
    pub(super) async fn addresses(&self, target: &TargetHost) -> io::Result<Vec<IpAddr>> {
        let name = match target {
            TargetHost::Address(address) => return Ok(vec![*address]),
            TargetHost::Name(name) => name,
        };
        match self.0.get(name) {
            Some(addresses) => Ok(addresses.clone()),
            None => {
                Ok(tokio::net::lookup_host((name.as_str(), 0)).await?.map(|to| to.ip()).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_by_line() {
        let hosts = HostsFile::read("# no\n127.0.0.1 a.test B.test. # x\n\n::1\ta.test\n").unwrap();
        let loopback: [IpAddr; 2] = ["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
        assert_eq!(hosts.0["a.test"], loopback);
        assert_eq!(hosts.0["b.test"], loopback[..1]);
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        assert_eq!(
            HostsFile::read("127.0.0.1 a\n1 b\n").unwrap_err(),
            (2, "`1` is no address".to_owned())
        );
        assert_eq!(
            HostsFile::read("::1 1.2.3.4\n").unwrap_err(),
            (1, "`1.2.3.4` is no name".to_owned())
        );
    }
}
