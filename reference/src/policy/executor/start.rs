//! The command that an executor starts: [`start`]. Pure.

use std::path::{Path, PathBuf};

use super::declaration::{AgentProvider, ExecutorDeclaration, OuterSandbox};
use boxproof_cases::protocol::{SettingsPlatform, WirePath};

/// The path of the program on macOS. A search path could be led elsewhere.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";
/// The placeholder for the profile that is written at the start.
const PROFILE: &str = "<profile.sb>";
/// The key of codex that lists further writable directories.
const SIDE_ROOTS: &str = "writable_dirs_json";

/// The facts about a machine.
#[derive(Clone, Copy)]
pub struct MachineFacts<'a> {
    /// Its system.
    pub platform: SettingsPlatform,
    /// The workspace.
    pub workspace: &'a Path,
    /// Returns whether a program exists at a path.
    pub has_program: &'a dyn Fn(&Path) -> bool,
}

impl std::fmt::Debug for MachineFacts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("platform", &self.platform).finish_non_exhaustive()
    }
}

/// The started command.
pub use boxproof_cases::protocol::ExecutorStart as Start;

/// Returns the command that `declared` starts on `machine`.
///
/// # Errors
/// A sandbox of another system, one that is missing and must be there, or side roots that are none.
pub fn start(declared: &ExecutorDeclaration, machine: MachineFacts<'_>) -> Result<Start, String> {
    let mut start = match outer(declared, machine)? {
        Some(Ok(wrapper)) => wrapped(declared, machine, wrapper)?,
        Some(Err(warning)) => bare(declared, vec![warning]),
        None => bare(declared, Vec::new()),
    };
    let left = declared.left.iter();
    start
        .warnings
        .extend(left.map(|key| format!("spec.{key} is for who starts the agent to keep")));
    Ok(start)
}

/// Returns the program that confines; a warning where the agent is to start without; none if no
/// sandbox is declared.
fn outer(
    declared: &ExecutorDeclaration,
    machine: MachineFacts<'_>,
) -> Result<Option<Result<&'static str, String>>, String> {
    let Some(OuterSandbox::MacosSandboxExec) = declared.sandbox else { return Ok(None) };
    let platform = match machine.platform {
        SettingsPlatform::Macos => None,
        SettingsPlatform::Linux => Some("linux"),
        SettingsPlatform::Windows => Some("windows"),
        SettingsPlatform::Wsl1 => Some("wsl1"),
    };
    if let Some(platform) = platform.filter(|_| !fault!("executor.other-platform")) {
        return Err(format!(
            "executor `{}` declares sandbox `macos-sandbox-exec` but current platform is `{platform}`",
            declared.name
        ));
    }
    match ((machine.has_program)(Path::new(SANDBOX_EXEC)), declared.allow_fallback) {
        (true, _) => Ok(Some(Ok(SANDBOX_EXEC))),
        (false, _) if fault!("executor.bare-start") => Ok(None),
        (false, true) => Ok(Some(Err(format!(
            "RUNNING WITHOUT THE OUTER SANDBOX: sandbox-exec not available at {SANDBOX_EXEC}"
        )))),
        (false, false) => Err(format!(
            "sandbox-exec not available at {SANDBOX_EXEC}; declare allow_fallback: true to permit bare exec"
        )),
    }
}

/// The agent as it is declared, its own sandbox included.
fn bare(declared: &ExecutorDeclaration, warnings: Vec<String>) -> Start {
    let argv = std::iter::once(&declared.program).chain(&declared.args).cloned().collect();
    let config = declared.config.clone();
    Start { argv, config, enforced: false, side_roots: Vec::new(), warnings }
}

/// The agent inside the outer sandbox, without its own, which would not start in there.
fn wrapped(
    declared: &ExecutorDeclaration,
    machine: MachineFacts<'_>,
    wrapper: &str,
) -> Result<Start, String> {
    let mut config = declared.config.clone();
    let mut args = declared.args.clone();
    match declared.provider {
        AgentProvider::Codex => {
            if !fault!("executor.codex-sandbox") {
                config.insert("sandbox".to_owned(), "danger-full-access".to_owned());
            }
        }
        AgentProvider::Gemini => {
            args.retain(|arg| {
                fault!("executor.own-sandbox")
                    || arg != "-s" && arg != "--sandbox" && !arg.starts_with("--sandbox=")
            });
        }
        AgentProvider::Claude | AgentProvider::Other => {}
    }
    let side_roots = side_roots(declared, machine.workspace)?;
    let reopens = |root: &PathBuf| {
        format!("{} is writable behind every deny, and re-opens what one closes", root.display())
    };
    let told = side_roots.iter().filter(|_| !fault!("executor.side-roots-untold"));
    let warnings = told.map(reopens).collect();
    let side_roots = side_roots.into_iter().map(WirePath::from).collect();
    let head = [wrapper, "-f", PROFILE, &declared.program].map(str::to_owned);
    let argv = head.into_iter().chain(args).collect();
    Ok(Start { argv, config, enforced: true, side_roots, warnings })
}

