//! Crates: their list, their permitted dependencies, and the licences of the rest.

use std::process::Command;

use super::tree::Tree;

/// Each member's directory, its package, and the packages of ours that it may depend on.
const MEMBERS: [(&str, &str, &[&str]); 6] = [
    ("cases", "boxproof-cases", &[]),
    ("probes", "boxproof-probes", &[]),
    ("reference", "boxproof-reference", &["boxproof-cases", "boxproof-receipts"]),
    ("reference/receipts", "boxproof-receipts", &["boxproof-cases"]),
    ("reports", "boxproof-reports", &["boxproof-cases"]),
    (
        "harness",
        "boxproof",
        &["boxproof-cases", "boxproof-probes", "boxproof-reports", "boxproof-reference"],
    ),
];

/// The names of our packages.
pub(crate) fn packages() -> impl Iterator<Item = &'static str> {
    MEMBERS.iter().map(|(_, package, _)| *package)
}

/// The workspace has exactly these members.
pub(crate) fn members(tree: &Tree) -> Vec<String> {
    let Some(root) = tree.file("Cargo.toml") else { return vec!["no Cargo.toml".to_owned()] };
    let line = root.text.lines().find(|line| line.starts_with("members")).unwrap_or_default();
    let listed: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
    let wanted: Vec<&str> = MEMBERS.iter().map(|(directory, ..)| *directory).collect();
    if listed == wanted {
        Vec::new()
    } else {
        vec![format!("members are {listed:?}, not {wanted:?}")]
    }
}

/// Checks that every dependency on a package of ours is an arrow of the house.
pub(crate) fn arrows(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (directory, package, allowed) in MEMBERS {
        let Some(manifest) = tree.file(&format!("{directory}/Cargo.toml")) else { continue };
        for name in ours(&manifest.text) {
            if !allowed.contains(&name) {
                found.push(format!("{package} depends on {name}, which is no arrow of the house"));
            }
        }
    }
    found
}

/// Checks that every package can be published: none is kept back, and each dependency on one of ours
/// says this version.
pub(crate) fn publishable(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (directory, package, _) in MEMBERS {
        let manifest = tree.file(&format!("{directory}/Cargo.toml"));
        if manifest.is_some_and(|manifest| manifest.text.contains("publish")) {
            found.push(format!("{package} says whether it is published"));
        }
    }
    let Some(root) = tree.file("Cargo.toml") else { return found };
    let version = root.text.lines().find(|line| line.starts_with("version = "));
    let wanted = version.unwrap_or_default();
    let ours = root.text.lines().filter(|line| line.starts_with("boxproof-"));
    let bare = ours.filter(|line| !line.contains(&format!(", {wanted} }}")));
    found.extend(bare.map(|line| format!("Cargo.toml: not of {wanted}: {line}")));
    found
}

/// Checks that what the sources of a package take in lies in that package: files of another one, also of
/// one below it, are not packed with it.
pub(crate) fn packed_whole(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| file.path.contains("/src/") && !file.is_test()) {
        let (directory, _) = file.path.rsplit_once('/').unwrap_or_default();
        let paths = taken_in(&file.text).map(|name| resolved(directory, name));
        let foreign = paths.filter(|path| package_of(path) != package_of(&file.path));
        found.extend(foreign.map(|path| format!("{}: {path} is not packed with it", file.path)));
    }
    found
}

/// The files that attributes and macros of a source name.
fn taken_in(text: &str) -> impl Iterator<Item = &str> {
    let quoted = |opening| text.split(opening).skip(1).filter_map(|rest| rest.split('"').next());
    ["#[path = \"", "include_str!(\"", "include_bytes!(\""].into_iter().flat_map(quoted)
}

fn resolved(directory: &str, name: &str) -> String {
    let mut parts: Vec<&str> = directory.split('/').collect();
    for part in name.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The package that a file is packed with: that of the innermost directory.
fn package_of(path: &str) -> Option<&'static str> {
    let holds =
        |directory: &str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    let members = MEMBERS.iter().filter(|(directory, ..)| holds(directory));
    members.max_by_key(|(directory, ..)| directory.len()).map(|(_, package, _)| *package)
}

/// The packages of ours that the dependency sections of a manifest name.
fn ours(manifest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut dependencies = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            dependencies = line.contains("dependencies");
        } else if dependencies {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            found.extend(words.filter(|word| word.starts_with("boxproof")));
        }
    }
    found
}

/// Licences that dependencies may have; Unicode-3.0 covers tables that every derive macro brings.
const LICENCES: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MPL-2.0",
    "Unlicense",
    "Zlib",
    "0BSD",
    "Unicode-3.0",
];

/// Returns whether one choice in every part of an SPDX expression is listed.
fn is_listed(licence: &str) -> bool {
    let licence = licence.replace('/', " OR ");
    let listed = |part: &str| part.split(" OR ").any(|name| LICENCES.contains(&name.trim()));
    licence.split(" AND ").all(|part| listed(part.trim_matches(['(', ')', ' '])))
}

#[test]
fn choices_and_unions_of_licences() {
    assert!(is_listed("GPL-3.0 OR MIT") && is_listed("(MIT OR X) AND Unicode-3.0"));
    assert!(!is_listed("GPL-3.0") && !is_listed("MIT AND GPL-3.0") && !is_listed(""));
}

#[test]
fn dependencies_have_listed_licences() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let bad =
        packages.iter().filter(|package| !is_listed(package["license"].as_str().unwrap_or("")));
    let bad: Vec<_> =
        bad.map(|package| format!("{} {}", package["name"], package["license"])).collect();
    assert!(packages.len() > MEMBERS.len() && bad.is_empty(), "of {}: {bad:?}", packages.len());
}

/// Returns the resolution of this build, for this platform alone: the sources of others are not
/// here.
fn metadata() -> serde_json::Value {
    let rustc = output(Command::new("rustc").arg("-vV"));
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--offline",
        "--filter-platform",
        host,
    ]);
    serde_json::from_str(&output(cargo.current_dir(env!("CARGO_MANIFEST_DIR")))).unwrap()
}

fn output(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}
