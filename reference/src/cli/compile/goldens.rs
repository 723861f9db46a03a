//! Goldens: the compiled texts of settings and sandbox blocks, letter for letter, on a made-up
//! host. Each file in `goldens` holds one dialect for one target: first the lines with which every
//! text begins, then profile by profile the rest; a long line is written out once.

use std::path::Path;

use boxproof_cases::protocol::{
    CompileSettings, Document, Mode, Policy, Protect, Readable, Run, SettingsDialect,
    SourcePrecedence, WirePath,
};
use rstest::rstest;

use super::*;
use crate::host::{ExistingPath, MissingPath, PlatformEntry, ProtectedPaths, ReopenedDirectory};

/// The name of a profile, and its text, where `@` is the top directory; settings are enabled before
/// it.
type GoldenProfile = (&'static str, &'static str);

const DIRECTORIES: [&str; 9] =
    ["/", "/etc", "/h", "/h/.ssh", "/w", "/w/out", "/w/out/git", "/o", "/o/ü \"x"];
const FILES: [&str; 3] = ["/w/out/held", "/w/key", "/h/key"];

const SETTINGS: [GoldenProfile; 17] = [
    ("read-and-write", "[sandbox.filesystem]\nallow_read = ['@/w']\nallow_write = ['@/w/out']\n"),
    (
        "variables",
        "[sandbox.filesystem]\nallow_read = ['${HOME}']\nallow_write = ['${WORKSPACE}']\n",
    ),
    ("everything-read", "[sandbox.filesystem]\nallow_read = ['/']\nallow_write = ['@/w']\n"),
    ("nothing-written", "[sandbox.filesystem]\nallow_read = ['@/w']\n"),
    ("read-denied-file", "[sandbox.filesystem]\nallow_write = ['@/w']\ndeny_read = ['@/w/key']\n"),
    (
        "read-denied-directory",
        "[sandbox.filesystem]\nallow_read = ['/']\nallow_write = ['@/w']\ndeny_read = ['@/h/.ssh']\n",
    ),
    (
        "write-denied-file",
        "[sandbox.filesystem]\nallow_write = ['@/w']\ndeny_write = ['@/w/out/held']\n",
    ),
    (
        "every-list",
        "[sandbox.filesystem]\nallow_read = ['@/h']\nallow_write = ['@/w', '@/o']\n\
         deny_read = ['@/h/key', '@/h/.ssh']\ndeny_write = ['@/w/out/held', '@/w/out/git']\n",
    ),
    ("blanks-and-quotes", "[sandbox.filesystem]\nallow_write = ['@/w', '@/o/ü \"x']\n"),
    (
        "nested",
        "enable_weaker_nested_sandbox = true\n[sandbox.filesystem]\nallow_write = ['@/w']\n",
    ),
    (
        "http-proxy",
        "[sandbox.filesystem]\nallow_write = ['@/w']\n[sandbox.network]\nhttp_proxy_port = 8080\n",
    ),
    (
        "socks-proxy-and-open",
        "[sandbox.filesystem]\nallow_write = ['@/w']\n\
         [sandbox.network]\nsocks_proxy_port = 1080\nallow_all_outbound = true\n",
    ),
    (
        "open",
        "[sandbox.filesystem]\nallow_write = ['@/w']\n[sandbox.network]\nallow_all_outbound = true\n",
    ),
    (
        "local-binding",
        "[sandbox.filesystem]\nallow_write = ['@/w']\n[sandbox.network]\nallow_local_binding = true\n",
    ),
    (
        "unix-sockets",
        "[sandbox.filesystem]\nallow_write = ['@/w']\n[sandbox.network]\nallow_unix_sockets = true\n",
    ),
    (
        "services",
        "[sandbox.filesystem]\nallow_write = ['@/w']\n[sandbox.network]\nallow_mach_lookup = ['a.b', 'c.d']\n",
    ),
    ("nowhere-to-be", "[sandbox.filesystem]\nallow_read = ['@/o']\n"),
];

const BLOCKS: [GoldenProfile; 12] = [
    ("workspace-write", "sandbox: {mode: workspace_write}\n"),
    ("read-only", "sandbox: {mode: read_only}\n"),
    ("network", "sandbox: {mode: workspace_write, network: enabled}\n"),
    ("read-only-network", "sandbox: {mode: read_only, network: enabled}\n"),
    ("extra-root", "sandbox: {mode: workspace_write, extra_writable_roots: [../o]}\n"),
    (
        "extra-roots",
        "sandbox: {mode: workspace_write, extra_writable_roots: ['~', '${MORE}', ../o]}\n",
    ),
    ("root-in-the-workspace", "sandbox: {mode: workspace_write, extra_writable_roots: [out]}\n"),
    ("roots-of-read-only", "sandbox: {mode: read_only, extra_writable_roots: [../o]}\n"),
    (
        "environment-and-fallback",
        "sandbox: {mode: workspace_write, env_passthrough: [A], fail_if_unavailable: false}\n",
    ),
    ("of-linux", "sandbox: {mode: workspace_write, backend: linux_bubblewrap}\n"),
    ("of-macos", "sandbox: {mode: workspace_write, backend: macos_seatbelt}\n"),
    ("off", "sandbox: {mode: off}\n"),
];

