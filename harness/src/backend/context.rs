//! Context of a template: the policy, the command, and the paths on this host.

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{PROTECTED_NAMES, Policy, Protect, Readable, RunRequest, WirePath};
use minijinja::{Environment, Value, context};

use super::write_rules::{contradictory, regranted, write_rules};
use super::{ENDPOINT, LaunchContext, LaunchError, environment};

/// The grant that takes [`GIT`] out of the protected names.
const GIT_GRANT: &str = "git_config_write";
const GIT: &str = ".git";

/// The variables that [`of`] defines; a template that asks for another is refused when it is read.
pub(super) const VARIABLES: &[&str] = &[
    "policy",
    "protected",
    "protected_all",
    "write_rules",
    "contradictory",
    "regranted",
    "command",
    "cwd",
    "timeout_ms",
    "env",
    "removed",
    "path",
    "program",
    "probe",
    "home",
    "endpoint",
    "state",
    "uid",
    "unprotects",
];

/// The variables of one request.
///
/// # Errors
/// A path that is not UTF-8: templates are text.
pub(super) fn template_context(
    program: &Path,
    request: &RunRequest,
    ctx: &LaunchContext<'_>,
) -> Result<Value, LaunchError> {
    let policy = &request.policy;
    let paths =
        paths(policy).chain([request.run.cwd.as_path(), ctx.state, ctx.home, ctx.probe, program]);
    if let Some(path) = paths.into_iter().find(|path| path.to_str().is_none()) {
        let reason = format!("{} is not UTF-8, and an argument template is text", path.display());
        return Err(LaunchError::Inexpressible(reason));
    }
    let home = ctx.base_env.get("HOME").map(Path::new);
    let env = environment::policy_environment(&policy.env, policy.mode, ctx.base_env);
    let removed: Vec<&String> =
        ctx.base_env.keys().filter(|name| !env.contains_key(*name)).collect();
    Ok(context! {
        policy => members(policy),
        protected => texts(present(protected(policy, home))),
        protected_all => texts(protected(policy, home)),
        write_rules => write_rules(policy, present(protected(policy, home))),
        contradictory => texts(contradictory(policy)),
        regranted => texts(regranted(policy, &protected(policy, home))),
        command => request.run.command.to_argv(),
        cwd => request.run.cwd.as_path().to_str(),
        timeout_ms => request.run.timeout_ms,
        env => &env,
        removed => removed,
        path => ctx.base_env.get("PATH").map_or("", String::as_str),
        program => program.to_str(),
        probe => ctx.probe.to_str(),
        home => ctx.home.to_str(),
        endpoint => ENDPOINT,
        state => ctx.state.to_str(),
        uid => ctx.uid,
        unprotects => ctx.unprotects,
    })
}

/// The policy with every member, those included that the protocol leaves out where they are empty.
fn members(policy: &Policy) -> Value {
    let mut members = serde_json::to_value(policy).unwrap_or_default();
    if let Some(members) = members.as_object_mut() {
        members.entry("reopen").or_insert_with(|| serde_json::Value::Array(Vec::new()));
    }
    Value::from_serialize(members)
}

fn paths(policy: &Policy) -> impl Iterator<Item = &Path> {
    let readable: &[WirePath] = match &policy.readable {
        Readable::All => &[],
        Readable::Only(roots) => roots,
    };
    let lists = [readable, &policy.writable, &policy.deny_read, &policy.deny_write];
    let lists = lists.into_iter().flatten().chain(&policy.unix_sockets);
    lists.chain([&policy.workspace]).map(WirePath::as_path)
}

/// The protected names directly below the workspace, every further writable directory, and the
/// launcher's `home` where one of these covers it, as paths; none unless the policy protects them.
fn protected(policy: &Policy, home: Option<&Path>) -> Vec<PathBuf> {
    if policy.protect == Protect::None {
        return Vec::new();
    }
    let git_is_granted = policy.grants.iter().any(|grant| grant == GIT_GRANT);
    let names = PROTECTED_NAMES.iter().filter(|name| !(git_is_granted && **name == GIT));
    let further = policy.writable.iter().filter(|root| **root != policy.workspace);
    let roots = further.map(WirePath::as_path).filter(|root| !root.is_file());
    let roots: Vec<&Path> = [policy.workspace.as_path()].into_iter().chain(roots).collect();
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let home = home.map(real).filter(|home| {
        roots.iter().map(|root| real(root)).any(|root| home.starts_with(&root) && *home != root)
    });
    let roots = roots.iter().copied().chain(home.as_deref());
    roots.flat_map(|root| names.clone().map(|name| root.join(name))).collect()
}

/// Returns those of `paths` that exist. A link counts even if its target does not exist.
fn present(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.retain(|path| path.symlink_metadata().is_ok());
    paths
}

fn texts(paths: Vec<PathBuf>) -> Vec<String> {
    paths.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect()
}

/// The functions a template can call, and the test `existing`; links are followed.
pub(super) fn add_functions(env: &mut Environment<'_>) {
    env.add_test("existing", |path: &str| Path::new(path).exists());
    env.add_test("link", |path: &str| Path::new(path).is_symlink());
    env.add_test("absolute_link", |path: &str| {
        std::fs::read_link(path).is_ok_and(|text| text.is_absolute())
    });
    env.add_function("exists", |path: &str| Path::new(path).exists());
    env.add_function("is_dir", |path: &str| Path::new(path).is_dir());
    env.add_function("is_file", |path: &str| Path::new(path).is_file());
    env.add_filter("sh", |text: &str| format!("'{}'", text.replace('\'', "'\\''")));
    env.add_function("dirname", |path: &str| {
        Path::new(path).parent().and_then(Path::to_str).unwrap_or("/").to_owned()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_protected_in_every_writable_directory() {
        let mut policy = Policy::new("/w");
        policy.writable = ["/out", "/w", "/etc/passwd"].map(WirePath::from).to_vec();
        assert!(protected(&policy, None).is_empty());
        policy.protect = Protect::Metadata;
        let found = protected(&policy, None);
        assert_eq!(found.len(), 2 * PROTECTED_NAMES.len(), "{found:?}");
        assert!(["/w/.git", "/out/.git"].iter().all(|path| found.contains(&path.into())));
        let within = |home: &str| protected(&policy, Some(home.as_ref()));
        assert!(within("/out/u").contains(&"/out/u/.bashrc".into()));
        assert!(["/out", "/home/u"].iter().all(|home| within(home) == found));
        policy.grants = vec![GIT_GRANT.to_owned()];
        assert!(!protected(&policy, None).iter().any(|path| path.ends_with(GIT)));
    }
}
