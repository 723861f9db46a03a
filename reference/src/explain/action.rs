//! The suggested action for a denial, in the terms of the document that the rules were written in.
//! Pure.

use std::path::Path;

use boxproof_cases::protocol::Blocked;

use super::rule::Rule;

/// The language of a run's rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// This project's own policy.
    #[default]
    Neutral,
    Inferoa,
    Caliban,
    Orbit,
}

/// Replaces the action in `blocked` by one with the keys of the reader's dialect; `ungranted` is
/// the reason why the command's line was granted no git metadata.
pub(crate) fn in_words(blocked: Blocked, dialect: Dialect, ungranted: Option<&str>) -> Blocked {
    let git = blocked.rule == Rule::GitMetadata.word();
    let alone = ungranted.filter(|_| git && !steers(&blocked)).map(|why| {
        format!("Run the git command as a line of its own, which is granted by itself; this one was not: {why}.")
    });
    let action = alone.or_else(|| of_dialect(&blocked, dialect)).or(blocked.suggested_action);
    Blocked { suggested_action: action, ..blocked }
}

/// Returns whether the denial is about git's settings or hooks, which no rule opens.
fn steers(blocked: &Blocked) -> bool {
    let steering = Rule::GitSteering.action();
    blocked.suggested_action.as_deref() == Some(steering)
}

fn of_dialect(blocked: &Blocked, dialect: Dialect) -> Option<String> {
    let is = |rule: Rule| blocked.rule == rule.word();
    let place = || {
        directory(blocked).map_or_else(|| "its directory".to_owned(), |at| at.display().to_string())
    };
    let path = || {
        blocked
            .path
            .as_ref()
            .map_or_else(|| "the path".to_owned(), |path| path.as_path().display().to_string())
    };
    let text = match dialect {
        Dialect::Neutral if is(Rule::OutsideWrite) => {
            format!("Write inside the workspace or a temporary directory, or add {} to policy.writable in mode workspace_write.", place())
        }
        Dialect::Inferoa if is(Rule::OutsideWrite) => {
            format!("Write inside the workspace or /tmp, or add {} to sandbox.extra_writable_roots in mode workspace_write.", place())
        }
        Dialect::Caliban if is(Rule::OutsideWrite) => {
            format!("Write inside the workspace or /tmp, or add \"{}\" to filesystem.allow_write.", place())
        }
        Dialect::Orbit if is(Rule::OutsideWrite) => {
            "Write inside the workspace: a profile grants nothing outside it.".to_owned()
        }
        Dialect::Inferoa if is(Rule::NetworkRestricted) => {
            "Set sandbox.network to enabled if this command should reach the network.".to_owned()
        }
        Dialect::Caliban if is(Rule::NetworkRestricted) => {
            "Set network.allow_all_outbound to true if this command should reach the network.".to_owned()
        }
        Dialect::Orbit if is(Rule::NetworkRestricted) => {
            "Run it outside the sandbox: a profile has no rule that opens the network.".to_owned()
        }
        Dialect::Inferoa if is(Rule::BackendUnavailable) => {
            "Install bubblewrap or enable user namespaces; set sandbox.mode to off only if no sandbox is needed.".to_owned()
        }
        Dialect::Caliban if is(Rule::BackendUnavailable) => {
            "Install bubblewrap or enable user namespaces; set fail_if_unavailable to false only if no sandbox is needed.".to_owned()
        }
        Dialect::Inferoa | Dialect::Caliban if is(Rule::GitMetadata) => {
            "Run the git command as a line of its own, or outside the sandbox.".to_owned()
        }
        Dialect::Caliban if is(Rule::ReadDenied) => {
            format!("Take {} out of filesystem.deny_read, or what hides it, if this command should see it.", path())
        }
        Dialect::Orbit if is(Rule::ReadDenied) || is(Rule::RuntimeDenied) => format!(
            "Ask `refbox policy explain` with your documents and {}: it names the file and line of the rule, and what to change.",
            path()
        ),
        _ => return None,
    };
    Some(text)
}

/// The directory that something was to be made in.
fn directory(blocked: &Blocked) -> Option<&Path> {
    blocked.path.as_ref()?.as_path().parent()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_cases::protocol::Stage;
    use rstest::rstest;

    fn denied(rule: Rule, path: &str) -> Blocked {
        Blocked {
            stage: Stage::Runtime,
            rule: rule.word().to_owned(),
            operation: None,
            path: Some(path.into()),
            reason: String::new(),
            suggested_action: Some(rule.action().to_owned()),
            also: Vec::new(),
        }
    }

    #[rstest]
    #[case(Dialect::Neutral, Rule::OutsideWrite, "add /o/d to policy.writable")]
    #[case(Dialect::Inferoa, Rule::OutsideWrite, "add /o/d to sandbox.extra_writable_roots")]
    #[case(Dialect::Caliban, Rule::OutsideWrite, "add \"/o/d\" to filesystem.allow_write")]
    #[case(Dialect::Inferoa, Rule::NetworkRestricted, "sandbox.network to enabled")]
    #[case(Dialect::Caliban, Rule::NetworkRestricted, "network.allow_all_outbound to true")]
    #[case(Dialect::Caliban, Rule::BackendUnavailable, "fail_if_unavailable")]
    #[case(Dialect::Orbit, Rule::ReadDenied, "refbox policy explain")]
    #[case(Dialect::Neutral, Rule::ReadDenied, "Remove the path")]
    fn actions_have_the_keys_of_their_dialect(
        #[case] dialect: Dialect,
        #[case] rule: Rule,
        #[case] says: &str,
    ) {
        let action = in_words(denied(rule, "/o/d/x"), dialect, None).suggested_action.unwrap();
        assert!(action.contains(says), "{action}");
        assert!(dialect == Dialect::Neutral || !action.contains("policy."), "{action}");
    }

    #[test]
    fn a_line_that_was_granted_nothing_is_told_why() {
        let why = "which program is run is not known";
        let told = |rule| in_words(denied(rule, "/w/.git/index.lock"), Dialect::Neutral, Some(why));
        let action = told(Rule::GitMetadata).suggested_action.unwrap();
        assert!(action.contains("line of its own") && action.contains(why), "{action}");
        let action = told(Rule::GitSteering).suggested_action.unwrap();
        assert_eq!(action, Rule::GitSteering.action());
    }
}
