//! The policy as a case writes it: partial, with variables; overlays replace whole keys.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::UnknownNetwork;
use super::{CalibanSpec, ExecutorSpec, InferoaSpec, NetworkSpec, OrbitSpec};
use crate::protocol::{
    EnvPolicy, Mode, OnUnavailable, Policy, Protect, Readable, TmpPolicy, WirePath,
};
use crate::vars::{UnknownVariable, VariableValues};

/// The keys a case sets; the rest stay at the policy's defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicySpec {
    /// See [`Policy::mode`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// See [`Policy::readable`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readable: Option<Readable>,
    /// See [`Policy::writable`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable: Option<Vec<String>>,
    /// See [`Policy::deny_read`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_read: Option<Vec<String>>,
    /// See [`Policy::deny_write`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_write: Option<Vec<String>>,
    /// See [`Policy::deny_read_globs`]; below the workspace unless absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_read_globs: Option<Vec<String>>,
    /// See [`Policy::deny_write_globs`]; below the workspace unless absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_write_globs: Option<Vec<String>>,
    /// See [`Policy::protect`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protect: Option<Protect>,
    /// See [`Policy::reopen`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopen: Option<Vec<String>>,
    /// See [`Policy::grants`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vec<String>>,
    /// See [`Policy::infer_grants`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infer_grants: Option<bool>,
    /// See [`Policy::tmp`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmp: Option<TmpPolicy>,
    /// See [`Policy::network`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSpec>,
    /// See [`Policy::unix_sockets`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_sockets: Option<Vec<String>>,
    /// See [`Policy::env`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<EnvPolicy>,
    /// The rules in the orbit dialect; then the other keys say nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orbit: Option<OrbitSpec>,
    /// The rules in the caliban dialect; then the other keys say nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caliban: Option<CalibanSpec>,
    /// The rules as a sandbox block; then the other keys say nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inferoa: Option<InferoaSpec>,
    /// The declaration of an agent executor, for questions; then the other keys say nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<ExecutorSpec>,
    /// See [`Policy::on_unavailable`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable>,
}

impl PolicySpec {
    /// This policy with every key that `over` names replaced whole.
    pub fn overlaid(&self, over: &Self) -> Self {
        let over = over.clone();
        let base = self.clone();
        Self {
            mode: over.mode.or(base.mode),
            readable: over.readable.or(base.readable),
            writable: over.writable.or(base.writable),
            deny_read: over.deny_read.or(base.deny_read),
            deny_write: over.deny_write.or(base.deny_write),
            deny_read_globs: over.deny_read_globs.or(base.deny_read_globs),
            deny_write_globs: over.deny_write_globs.or(base.deny_write_globs),
            protect: over.protect.or(base.protect),
            reopen: over.reopen.or(base.reopen),
            grants: over.grants.or(base.grants),
            infer_grants: over.infer_grants.or(base.infer_grants),
            tmp: over.tmp.or(base.tmp),
            network: over.network.or(base.network),
            unix_sockets: over.unix_sockets.or(base.unix_sockets),
            env: over.env.or(base.env),
            orbit: over.orbit.or(base.orbit),
            caliban: over.caliban.or(base.caliban),
            inferoa: over.inferoa.or(base.inferoa),
            executor: over.executor.or(base.executor),
            on_unavailable: over.on_unavailable.or(base.on_unavailable),
        }
    }

    /// The whole policy over `workspace`, variables expanded, relative paths below the workspace.
    ///
    /// # Errors
    /// A `$NAME` that is no variable, or a port that is none.
    pub fn resolve(
        &self,
        workspace: &Path,
        vars: &VariableValues,
    ) -> Result<Policy, UnknownNetwork> {
        let paths = |list: &Option<Vec<String>>| -> Result<Vec<WirePath>, UnknownVariable> {
            list.iter().flatten().map(|path| place(path, workspace, vars)).collect()
        };
        let globs = |list: &Option<Vec<String>>| -> Result<Vec<String>, UnknownVariable> {
            list.iter().flatten().map(|glob| anchored(glob, workspace, vars)).collect()
        };
        let spec = self.clone();
        let mut env = spec.env.unwrap_or_default();
        env.set = expand_values(&env.set, vars)?;
        Ok(Policy {
            workspace: workspace.into(),
            mode: spec.mode.unwrap_or_default(),
            readable: readable(&spec.readable.unwrap_or_default(), workspace, vars)?,
            writable: paths(&spec.writable)?,
            deny_read: paths(&spec.deny_read)?,
            deny_write: paths(&spec.deny_write)?,
            deny_read_globs: globs(&spec.deny_read_globs)?,
            deny_write_globs: globs(&spec.deny_write_globs)?,
            protect: spec.protect.unwrap_or_default(),
            reopen: paths(&spec.reopen)?,
            grants: spec.grants.unwrap_or_default(),
            infer_grants: spec.infer_grants.unwrap_or(true),
            tmp: spec.tmp.unwrap_or_default(),
            network: spec
                .network
                .map(|network| network.resolve(vars))
                .transpose()?
                .unwrap_or_default(),
            unix_sockets: paths(&spec.unix_sockets)?,
            env,
            on_unavailable: spec.on_unavailable.unwrap_or_default(),
        })
    }

