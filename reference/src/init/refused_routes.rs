//! The packets that found no route out of this process's own network, by the kernel's count.
//!
//! Nothing here allocates: see [`crate::sys::start_beside`].

use rustix::fs::{Mode, OFlags, open};
use rustix::io::read;

use crate::control::UnreachableCounts;

/// The number of bytes read of a file in `/proc/net`: the counters are within them.
const LOOKED_AT: usize = 4096;

/// Returns the count, if this process has a network with a readable count.
pub(super) fn unreached() -> Option<UnreachableCounts> {
    let (mut four, mut six) = ([0; LOOKED_AT], [0; LOOKED_AT]);
    let four = content(c"/proc/net/snmp", &mut four)?;
    // A kernel without IPv6 has no such file.
    let six = content(c"/proc/net/snmp6", &mut six).unwrap_or_default();
    Some(count(four, six))
}

fn content<'a>(path: &std::ffi::CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut length = 0;
    while length < buffer.len() {
        match read(&file, &mut buffer[length..]).ok()? {
            0 => break,
            more => length += more,
        }
    }
    buffer.get(..length)
}

fn count(four: &[u8], six: &[u8]) -> UnreachableCounts {
    let of_four = |protocol, name| in_columns(four, protocol, name).unwrap_or_default();
    let of_six = |name| beside(six, name).unwrap_or_default();
    UnreachableCounts {
        routes: of_four(b"Ip:", b"OutNoRoutes").saturating_add(of_six(b"Ip6OutNoRoutes")),
        ports: of_four(b"Udp:", b"NoPorts").saturating_add(of_six(b"Udp6NoPorts")),
    }
}

/// A number of `snmp`: a line of names, then one of values.
fn in_columns(text: &[u8], protocol: &[u8], name: &[u8]) -> Option<u32> {
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(protocol));
    let mut names = split_fields(lines.next()?);
    let at = names.position(|word| word == name)?;
    number(split_fields(lines.next()?).nth(at)?)
}

/// A number of `snmp6`: a name and its value on each line.
fn beside(text: &[u8], name: &[u8]) -> Option<u32> {
    let mut lines = text.split(|byte| *byte == b'\n').map(split_fields);
    let mut found = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
    number(found.next()?)
}

fn split_fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn number(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: &[u8] = b"Ip: Forwarding InDelivers OutDiscards OutNoRoutes ReasmTimeout\n\
        Ip: 2 7 1 3 0\nIcmp: InMsgs\nIcmp: 0\nUdp: InDatagrams NoPorts\nUdp: 5 2\n";
    const SIX: &[u8] =
        b"Ip6InReceives                   \t9\nIp6OutNoRoutes                  \t4\n\
        Udp6NoPorts                     \t1\n";

    #[test]
    fn both_families_count() {
        assert_eq!(count(FOUR, SIX), UnreachableCounts { routes: 7, ports: 3 });
        assert_eq!(count(FOUR, b""), UnreachableCounts { routes: 3, ports: 2 });
    }

    #[test]
    fn what_is_no_such_file_counts_nothing() {
        assert_eq!(count(b"Ip: OutNoRoutes\n", b"Ip6OutNoRoutes\n"), UnreachableCounts::default());
        assert_eq!(count(b"Ip: OutNoRoutes\nIp: x\n", b"\xff\n"), UnreachableCounts::default());
    }

    /// Checks, where the kernel counts, that the buffer is long enough for the counters.
    #[test]
    #[cfg(target_os = "linux")]
    fn this_network_is_counted() {
        assert!(unreached().is_some());
        let mut buffer = [0; LOOKED_AT];
        let six = content(c"/proc/net/snmp6", &mut buffer).unwrap_or_default();
        assert!(six.is_empty() || beside(six, b"Udp6NoPorts").is_some());
    }
}