/// Lays out the files of the made-up host, below a directory that exists during the compilation.
fn laid_out() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    for directory in DIRECTORIES {
        std::fs::create_dir_all(top.path().join(&directory[1..])).unwrap();
    }
    for file in FILES {
        std::fs::write(top.path().join(&file[1..]), "").unwrap();
    }
    top
}

/// Compiles the text for `target`, with the paths of the made-up host.
fn compiled(
    target: CompileTarget,
    dialect: GoldenDialect,
    text: &str,
) -> Result<Compiled, Refusal> {
    let directory = laid_out();
    let top = directory.path().canonicalize().unwrap().display().to_string();
    let request = request(&top, dialect, text);
    let asked = input::asked(target, &request).map_err(|refusal| moved(refusal, &top))?;
    let asked = CompileInput { order: at_root(asked.order, &top), ..asked };
    let host = host(&asked.order.policy);
    of_plan(target, &asked, host)
}

/// The request for `text` with the made-up host in the directory `top`.
fn request(top: &str, dialect: GoldenDialect, text: &str) -> CompileRequest {
    let text = text.replace('@', top);
    let text = match dialect {
        GoldenDialect::Caliban => format!("[sandbox]\nenabled = true\n{text}"),
        GoldenDialect::Inferoa => text,
    };
    let documents = vec![Document { name: "text".to_owned(), text }];
    let workspace = WirePath::from(format!("{top}/w"));
    let rules = match dialect {
        GoldenDialect::Caliban => CompileRules::Settings(CompileSettings {
            dialect: SettingsDialect::Caliban,
            reading: SourcePrecedence::Adr,
            documents,
            workspace: workspace.clone(),
        }),
        GoldenDialect::Inferoa => CompileRules::Profile(CompileProfile {
            dialect: Dialect::Inferoa,
            documents,
            profile: None,
            workspace: workspace.clone(),
            side_roots: Vec::new(),
        }),
    };
    let env = [("HOME", format!("{top}/h")), ("MORE", format!("{top}/h/.ssh"))];
    let env = env.map(|(name, value)| (name.to_owned(), value)).into();
    CompileRequest { protocol: PROTOCOL, rules, cwd: workspace, env }
}

fn moved(mut refusal: Refusal, top: &str) -> Refusal {
    refusal.message = refusal.message.replace(top, "");
    refusal
}

/// `order` as if `top` were the root directory.
fn at_root(order: RunJob, top: &str) -> RunJob {
    let text = serde_json::to_string(&order.policy).unwrap().replace(top, "");
    let cwd = order.run.cwd.as_path().to_str().unwrap().replace(top, "");
    let mut policy: Policy = serde_json::from_str(&text).unwrap();
    if let Readable::Only(roots) = &mut policy.readable {
        // Settings grant it where the real host has it.
        roots.retain(|root| root.as_path() != Path::new("/opt"));
    }
    RunJob { policy, run: Run { cwd: WirePath::from(cwd), ..order.run }, ..order }
}

fn found(path: &str, directory: bool) -> ExistingPath {
    ExistingPath { real: path.into(), directory, device: false, links: Vec::new(), reachable: true }
}

/// The made-up host: a repository and agents' files in the workspace, one socket beside it.
fn host(policy: &Policy) -> HostSnapshot {
    let directories = DIRECTORIES.map(|path| (path.into(), found(path, true)));
    let files = FILES.map(|path| (path.into(), found(path, false)));
    let mut host = HostSnapshot {
        paths: directories.into_iter().chain(files).collect(),
        tmp: vec!["/tmp".into(), "/var/tmp".into()],
        services: vec!["/run".into()],
        knobs: vec!["/proc/sys".into()],
        resolver: Some("/run/resolve/resolv.conf".into()),
        sockets: vec!["/o/socket".into()],
        ..HostSnapshot::default()
    };
    if policy.readable != Readable::All {
        host.platform = vec![
            PlatformEntry::Object("/usr".into()),
            PlatformEntry::Link("/bin".into(), "usr/bin".into()),
        ];
    }
    if policy.protect == Protect::Metadata && policy.mode == Mode::WorkspaceWrite {
        let name = |name: &str| Path::new("/w").join(name);
        let missing = MissingPath { real: name(".envrc"), links: Vec::new(), folds: false };
        host.protected = ProtectedPaths {
            there: vec![found("/w/.git", true)],
            missing: vec![missing],
            ..ProtectedPaths::default()
        };
        host.opened = vec![ReopenedDirectory {
            directory: name(".inferoa"),
            parts: vec![name(".inferoa/tmp"), name(".inferoa/cache")],
            whole: false,
            rest: vec![found("/w/.inferoa/rules", false)],
            folds: false,
        }];
    }
    host
}

