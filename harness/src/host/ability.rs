//! Abilities of the host that sandboxes are built of, each tried out: [`HostAbility`].

use std::path::PathBuf;

use super::findings::{container_remedy, refused_namespaces};
use super::{FactObservation, HostFacts, helper, tried};
use crate::sys::{ability as sys, host};

/// One thing that a kind of sandbox takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAbility {
    /// The word for it.
    pub name: String,
    /// The observation: how the ability is there, or why not.
    pub seen: FactObservation,
    /// The meaning of its lack.
    pub meaning: String,
    /// The remedy for its lack.
    pub remedy: String,
}

/// Namespaces that a sandbox takes besides that of users.
const NAMESPACES: [&str; 6] = ["mnt", "pid", "net", "ipc", "uts", "cgroup"];
/// The addition of each ABI of Landlock.
const LANDLOCK: [(u32, &str); 7] = [
    (1, "files"),
    (2, "moves"),
    (3, "truncate"),
    (4, "tcp ports"),
    (5, "devices"),
    (6, "scopes"),
    (9, "path sockets"),
];
/// The first ABI under which no file outside the grants can be emptied.
const LANDLOCK_NEEDED: u32 = 3;

/// Tries out every ability; `bwrap` names the program of bubblewrap instead of PATH.
pub fn abilities(host: &HostFacts, bwrap: Option<PathBuf>) -> Vec<HostAbility> {
    if cfg!(target_os = "macos") {
        return vec![sandbox_exec()];
    }
    let (_, namespaces) = refused_namespaces(host);
    let user = HostAbility {
        name: "user-namespace".to_owned(),
        seen: tried("made", sys::try_namespace("user")),
        meaning: "sandboxes built of namespaces do not work".to_owned(),
        remedy: namespaces.clone(),
    };
    let others = NAMESPACES.iter().map(|word| HostAbility {
        name: format!("{word}-namespace"),
        seen: tried("made", sys::try_namespace(word)),
        meaning: format!("sandboxes with {word} namespaces refuse to start"),
        remedy: match user.seen {
            Ok(_) => format!("sysctl -w user.max_{word}_namespaces=15000"),
            Err(_) => namespaces.clone(),
        },
    });
    let others: Vec<HostAbility> = others.collect();
    let proc = HostAbility {
        name: "own-proc".to_owned(),
        seen: tried("mounted", sys::try_proc()),
        meaning: "sandboxes cannot hide the host's processes, and refuse to start".to_owned(),
        remedy: if user.seen.is_ok() { container_remedy() } else { namespaces },
    };
    let listener = HostAbility {
        name: "seccomp-notify".to_owned(),
        seen: tried("installed", sys::try_listener()),
        meaning: "denied names that do not exist yet cannot be held".to_owned(),
        remedy: "use Linux 5.19 or later, outside of filters that hide seccomp".to_owned(),
    };
    let bubblewrap = helper::bubblewrap(bwrap);
    std::iter::once(user).chain(others).chain([proc, listener, landlock(), bubblewrap]).collect()
}

fn landlock() -> HostAbility {
    let abi = host::landlock_abi();
    let rights = LANDLOCK.iter().filter(|(since, _)| *since <= abi).map(|(_, word)| *word);
    let rights: Vec<&str> = rights.collect();
    let seen = format!("ABI {abi}: {}", rights.join(", "));
    HostAbility {
        name: "landlock".to_owned(),
        seen: match abi {
            LANDLOCK_NEEDED.. => Ok(seen),
            0 => Err("the kernel offers none".to_owned()),
            _ => Err(seen),
        },
        meaning: "nothing confines where namespaces are refused".to_owned(),
        remedy: "use Linux 6.2 or later with `landlock` in the boot option lsm=".to_owned(),
    }
}

fn sandbox_exec() -> HostAbility {
    let program = PathBuf::from("/usr/bin/sandbox-exec");
    let argv =
        [program.into(), "-p".into(), "(version 1)(allow default)".into(), "/usr/bin/true".into()];
    let (seen, remedy) = seatbelt(helper::answer(&argv).map(drop));
    HostAbility {
        name: "sandbox-exec".to_owned(),
        seen,
        meaning: "sandboxes by Seatbelt do not work".to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// Returns what the end of sandbox-exec says about Seatbelt, and the remedy where it does not work:
/// a process in a sandbox is refused a second one by every profile.
fn seatbelt(ended: Result<(), String>) -> (FactObservation, &'static str) {
    match ended {
        Ok(()) => (Ok("runs".to_owned()), ""),
        Err(why) if why.contains("sandbox_apply: Operation not permitted") => (
            Err(format!("nested: this process is in a sandbox already ({why})")),
            "run boxproof outside of the sandbox of an agent or another tool",
        ),
        Err(why) => (Err(why), "use a macOS that has /usr/bin/sandbox-exec"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_in_a_sandbox_is_told_from_none() {
        let nested = "sandbox-exec: sandbox_apply: Operation not permitted";
        let (seen, remedy) = seatbelt(Err(format!("exited with 71: {nested}")));
        let why = seen.unwrap_err();
        assert!(why.starts_with("nested: ") && why.contains(nested), "{why}");
        assert!(remedy.contains("outside"), "{remedy}");
        let (seen, remedy) = seatbelt(Err("No such file or directory".to_owned()));
        assert_eq!(seen, Err("No such file or directory".to_owned()));
        assert!(remedy.contains("/usr/bin/sandbox-exec"), "{remedy}");
        assert_eq!(seatbelt(Ok(())).0, Ok("runs".to_owned()));
    }
}
