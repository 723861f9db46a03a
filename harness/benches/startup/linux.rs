//! Start-up cost of a sandbox: a trivial command, bare and under each backend, then with more
//! and more denied paths. Ratios of one run; `cargo bench --bench startup`.
#![allow(clippy::unwrap_used, reason = "what cannot be set up is not measured")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot start has nothing to measure")]

#[path = "../pairs/mod.rs"]
mod pairs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use boxproof::backend::{Backend, LaunchContext, LaunchPlan, SettledUser, resolve};
use boxproof_cases::protocol::{self, PROTOCOL, Policy, Run, RunRequest};
use pairs::{Variant, compare, criterion};

const ROUNDS: usize = 41;

/// Measures and prints.
pub(crate) fn main() {
    let me = Path::new(env!("CARGO_BIN_EXE_boxproof"));
    let directory = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut criterion = criterion();
    let names = ["none", "reference:namespaces", "reference:bubblewrap", "bubblewrap", "firejail"];
    let backends: Vec<Backend> = names
        .iter()
        .filter_map(|name| resolve(name, me, &SettledUser::root_as_asked()).ok())
        .filter(|b| b.missing.is_none())
        .collect();
    let bare = || run(&mut Command::new("/bin/true"));
    let mut variants = vec![Variant::new("bare", bare)];
    for backend in &backends {
        let mut start = Start::new(backend, directory.path(), 0);
        variants.push(Variant::new(&backend.name, move || start.once()));
    }
    compare(&mut criterion, "trivial", ROUNDS, variants);
    for denied in [10, 100, 500] {
        let rounds = if denied == 500 { 7 } else { 15 };
        let order = ["bubblewrap", "reference:namespaces", "reference:bubblewrap"];
        let chosen = order.iter().filter_map(|name| backends.iter().find(|b| b.name == *name));
        let variants = chosen.map(|backend| {
            let mut start = Start::new(backend, directory.path(), denied);
            Variant::new(&backend.name, move || start.once())
        });
        compare(&mut criterion, &format!("{denied} denied"), rounds, variants.collect());
    }
}

/// One prepared start of a backend.
struct Start {
    argv: Vec<std::ffi::OsString>,
    env: BTreeMap<String, String>,
}

impl Start {
    fn new(backend: &Backend, directory: &Path, denied: usize) -> Self {
        let directory = directory.join(format!("{}-{denied}", backend.name));
        let workspace = directory.join("ws");
        let (state, secret) = (directory.join("state"), directory.join("secret"));
        for directory in [&workspace, &state, &secret] {
            std::fs::create_dir_all(directory).unwrap();
        }
        let mut policy = Policy::new(workspace.clone());
        policy.deny_read = (0..denied).map(|at| denied_file(&secret, at).into()).collect();
        let run = Run::new(protocol::Command::Argv(vec!["/bin/true".into()]), workspace);
        let request = RunRequest { protocol: PROTOCOL, policy, run };
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let context = LaunchContext {
            state: &state,
            home: &directory,
            uid: nix::unistd::geteuid().as_raw(),
            probe: Path::new("/bin/true"),
            unprotects: false,
            base_env: &env,
            documents: None,
            settings: None,
            request_file: &state.join("request.json"),
            result_file: &state.join("result.json"),
        };
        let Ok(LaunchPlan::Spawn(spawn)) = backend.launch(&request, &context) else {
            panic!("{} cannot be asked this", backend.name)
        };
        for (path, content) in &spawn.files {
            std::fs::write(path, content).unwrap();
        }
        Self { argv: spawn.argv, env: spawn.env }
    }

    fn once(&mut self) {
        run(Command::new(&self.argv[0]).args(&self.argv[1..]).env_clear().envs(&self.env));
    }
}

fn denied_file(directory: &Path, at: usize) -> PathBuf {
    let path = directory.join(at.to_string());
    std::fs::write(&path, "secret").unwrap();
    path
}

/// Runs to the end; a start that fails would be quick, and no measurement.
fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}
