//! `boxproof doctor`: the abilities of this host, found by doing.

use std::path::PathBuf;

use clap::ValueEnum;

use super::{CliFailure, note, print, print_text};
use crate::host::{HostAbility, HostFacts, PendingTools, abilities, findings};
use crate::{scratch, shortage};

/// Exit code where something lacks that `--require` asks for.
const LACKING: i32 = 1;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct DoctorArgs {
    /// Print everything that was found, as JSON.
    #[arg(long)]
    json: bool,
    /// The directory in which the scratch directory is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// The program of bubblewrap, instead of the one in PATH.
    #[arg(long, value_name = "PROGRAM")]
    bwrap: Option<PathBuf>,
    /// End with 1 unless the host has all that sandboxes of this kind take.
    #[arg(long, value_name = "PROFILE")]
    require: Vec<SandboxKind>,
}

/// A kind of sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SandboxKind {
    /// Built of namespaces.
    Namespaces,
    /// Built of namespaces, holding names that do not exist yet.
    Mediate,
    /// Started by bwrap.
    Bubblewrap,
    /// Built of Landlock.
    Landlock,
    /// Started by sandbox-exec.
    Seatbelt,
}

impl SandboxKind {
    /// Returns whether sandboxes of this kind take the ability `name`.
    fn takes(self, name: &str) -> bool {
        let namespaces = || name.ends_with("-namespace") || name == "own-proc";
        match self {
            Self::Namespaces => namespaces(),
            Self::Mediate => namespaces() || name == "seccomp-notify",
            Self::Bubblewrap => name == "bubblewrap",
            Self::Landlock => name == "landlock",
            Self::Seatbelt => name == "sandbox-exec",
        }
    }

    /// Lists the abilities that are missing; the kind itself where none of its abilities was
    /// tested.
    fn lacks(self, abilities: &[HostAbility]) -> Vec<String> {
        let mut taken = abilities.iter().filter(|ability| self.takes(&ability.name)).peekable();
        if taken.peek().is_none() {
            return vec!["not on this system".to_owned()];
        }
        taken.filter(|ability| ability.seen.is_err()).map(|a| a.name.clone()).collect()
    }
}

pub(super) fn run(args: &DoctorArgs) -> Result<i32, CliFailure> {
    let base = args.scratch.clone().unwrap_or_else(scratch::default_base);
    let made = scratch::ScratchDirectory::make(&base)?;
    let host = HostFacts::detect(&made.path, PendingTools::all());
    for why in shortage::found(&made.path) {
        note(why);
    }
    drop(made);
    let abilities = abilities(&host, args.bwrap.clone());
    if args.json {
        print(&json(&host, &abilities))?;
    } else {
        tell(&host, &abilities)?;
    }
    let mut code = 0;
    for profile in &args.require {
        let lacks = profile.lacks(&abilities);
        if !lacks.is_empty() {
            note(format_args!(
                "{profile:?} is required, and this host lacks: {}",
                lacks.join(", ")
            ));
            code = LACKING;
        }
    }
    Ok(code)
}

fn json(host: &HostFacts, abilities: &[HostAbility]) -> String {
    let facts: Vec<_> = host.facts.iter().map(|fact| fact.keyword()).collect();
    let tried: serde_json::Map<_, _> = abilities
        .iter()
        .map(|ability| {
            let (Ok(saw) | Err(saw)) = &ability.seen;
            let told = serde_json::json!({ "ok": ability.seen.is_ok(), "saw": saw });
            (ability.name.clone(), told)
        })
        .collect();
    let all = serde_json::json!({ "facts": facts, "host": host.report, "abilities": tried });
    format!("{all:#}\n")
}

fn tell(host: &HostFacts, abilities: &[HostAbility]) -> Result<(), CliFailure> {
    for (name, value) in &host.report {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        print_text(&format!("{name:18} {value}\n"))?;
    }
    print_text("\n")?;
    for HostAbility { name, seen, meaning, remedy } in abilities {
        let (Ok(saw) | Err(saw)) = seen;
        line(seen.is_ok(), name, saw, meaning, remedy)?;
    }
    print_text("\n")?;
    for finding in findings(host) {
        line(finding.ok, finding.fact.keyword(), &finding.saw, &finding.meaning, &finding.remedy)?;
    }
    Ok(())
}

fn line(ok: bool, name: &str, saw: &str, meaning: &str, remedy: &str) -> Result<(), CliFailure> {
    let mark = if ok { "has  " } else { "lacks" };
    print_text(&format!("{mark} {name:16} {saw}\n"))?;
    if !ok {
        print_text(&format!("      {meaning}\n      {remedy}\n"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn ability(name: &str, ok: bool) -> HostAbility {
        let seen = if ok { Ok("made".to_owned()) } else { Err("EPERM".to_owned()) };
        let (meaning, remedy) = (String::new(), String::new());
        HostAbility { name: name.to_owned(), seen, meaning, remedy }
    }

    #[rstest]
    #[case(SandboxKind::Namespaces, &["net-namespace"])]
    #[case(SandboxKind::Mediate, &["net-namespace", "seccomp-notify"])]
    #[case(SandboxKind::Landlock, &[])]
    #[case(SandboxKind::Bubblewrap, &["bubblewrap"])]
    #[case(SandboxKind::Seatbelt, &["not on this system"])]
    fn what_lacks_of_a_profile_is_named(#[case] profile: SandboxKind, #[case] lacks: &[&str]) {
        let found = [
            ability("user-namespace", true),
            ability("net-namespace", false),
            ability("own-proc", true),
            ability("seccomp-notify", false),
            ability("landlock", true),
            ability("bubblewrap", false),
        ];
        assert_eq!(profile.lacks(&found), lacks);
    }
}
