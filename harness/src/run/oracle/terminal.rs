//! The launcher's terminal: the output it showed, the input typed into it, and its settings.

use memchr::memmem::find;

use crate::workspace::{ArmTerminal, ArmWorkspace};

pub(super) fn untyped(workspace: &ArmWorkspace) -> (bool, String) {
    match workspace.terminal.as_ref().map(ArmTerminal::typed) {
        Some(Ok(0)) => (true, "nothing was typed".to_owned()),
        Some(Ok(count)) => (false, format!("{count} bytes were typed into the terminal")),
        Some(Err(error)) => (false, format!("the terminal cannot be asked: {error}")),
        None => (false, "there is no terminal".to_owned()),
    }
}

pub(super) fn displayed(text: &str, workspace: &ArmWorkspace) -> (bool, String) {
    let Some(terminal) = &workspace.terminal else {
        return (false, "there is no terminal".to_owned());
    };
    let shown = workspace.neutral(terminal.shown());
    let start = String::from_utf8_lossy(&shown[..shown.len().min(60)]).into_owned();
    (find(&shown, text.as_bytes()).is_some(), format!("it showed {start:?}"))
}

pub(super) fn restored(workspace: &ArmWorkspace) -> (bool, String) {
    match workspace.terminal.as_ref().map(ArmTerminal::changed) {
        Some(Ok(changed)) if changed.is_empty() => (true, "its settings are as before".to_owned()),
        Some(Ok(changed)) => (false, format!("its {} settings differ", changed.join(" and "))),
        Some(Err(error)) => (false, format!("the terminal cannot be asked: {error}")),
        None => (false, "there is no terminal".to_owned()),
    }
}
