//! The reference with faults: as it is, but for what one fault breaks.

use std::path::Path;

use super::resolve::{self, BackendError};
use super::{Backend, BackendKind, ChannelParts, SettledUser};

/// The manifest of the reference's channel of receipts.
const CHANNEL: &str = "receipts-reference";

impl Backend {
    /// Returns this backend, which is the reference, with the fault `name`.
    #[must_use]
    pub fn with_fault(&self, name: &str) -> Self {
        let mut faulty = Self { name: name.to_owned(), ..self.clone() };
        let word = format!("--fault={name}");
        match &mut faulty.kind {
            BackendKind::Native { prefix, .. } => prefix.push(word),
            BackendKind::Receipts(manifest) => {
                let parts = manifest.receipts.take();
                // Behind the word that makes this program the reference.
                manifest.receipts = parts.map(|parts| with_word(parts, &word, 1));
            }
            _ => {}
        }
        faulty
    }
}

/// Resolves the channel of receipts of `me`, the running program, without and with faults.
///
/// # Errors
/// A manifest that cannot be used, or a program that cannot be asked.
pub fn own_channel(me: &Path, settled: &SettledUser) -> Result<Backend, BackendError> {
    let Some((mut manifest, known)) = resolve::manifest(CHANNEL)? else {
        unreachable!("{CHANNEL} is shipped")
    };
    manifest.program = me.display().to_string();
    manifest.version.insert(0, resolve::REFERENCE.to_owned());
    manifest.receipts = manifest.receipts.map(|parts| with_word(parts, resolve::REFERENCE, 0));
    resolve::from_manifest(manifest, known, settled)
}

/// Inserts `word`, a line, at line `at` of every part that has a template.
fn with_word(parts: ChannelParts, word: &str, at: usize) -> ChannelParts {
    let with = |part: String| {
        let mut lines: Vec<&str> = part.lines().collect();
        if !lines.is_empty() {
            lines.insert(at, word);
        }
        lines.join("\n")
    };
    ChannelParts {
        daemon: with(parts.daemon),
        relay: with(parts.relay),
        proxy: with(parts.proxy),
        export: with(parts.export),
        verify: with(parts.verify),
        public_key: parts.public_key,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_channel_is_the_reference_with_and_without_a_fault() {
        let sound = own_channel(Path::new("/bin/true"), &SettledUser::own()).unwrap();
        let daemon = |backend: &Backend| match &backend.kind {
            BackendKind::Receipts(manifest) => manifest.receipts.clone().unwrap().daemon,
            _ => unreachable!(),
        };
        assert!(daemon(&sound).starts_with("reference\nreceipts\ndaemon\n"));
        let faulty = daemon(&sound.with_fault("receipts.a"));
        assert!(faulty.starts_with("reference\n--fault=receipts.a\nreceipts\ndaemon\n"));
    }
}