fn side_roots(declared: &ExecutorDeclaration, workspace: &Path) -> Result<Vec<PathBuf>, String> {
    let listed =
        declared.config.get(SIDE_ROOTS).filter(|_| declared.provider == AgentProvider::Codex);
    let Some(text) = listed else { return Ok(Vec::new()) };
    let names: Vec<String> = serde_json::from_str(text).map_err(|error| {
        format!("config.{SIDE_ROOTS}: {error}; write a JSON list of paths, such as [\"out\"]")
    })?;
    Ok(names.iter().map(|name| workspace.join(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn declared(provider: &str, rest: &str) -> ExecutorDeclaration {
        let text = format!("name: x\nprovider: {provider}\nprogram: agent\n{rest}");
        ExecutorDeclaration::parse("x.yaml", &text).unwrap()
    }

    fn started(
        declared: &ExecutorDeclaration,
        platform: SettingsPlatform,
        has: bool,
    ) -> Result<Start, String> {
        // Only the trusted place counts.
        let has_program = |path: &Path| has && path == Path::new("/usr/bin/sandbox-exec");
        start(
            declared,
            MachineFacts { platform, workspace: Path::new("/w"), has_program: &has_program },
        )
    }

    const BOXED: &str = "sandbox: macos-sandbox-exec\n";

    #[test]
    fn a_missing_sandbox_is_refused_before_anything_is_changed() {
        let error = started(&declared("codex", BOXED), SettingsPlatform::Macos, false).unwrap_err();
        let wanted = "sandbox-exec not available at /usr/bin/sandbox-exec; \
                      declare allow_fallback: true to permit bare exec";
        assert_eq!(error, wanted);
    }

    #[rstest]
    #[case("codex", "config: {sandbox: workspace-write}\n")]
    #[case("gemini", "args: [-s, --sandbox, -p]\n")]
    fn without_the_outer_sandbox_the_inner_one_stays(#[case] provider: &str, #[case] own: &str) {
        let declared = declared(provider, &format!("{BOXED}allow_fallback: true\n{own}"));
        let start = started(&declared, SettingsPlatform::Macos, false).unwrap();
        assert!(!start.enforced && start.warnings[0].contains("WITHOUT THE OUTER SANDBOX"));
        assert_eq!((&start.argv[1..], &start.config), (&declared.args[..], &declared.config));
        assert_eq!(start.argv[0], "agent");
    }

    #[rstest]
    #[case("codex", "config: {sandbox: read-only}\n", &["agent"], Some("danger-full-access"))]
    #[case("gemini", "args: [-s, --sandbox, --sandbox=x, -p]\n", &["agent", "-p"], None)]
    #[case("claude", "args: [-s]\n", &["agent", "-s"], None)]
    fn inside_the_outer_sandbox_there_is_no_other(
        #[case] provider: &str,
        #[case] own: &str,
        #[case] argv: &[&str],
        #[case] sandbox: Option<&str>,
    ) {
        let start =
            started(&declared(provider, &format!("{BOXED}{own}")), SettingsPlatform::Macos, true)
                .unwrap();
        assert!(start.enforced && start.warnings.is_empty());
        assert_eq!(start.argv[..3], ["/usr/bin/sandbox-exec", "-f", "<profile.sb>"]);
        assert_eq!(start.argv[3..], *argv);
        assert_eq!(start.config.get("sandbox").map(String::as_str), sandbox);
    }

    #[test]
    fn a_sandbox_of_another_system_is_an_error_even_with_a_fallback() {
        let declared = declared("codex", &format!("{BOXED}allow_fallback: true\n"));
        let error = started(&declared, SettingsPlatform::Linux, true).unwrap_err();
        let wanted =
            "executor `x` declares sandbox `macos-sandbox-exec` but current platform is `linux`";
        assert_eq!(error, wanted);
    }

    #[test]
    fn side_roots_come_last_and_are_told() {
        let own = "config: {writable_dirs_json: '[\".orbit\", \"/o\"]'}\n";
        let start =
            started(&declared("codex", &format!("{BOXED}{own}")), SettingsPlatform::Macos, true)
                .unwrap();
        assert_eq!(start.side_roots, ["/w/.orbit", "/o"].map(WirePath::from));
        assert_eq!(start.warnings.len(), 2);
        let broken = declared("codex", &format!("{BOXED}config: {{writable_dirs_json: out}}\n"));
        assert!(started(&broken, SettingsPlatform::Macos, true).unwrap_err().contains("JSON list"));
    }

    #[rstest]
    #[case("sandbx: macos-sandbox-exec\n", "x.yaml:4:1: ")]
    #[case("sandbox: linux-jail\n", "x.yaml:4:10: ")]
    fn a_declaration_that_cannot_be_meant_is_told(#[case] line: &str, #[case] place: &str) {
        let text = format!("name: x\nprovider: codex\nprogram: agent\n{line}");
        let error = ExecutorDeclaration::parse("x.yaml", &text).unwrap_err();
        assert!(error.starts_with(place) && error.contains("--help"), "{error}");
    }
}
