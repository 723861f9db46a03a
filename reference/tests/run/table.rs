//! The table of claims in docs/mechanisms.md against the output of `refbox capabilities` on such a
//! host, as the user who runs this, and without user namespaces. `UPDATE_TABLE=1` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::bed::program;

const MECHANISMS: [&str; 3] = ["namespaces", "bubblewrap", "landlock"];
const BEGIN: &str = "<!-- claims -->\n";
const END: &str = "<!-- /claims -->";

/// Every claim of one mechanism, and its level.
type Claims = BTreeMap<String, String>;

fn claims(output: &Output) -> Result<Claims, String> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    Ok(serde_json::from_value(found["claims"].clone()).unwrap())
}

fn here(mechanism: &str) -> Result<Claims, String> {
    let mut refbox = Command::new(program());
    claims(&refbox.args(["capabilities", "--mechanism", mechanism]).output().unwrap())
}

/// Reads the claims as a uid 0 without privileges where no user namespace can be made.
fn without_namespaces(mechanism: &str) -> Result<Claims, String> {
    let line = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all \
         --inh-caps=-all {} capabilities --mechanism {mechanism}",
        program().display()
    );
    claims(&Command::new("unshare").args(["-Ur", "sh", "-c", &line]).output().unwrap())
}

/// Returns the facility that this host lacks in comparison with the table's host.
fn lacking(found: &[Result<Claims, String>]) -> Option<String> {
    let [Ok(namespaces), Ok(_), Ok(landlock)] = found else {
        return found.iter().find_map(|found| found.as_ref().err().cloned());
    };
    if landlock["unix_socket.abstract"] != "enforced" {
        return Some("Landlock scopes no sockets here (ABI 6, Linux 6.12)".to_owned());
    }
    let holds = namespaces.contains_key("protect.absent");
    (!holds).then(|| "names that do not exist cannot be held here (Linux 5.19)".to_owned())
}

fn table(found: &[Claims]) -> String {
    let names: BTreeSet<&String> = found.iter().flat_map(Claims::keys).collect();
    let mut rows: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
    for name in names {
        let level = |claims: &Claims| match claims.get(name).map(String::as_str) {
            // Devices there are the host's, and its own.
            Some("partial") if name == "fs.metadata" => "yes; by root partly",
            Some("enforced") if name == "fs.metadata" && *claims == found[1] => {
                "yes; by root partly"
            }
            Some("enforced") => "yes",
            Some("partial") => "partly",
            None => "no",
            Some(other) => panic!("{name}: {other}"),
        };
        rows.entry(found.iter().map(level).collect()).or_default().push(format!("`{name}`"));
    }
    let mut table = format!("| capability | `{}` |\n|---|---|---|---|\n", MECHANISMS.join("` | `"));
    for (levels, names) in rows.iter().rev() {
        table.push_str(&format!("| {} | {} |\n", names.join(", "), levels.join(" | ")));
    }
    table
}

#[test]
fn the_table_of_claims_is_what_is_claimed() {
    let found = MECHANISMS.map(here);
    if let Some(why) = lacking(&found) {
        // Written past the capture of a test's output, so that a skip is not taken for a
        // comparison.
        writeln!(std::io::stderr(), "SKIPPED: the table of claims was not compared: {why}")
            .unwrap();
        return;
    }
    let found = found.map(Result::unwrap);
    for mechanism in &MECHANISMS[..2] {
        let why = without_namespaces(mechanism).unwrap_err();
        assert!(why.contains("sysctl -w user.max_user_namespaces"), "{mechanism}: {why}");
    }
    assert_eq!(without_namespaces("landlock").as_ref(), Ok(&found[2]));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mechanisms.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let due = table(&found);
    if std::env::var_os("UPDATE_TABLE").is_some() {
        std::fs::write(&page, format!("{before}{BEGIN}{due}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(written, due, "docs/mechanisms.md: its table of claims is stale: UPDATE_TABLE=1");
}