/// Options that begin a line: each sets up one place.
const PLACES: [&str; 8] =
    ["--bind", "--chdir", "--dev", "--perms", "--proc", "--remount-ro", "--ro-bind", "--symlink"];

/// Returns the text, a rule or a place a line, and its limits.
fn lines(compiled: Result<Compiled, Refusal>) -> Result<Vec<String>, String> {
    let compiled = compiled.map_err(|refusal| format!("refused: {refusal}"))?;
    let mut lines: Vec<String> = match compiled.text {
        CompiledText::Sbpl(text) => text.lines().map(str::to_owned).collect(),
        CompiledText::Argv(words) => by_places(&words),
    };
    lines.extend(compiled.params.iter().map(|name| format!("; the caller gives {name}")));
    lines.extend(compiled.limits.iter().map(|limit| format!("; {limit}")));
    Ok(lines)
}

fn by_places(words: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        let bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-./_".contains(&byte);
        let shown = if word.bytes().all(bare) { word.clone() } else { format!("{word:?}") };
        match lines.last_mut().filter(|_| !PLACES.contains(&word.as_str())) {
            Some(line) => {
                line.push(' ');
                line.push_str(&shown);
            }
            None => lines.push(shown),
        }
    }
    lines
}

/// A line that is longer is written out once.
const LONG: usize = 100;

/// `lines` with each long one that `known` has by its number there.
fn shortened(lines: &[String], known: &mut Vec<String>) -> Vec<String> {
    let mut short = |line: &String| {
        if line.len() <= LONG {
            return line.clone();
        }
        match known.iter().position(|other| other == line) {
            Some(at) => format!("({at})"),
            None => {
                known.push(line.clone());
                format!("({}) is {line}", known.len() - 1)
            }
        }
    };
    lines.iter().map(&mut short).collect()
}

/// Returns all profiles in one text: the common beginning once, then each with the rest.
fn sheet(profiles: &[GoldenProfile], texts: &[Result<Vec<String>, String>]) -> String {
    let whole: Vec<&Vec<String>> = texts.iter().flatten().collect();
    let alike = |at: usize| {
        let line = whole[0].get(at);
        line.is_some() && whole.iter().all(|lines| lines.get(at) == line)
    };
    let shared = (0..).take_while(|at| alike(*at)).count();
    let mut known = Vec::new();
    let mut sheet = match shared {
        0 => String::new(),
        _ => format!("== all begin\n{}\n", shortened(&whole[0][..shared], &mut known).join("\n")),
    };
    for ((name, text), lines) in profiles.iter().zip(texts) {
        let rest = match lines {
            Ok(lines) => shortened(&lines[shared..], &mut known).join("\n"),
            Err(why) => why.clone(),
        };
        let shown = text.replace('@', "").trim_end().replace('\n', "\n# ");
        sheet.push_str(&format!("\n== {name}\n# {shown}\n{rest}\n"));
    }
    sheet
}

#[derive(Debug, Clone, Copy)]
enum GoldenDialect {
    Caliban,
    Inferoa,
}

#[rstest]
#[case::caliban_for_bubblewrap(GoldenDialect::Caliban, &SETTINGS, CompileTarget::Bubblewrap)]
#[case::caliban_for_seatbelt(GoldenDialect::Caliban, &SETTINGS, CompileTarget::Seatbelt)]
#[case::inferoa_for_bubblewrap(GoldenDialect::Inferoa, &BLOCKS, CompileTarget::Bubblewrap)]
#[case::inferoa_for_seatbelt(GoldenDialect::Inferoa, &BLOCKS, CompileTarget::Seatbelt)]
fn profiles_are_compiled_to_these_texts(
    #[case] language: GoldenDialect,
    #[case] profiles: &[GoldenProfile],
    #[case] target: CompileTarget,
) {
    let texts = profiles.iter().map(|(_, text)| lines(compiled(target, language, text)));
    let sheet = sheet(profiles, &texts.collect::<Vec<_>>());
    let name = format!("{language:?}-for-{}", target.keyword()).to_lowercase();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("goldens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, sheet));
}

/// The text has no rule for them, and closes the network.
#[rstest]
#[case::listed("allowed_domains = ['example.org']", true)]
#[case::denied("denied_domains = ['example.org']", true)]
#[case::proxied("allowed_domains = ['example.org']\nhttp_proxy_port = 8080", false)]
#[case::none("", false)]
fn domains_that_no_proxy_keeps_are_among_the_limits(#[case] network: &str, #[case] told: bool) {
    let directory = laid_out();
    let top = directory.path().canonicalize().unwrap().display().to_string();
    let text =
        format!("[sandbox.filesystem]\nallow_write = ['@/w']\n[sandbox.network]\n{network}\n");
    let request = request(&top, GoldenDialect::Caliban, &text);
    let compiled = compiled_here(CompileTarget::Seatbelt, &request).unwrap();
    let says = |limit: &String| limit.contains("require network.http_proxy_port");
    assert_eq!(compiled.limits.iter().any(says), told, "{:?}", compiled.limits);
}
