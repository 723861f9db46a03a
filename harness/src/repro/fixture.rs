//! The fixture as shell commands ([`fixture`]), in the order in which the harness lays it out.

use boxproof_cases::Case;
use boxproof_cases::case::{EntryKind, FixtureEntry};

use super::shell::ScriptShell;
use crate::workspace::{LISTENERS, REPOSITORY_DIRECTORIES, REPOSITORY_FILES};

/// The function `lay`.
pub(super) fn fixture(case: &Case, shell: &ScriptShell) -> Result<String, String> {
    let mut lines = Vec::new();
    let listeners: Vec<&str> = LISTENERS.iter().copied().filter(|name| case.uses(name)).collect();
    if !listeners.is_empty() {
        lines.push(format!("listen {}", listeners.join(" ")));
    }
    if case.uses("VICTIM") {
        lines.push("victim".to_owned());
        lines.push("printf '%s' \"$victim\" >\"$work/VICTIM.address\"".to_owned());
    }
    let is_hardlink = |entry: &FixtureEntry| matches!(entry.kind, EntryKind::Hardlink(_));
    let (last, first): (Vec<_>, Vec<_>) =
        case.fixture.iter().partition(|(_, entry)| is_hardlink(entry));
    for (path, entry) in first.into_iter().chain(last) {
        lines.extend(laid(path, entry, shell));
    }
    for (path, entry) in case.fixture.iter().rev() {
        if let Some(mode) = entry.mode {
            lines.push(format!("mode {mode:04o} {}", shell.place(path)));
        }
    }
    if let Some(line) = &case.prepare {
        // As the launcher's environment has it, so that nothing of the user's own plays a part.
        lines.push(format!(
            "( cd \"$root/ws\" && env -i PATH=\"$PATH\" HOME=\"$root/home\" TMPDIR=\"$root/tmp\" \
             LANG=C LC_ALL=C /bin/sh -c {} </dev/null >/dev/null ) || give_up \"the fixture cannot \
             be prepared\"",
            shell.expanded_line(line)
        ));
    }
    if lines.is_empty() {
        lines.push(":".to_owned());
    }
    let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    Ok(format!("# What is there before the act.\nlay() {{\n{body}}}\n"))
}

fn laid(path: &str, entry: &FixtureEntry, shell: &ScriptShell) -> Vec<String> {
    let place = shell.place(path);
    match &entry.kind {
        EntryKind::File(text) => vec![format!("put {place} {}", shell.expanded(text))],
        EntryKind::Dir => vec![format!("directory {place}")],
        EntryKind::Link(target) => vec![format!("link {} {place}", shell.expanded(target))],
        EntryKind::Hardlink(target) => vec![format!("hard_link {} {place}", shell.place(target))],
        EntryKind::Fifo => vec![format!("pipe {place}")],
        EntryKind::Git => {
            let below = |name: &str| shell.place(&format!("{path}/.git/{name}"));
            let directories =
                REPOSITORY_DIRECTORIES.iter().map(|f| format!("directory {}", below(f)));
            let files = REPOSITORY_FILES
                .iter()
                .map(|(file, text)| format!("put {} {}", below(file), shell.quoted_word(text)));
            directories.chain(files).collect()
        }
    }
}
