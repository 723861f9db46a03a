//! `boxproof backend install-hint`: the lacks of backends on this host, as a list or as a script
//! that installs them, versions pinned.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::user::settle_questions;
use super::{CliFailure, me, print};
use crate::backend::{MissingProgram, lacks, pinned_versions, shipped_names};
use crate::shell_quoting::shell_word;

/// Package manager → package → version.
type VersionPins = BTreeMap<String, BTreeMap<String, String>>;

/// A system's own package managers, each with its command; the first one that is there is used.
const SYSTEM: [(&str, &str); 5] = [
    ("apt", "$sudo apt-get update -q\n$sudo apt-get install -qy --no-install-recommends"),
    ("dnf", "$sudo dnf install -qy"),
    ("pacman", "$sudo pacman -S --noconfirm --needed"),
    ("apk", "$sudo apk add -q"),
    ("brew", "brew install -q"),
];

/// The managers that install a tool for itself, in order of how quick they are.
const OWN: [&str; 3] = ["npm", "pip", "cargo"];

/// The start of the script: the directories of tools, such that every user can run them.
const HEAD: &str = "set -eu
tools=${BOXPROOF_TOOLS:-/opt/boxproof-tools}
bin=${BOXPROOF_BIN:-/usr/local/bin}
sudo=
if [ \"$(id -u)\" != 0 ]; then sudo=sudo; fi
failed=
crate() { $sudo \"$(command -v cargo)\" install -q --root \"$tools/cargo\" \"$@\"; }
";

/// The end of the script: the crates that did not build.
const TAIL: &str = "if [ -n \"$failed\" ]; then
echo \"not installed:$failed\" >&2
exit 1
fi
";

/// Prints what the backends called `names` lack, by default the shipped ones.
pub(super) fn run(names: &[String], script: bool) -> Result<i32, CliFailure> {
    let shipped: Vec<String> = shipped_names().into_iter().map(str::to_owned).collect();
    let names = if names.is_empty() { &shipped } else { names };
    let pins = pinned_versions().map_err(|error| CliFailure::usage(error.to_string()))?;
    let (me, settled) = (me()?, settle_questions(None)?);
    let mut found = Vec::new();
    for name in names {
        let lacks =
            lacks(name, &me, &settled).map_err(|error| CliFailure::usage(error.to_string()))?;
        found.push((name.as_str(), lacks));
    }
    found.retain(|(_, lacks)| !lacks.is_empty());
    let here = |manager: &str| crate::backend::is_in_path(command(manager));
    match script {
        true => print(&self::script(&found, &here, &pins))?,
        false => print(&hints(&found, &pins))?,
    }
    Ok(0)
}

/// The program that a manager's name stands for.
fn command(manager: &str) -> &str {
    match manager {
        "apt" => "apt-get",
        "pip" => "python3",
        other => other,
    }
}

/// Lists the missing programs, one a line.
fn hints(found: &[(&str, Vec<MissingProgram>)], pins: &VersionPins) -> String {
    let mut text = String::new();
    for (name, lacks) in found {
        for lack in lacks {
            let ways = lack.install.iter();
            let ways: Vec<_> = ways.map(|(m, p)| format!("{m}: {}", pinned(pins, m, p))).collect();
            let _ = writeln!(text, "{name:12} lacks {:12} {}", lack.program, ways.join(", "));
        }
    }
    text
}

/// The package with its version, as its manager writes both.
fn pinned(pins: &VersionPins, manager: &str, package: &str) -> String {
    let version = pins.get(manager).and_then(|packages| packages.get(package));
    match (version, manager) {
        (None, _) => package.to_owned(),
        (Some(version), "pip") => format!("{package}=={version}"),
        (Some(version), _) => format!("{package}@{version}"),
    }
}

/// Package → the programs that come of it.
type PackagePrograms = BTreeMap<String, BTreeSet<String>>;

/// The programs to install: manager → packages; and, with what their manifests say, those for which
/// no manager is here.
#[derive(Debug, Default)]
struct InstallPlan {
    packages: BTreeMap<String, PackagePrograms>,
    hopeless: BTreeMap<String, String>,
}

/// A shell script that installs what `found` lacks with the managers that are `here`.
fn script(
    found: &[(&str, Vec<MissingProgram>)],
    here: &dyn Fn(&str) -> bool,
    pins: &VersionPins,
) -> String {
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    if names.is_empty() {
        return "#!/bin/sh\n# Nothing is missing.\n".to_owned();
    }
    let mut order = order(found.iter().flat_map(|(_, lacks)| lacks), here, pins);
    let system = SYSTEM.iter().find(|(manager, _)| here(manager));
    if system.is_some_and(|(manager, _)| *manager == "apt") {
        let needed = build_needs(&order, pins);
        let packages = order.packages.entry("apt".to_owned()).or_default();
        packages.extend(needed.into_iter().map(|package| (package, BTreeSet::new())));
    }
    let mut text = format!("#!/bin/sh\n# What is missing here for {}.\n{HEAD}", names.join(", "));
    for (manager, install) in &SYSTEM {
        if let Some(packages) = order.packages.get(*manager).filter(|list| !list.is_empty()) {
            let _ = writeln!(text, "{install} {}", quoted_packages(packages));
        }
    }
    for manager in OWN {
        if let Some(packages) = order.packages.get(manager) {
            text += &own(manager, packages);
        }
    }
    for (program, ways) in &order.hopeless {
        let line = format!("left out, no package manager here has it: {program}{ways}");
        let _ = writeln!(text, "echo {}", shell_word(&line));
    }
    text + TAIL
}

/// The Debian packages that the managers of tools need, and the libraries that crates link with.
fn build_needs(order: &InstallPlan, pins: &VersionPins) -> BTreeSet<String> {
    let venv = order.packages.contains_key("pip").then(|| "python3-venv".to_owned());
    let crates = order.packages.get("cargo").into_iter().flat_map(BTreeMap::keys);
    let libraries = crates.filter_map(|spec| {
        let name = spec.split('@').next()?;
        pins.get("libraries")?.get(name)
    });
    libraries.flat_map(|list| list.split(' ')).map(str::to_owned).chain(venv).collect()
}

fn order<'a>(
    lacks: impl Iterator<Item = &'a MissingProgram>,
    here: &dyn Fn(&str) -> bool,
    pins: &VersionPins,
) -> InstallPlan {
    let system = SYSTEM.iter().map(|(manager, _)| *manager).find(|manager| here(manager));
    let managers: Vec<&str> =
        system.into_iter().chain(OWN.into_iter().filter(|m| here(m))).collect();
    let mut order = InstallPlan::default();
    for lack in lacks {
        let Some(manager) = managers.iter().find(|manager| lack.install.contains_key(**manager))
        else {
            let ways =
                lack.install.iter().map(|(manager, package)| format!(" ({manager}: {package})"));
            order.hopeless.insert(lack.program.clone(), ways.collect());
            continue;
        };
        let package = pinned(pins, manager, &lack.install[*manager]);
        let packages = order.packages.entry((*manager).to_owned()).or_default();
        packages.entry(package).or_default().insert(lack.program.clone());
    }
    order
}

/// Returns the lines that install `packages` into a directory of their own and link their programs.
fn own(manager: &str, packages: &PackagePrograms) -> String {
    let mut text = match manager {
        "npm" => {
            let list = quoted_packages(packages);
            format!("$sudo npm install -g --silent --prefix \"$tools/npm\" {list}\n")
        }
        // The system's own Python, since another one may lie where not every user can look.
        "pip" => format!(
            "python=/usr/bin/python3\nif [ ! -x \"$python\" ]; then python=python3; fi\n\
             $sudo \"$python\" -m venv \"$tools/pip\"\n\
             $sudo \"$tools/pip/bin/pip\" install -q {}\n",
            quoted_packages(packages)
        ),
        _ => {
            return packages
                .iter()
                .map(|(package, programs)| crate_lines(package, programs))
                .collect();
        }
    };
    text += &links(manager, packages.values().flatten());
    text
}

/// Returns the lines for one crate. A crate that does not build costs itself alone, and one whose own
/// lock file is out of date is tried without it.
fn crate_lines(package: &str, programs: &BTreeSet<String>) -> String {
    let word = shell_word(package);
    format!(
        "if crate --locked {word} || crate {word}; then\n{}else\nfailed=\"$failed {word}\"\nfi\n",
        links("cargo", programs.iter())
    )
}

fn links<'a>(manager: &str, programs: impl Iterator<Item = &'a String>) -> String {
    let link = |program: &String| {
        let word = shell_word(program);
        format!("$sudo ln -sf \"$tools/{manager}/bin/\"{word} \"$bin/\"{word}\n")
    };
    programs.map(link).collect()
}

