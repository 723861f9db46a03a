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
                manifest.receipts =
                    parts.map(|parts| with_words(parts, &[resolve::REFERENCE, &word]));
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
    resolve::from_manifest(manifest, known, settled)
}

/// Puts `words`, each a line, in front of every part that has a template.
fn with_words(parts: ChannelParts, words: &[&str]) -> ChannelParts {
    let head: String = words.iter().map(|word| format!("{word}\n")).collect();
    let with = |part: String| if part.is_empty() { part } else { format!("{head}{part}") };
    ChannelParts {
        daemon: with(parts.daemon),
        relay: with(parts.relay),
        proxy: with(parts.proxy),
        export: with(parts.export),
        verify: with(parts.verify),
        public_key: parts.public_key,
    }
}