    /// The strings a variable may stand in.
    pub fn strings(&self) -> Vec<&str> {
        let lists = [
            &self.writable,
            &self.deny_read,
            &self.deny_write,
            &self.deny_read_globs,
            &self.deny_write_globs,
            &self.reopen,
            &self.grants,
            &self.unix_sockets,
        ];
        let listed = lists.into_iter().flatten().flatten().map(String::as_str);
        let set = self.env.iter().flat_map(|env| env.set.values()).map(String::as_str);
        let settings = self.caliban.iter().map(|caliban| caliban.settings.as_str());
        let network = self.network.iter().flat_map(NetworkSpec::strings);
        listed.chain(set).chain(settings).chain(network).collect()
    }
}

/// A case's path: variables expanded, below the workspace unless absolute; `@name` stays a name.
fn place(path: &str, workspace: &Path, vars: &VariableValues) -> Result<WirePath, UnknownVariable> {
    let path = vars.expand(path)?;
    Ok(if path.starts_with('@') { path.into() } else { workspace.join(path).into() })
}

/// A case's pattern: variables expanded, below the workspace unless absolute.
fn anchored(
    glob: &str,
    workspace: &Path,
    vars: &VariableValues,
) -> Result<String, UnknownVariable> {
    let glob = vars.expand(glob)?;
    let root = || globset::escape(&workspace.to_string_lossy());
    Ok(if glob.starts_with('/') { glob } else { format!("{}/{glob}", root()) })
}

fn readable(
    readable: &Readable,
    workspace: &Path,
    vars: &VariableValues,
) -> Result<Readable, UnknownVariable> {
    let Readable::Only(roots) = readable else { return Ok(Readable::All) };
    let roots = roots.iter().map(|root| place(&root.0.to_string_lossy(), workspace, vars));
    Ok(Readable::Only(roots.collect::<Result<_, _>>()?))
}

fn expand_values(
    set: &BTreeMap<String, String>,
    vars: &VariableValues,
) -> Result<BTreeMap<String, String>, UnknownVariable> {
    set.iter().map(|(name, value)| Ok((name.clone(), vars.expand(value)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(yaml: &str) -> PolicySpec {
        crate::load::fragment(yaml).unwrap()
    }

    #[test]
    fn an_overlay_replaces_whole_keys_and_leaves_the_rest() {
        let base = spec("{mode: read_only, deny_read: [a, b], network: {host: {}}}");
        let over = base.overlaid(&spec("{deny_read: [], mode: workspace_write}"));
        assert_eq!(over, spec("{mode: workspace_write, deny_read: [], network: {host: {}}}"));
    }

    #[test]
    fn resolving_places_paths_and_expands_variables() {
        let vars = VariableValues::new([("OUT", "/o"), ("ABSTRACT", "@boxproof-1")]);
        let policy =
            spec("{writable: [sub, $OUT/x], deny_write_globs: ['**/*.env', $OUT/*], unix_sockets: [$ABSTRACT], env: {set: {A: $OUT}}}")
                .resolve(Path::new("/w*"), &vars)
                .unwrap();
        assert_eq!(policy.deny_write_globs, ["/w[*]/**/*.env", "/o/*"]);
        assert_eq!(policy.writable, [WirePath::from("/w*/sub"), "/o/x".into()]);
        assert_eq!(policy.unix_sockets, [WirePath::from("@boxproof-1")]);
        assert_eq!(policy.env.set["A"], "/o");
        assert_eq!(policy.workspace, "/w*".into());
    }

    #[test]
    fn a_port_is_a_number_or_that_of_an_address() {
        use crate::protocol::Network;
        let vars = VariableValues::new([("TCP4", "127.0.0.1:81"), ("OUT", "/o")]);
        let network = |yaml: &str| {
            let resolved = spec(&format!("{{network: {yaml}}}")).resolve(Path::new("/w"), &vars);
            resolved.map(|policy| policy.network).map_err(|error| error.to_string())
        };
        assert_eq!(network("{proxy: {port: 80}}"), Ok(Network::Proxy { port: 80 }));
        assert_eq!(network("{proxy: {port: $TCP4}}"), Ok(Network::Proxy { port: 81 }));
        let (allow, deny) = (vec!["127.0.0.1:81".to_owned()], Vec::new());
        assert_eq!(network("{domains: {allow: [$TCP4]}}"), Ok(Network::Domains { allow, deny }));
        assert!(network("{proxy: {port: $OUT}}").unwrap_err().contains("`/o` ends with no port"));
        assert!(network("{domains: {deny: [$OTU]}}").unwrap_err().contains("$OTU"));
    }

    #[test]
    fn an_unknown_variable_is_an_error() {
        let error = spec("{writable: [$OTU]}")
            .resolve(Path::new("/w"), &VariableValues::new([]))
            .unwrap_err();
        assert!(error.to_string().contains("$OTU"));
    }
}