fn quoted_packages(packages: &PackagePrograms) -> String {
    packages.keys().map(|package| shell_word(package)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Manifest, shipped_text};
    use std::path::Path;

    fn lack(program: &str, install: &[(&str, &str)]) -> MissingProgram {
        let install = install.iter().map(|(m, p)| ((*m).to_owned(), (*p).to_owned()));
        MissingProgram { program: program.to_owned(), install: install.collect() }
    }

    fn pins() -> VersionPins {
        let text = "{npm: {'@a/srt': 1.2.3}, pip: {zb: 0.4.0}, cargo: {h: 9.0.0}, libraries: {h: libh-dev}}";
        serde_yaml::from_str(text).unwrap()
    }

    fn lacking() -> Vec<(&'static str, Vec<MissingProgram>)> {
        let bwrap = || lack("bwrap", &[("apt", "bubblewrap"), ("dnf", "bubblewrap")]);
        vec![
            ("srt", vec![lack("srt", &[("npm", "@a/srt")]), bwrap()]),
            ("zb", vec![lack("zb", &[("pip", "zb"), ("cargo", "zb")]), bwrap()]),
            ("h", vec![lack("hako", &[("cargo", "h")])]),
        ]
    }

    #[test]
    fn the_script_installs_each_thing_once_in_its_pinned_version() {
        let text = script(&lacking(), &|manager| manager != "dnf", &pins());
        for line in [
            "# What is missing here for srt, zb, h.\n",
            "--no-install-recommends bubblewrap libh-dev python3-venv\n",
            "--prefix \"$tools/npm\" @a/srt@1.2.3\n",
            "\"$tools/pip/bin/pip\" install -q zb==0.4.0\n",
            "if crate --locked h@9.0.0 || crate h@9.0.0; then\n",
            "ln -sf \"$tools/cargo/bin/\"hako \"$bin/\"hako\n",
        ] {
            assert_eq!(text.matches(line).count(), 1, "{line}\n{text}");
        }
        assert!(!text.contains("dnf") && !text.contains("left out"), "{text}");
    }

    #[test]
    fn what_no_manager_here_has_is_said() {
        let text = script(&lacking(), &|manager| ["dnf", "pip"].contains(&manager), &pins());
        assert!(text.contains("$sudo dnf install -qy bubblewrap\n"), "{text}");
        assert!(
            text.contains("left out, no package manager here has it: srt (npm: @a/srt)'\n"),
            "{text}"
        );
        assert!(
            text.contains("left out, no package manager here has it: hako (cargo: h)'\n"),
            "{text}"
        );
        assert!(!text.contains("apt-get") && !text.contains("npm install"), "{text}");
    }

    #[test]
    fn a_shell_can_read_the_script() {
        for text in [script(&lacking(), &|_| true, &pins()), script(&[], &|_| true, &pins())] {
            let read = std::process::Command::new("sh").args(["-n", "-c", &text]).output().unwrap();
            assert!(read.status.success(), "{}\n{text}", String::from_utf8_lossy(&read.stderr));
        }
    }

    #[test]
    fn every_tool_of_a_registry_has_a_pinned_version() {
        let pins = pinned_versions().unwrap();
        for name in shipped_names() {
            let manifest = Manifest::parse(Path::new(name), shipped_text(name).unwrap()).unwrap();
            for (manager, package) in
                manifest.requires.values().chain([&manifest.install]).flatten()
            {
                let pinned = pins.get(manager).is_some_and(|pins| pins.contains_key(package));
                assert_eq!(pinned, OWN.contains(&manager.as_str()), "{name}: {manager} {package}");
            }
        }
    }
}
