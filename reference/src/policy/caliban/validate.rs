//! The checks of settings, enabled or not: [`CalibanSettings::check`].

use boxproof_cases::protocol::{EffectiveEnv, EffectiveNetwork, EffectivePaths, SourcePrecedence};
use toml::Spanned;

use super::document::{CalibanSettings, NetworkTable};
use super::error::SettingsError;
use super::expand::PathVariables;
use crate::egress::{HostRule, HostRuleError};
use crate::policy::orbit::SourceLocation;

/// Settings in order: every value there, every path absolute.
#[derive(Debug, Clone)]
pub struct ValidSettings {
    pub(super) reading: SourcePrecedence,
    pub(super) enabled: bool,
    pub(super) strict: bool,
    pub(super) auto_allow: bool,
    pub(super) unsandboxed: Vec<String>,
    pub(super) nested: bool,
    pub(super) bwrap: Option<(String, SourceLocation)>,
    pub(super) sandbox_exec: Option<(String, SourceLocation)>,
    pub(super) paths: EffectivePaths,
    pub(super) network: EffectiveNetwork,
    pub(super) env: EffectiveEnv,
    pub(super) warnings: Vec<String>,
}

const DOMAINS: &str = "network.allowed_domains/denied_domains require network.http_proxy_port or \
                       network.socks_proxy_port";

impl ValidSettings {
    /// Returns whether the settings enable the sandbox.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }
}

impl CalibanSettings {
    /// Validates the settings under `reading`: ports, then domains, then paths in their order.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(
        &self,
        reading: SourcePrecedence,
        variables: &PathVariables,
    ) -> Result<ValidSettings, SettingsError> {
        let table = &self.table;
        self.one_proxy(&table.network)?;
        let mut warnings: Vec<String> = self.domains(reading)?.into_iter().collect();
        let paths = SettingsPathReader { settings: self, reading, variables };
        let program = |field: &str, path: &Option<Spanned<String>>| {
            path.as_ref().map(|path| paths.program(field, path)).transpose()
        };
        let files = &table.filesystem;
        let bwrap = program("bwrap_path", &table.bwrap_path)?;
        let sandbox_exec = program("sandbox_exec_path", &table.sandbox_exec_path)?;
        let listed = EffectivePaths {
            allow_read: paths.granted("allow_read", &files.allow_read, &mut warnings)?,
            deny_read: paths.denied("deny_read", &files.deny_read)?,
            allow_write: paths.granted("allow_write", &files.allow_write, &mut warnings)?,
            deny_write: paths.denied("deny_write", &files.deny_write)?,
        };
        let programs = bwrap.iter().chain(&sandbox_exec);
        for (path, place) in programs.filter(|_| !fault!("dialects.helper-in-reach")) {
            trusted(path, place, &listed, variables)?;
        }
        warnings.extend(overlaps(&listed));
        warnings.extend(super::bypass::useless(&table.allow_unsandboxed_commands));
        warnings.extend(super::scrub::useless(&table.env.passthrough));
        Ok(ValidSettings {
            reading,
            enabled: table.enabled,
            strict: table.fail_if_unavailable,
            auto_allow: table.auto_allow_bash_if_sandboxed,
            unsandboxed: table.allow_unsandboxed_commands.clone(),
            nested: table.enable_weaker_nested_sandbox,
            bwrap,
            sandbox_exec,
            paths: listed,
            network: network(&table.network),
            env: EffectiveEnv {
                scrub_secrets: table.env.scrub_secrets,
                passthrough: table.env.passthrough.clone(),
            },
            warnings,
        })
    }

    fn one_proxy(&self, network: &NetworkTable) -> Result<(), SettingsError> {
        match (port(&network.http_proxy_port), &network.socks_proxy_port) {
            (1.., Some(socks)) if *socks.get_ref() > 0 && !fault!("dialects.two-proxies") => {
                Err(SettingsError::config(
                    "set at most one of network.http_proxy_port or network.socks_proxy_port",
                    Some(self.place(&socks.span())),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Checks the lists of domains, which only a proxy can enforce; returns the note on lists
    /// without one.
    fn domains(&self, reading: SourcePrecedence) -> Result<Option<String>, SettingsError> {
        let network = &self.table.network;
        let named = [
            ("allowed_domains", &network.allowed_domains),
            ("denied_domains", &network.denied_domains),
        ];
        named.into_iter().try_for_each(|(field, list)| self.are_domains(field, list.as_ref()))?;
        let lists = [&network.allowed_domains, &network.denied_domains];
        let listed = lists.into_iter().flatten().find(|list| !list.get_ref().is_empty());
        let proxied = port(&network.http_proxy_port) + port(&network.socks_proxy_port) > 0;
        match (listed, proxied, reading) {
            (None, ..) | (_, true, _) => Ok(None),
            // With everything open, a warning would be all that is left of the list.
            (Some(_), false, SourcePrecedence::Adr) if !network.allow_all_outbound => {
                Ok(Some(format!("{DOMAINS}: without one nothing of the network can be reached")))
            }
            _ if fault!("dialects.lists-without-proxy") => Ok(None),
            (Some(list), false, _) => {
                let why = format!("{DOMAINS}; set one of them or remove the list");
                Err(SettingsError::config(why, Some(self.place(&list.span()))))
            }
        }
    }
}

impl CalibanSettings {
    /// Every entry is a host; `*` is for the proxy to know.
    fn are_domains(
        &self,
        field: &str,
        list: Option<&Spanned<Vec<String>>>,
    ) -> Result<(), SettingsError> {
        let Some(list) = list else { return Ok(()) };
        let entries = list.get_ref().iter().filter(|entry| *entry != "*");
        let wrong = |error: HostRuleError| {
            let why = format!("network.{field}: {error}");
            SettingsError::config(why, Some(self.place(&list.span())))
        };
        entries
            .map(|entry| HostRule::read(entry).map(drop))
            .try_for_each(|read| read.map_err(wrong))
    }
}

fn port(port: &Option<Spanned<u16>>) -> u32 {
    port.as_ref().map_or(0, |port| u32::from(*port.get_ref()))
}

fn network(table: &NetworkTable) -> EffectiveNetwork {
    let domains = |list: &Option<Spanned<Vec<String>>>| {
        list.as_ref().map(|list| list.get_ref().clone()).unwrap_or_default()
    };
    let port = |port: &Option<Spanned<u16>>| port.as_ref().map_or(0, |port| *port.get_ref());
    EffectiveNetwork {
        allowed_domains: domains(&table.allowed_domains),
        denied_domains: domains(&table.denied_domains),
        http_proxy_port: port(&table.http_proxy_port),
        socks_proxy_port: port(&table.socks_proxy_port),
        allow_all_outbound: table.allow_all_outbound,
        allow_unix_sockets: table.allow_unix_sockets,
        allow_local_binding: table.allow_local_binding,
        allow_mach_lookup: table.allow_mach_lookup.clone(),
    }
}

/// The context in which the paths of a document are read.
struct SettingsPathReader<'a> {
    settings: &'a CalibanSettings,
    reading: SourcePrecedence,
    variables: &'a PathVariables,
}

impl SettingsPathReader<'_> {
    fn program(
        &self,
        field: &str,
        path: &Spanned<String>,
    ) -> Result<(String, SourceLocation), SettingsError> {
        let place = self.settings.place(&path.span());
        let literal = path.get_ref();
        match (self.reading, literal.starts_with('/')) {
            (SourcePrecedence::Adr, _) => self.path(field, path).map(|path| (path, place)),
            (SourcePrecedence::Head, true) => Ok((literal.clone(), place)),
            (SourcePrecedence::Head, false) => {
                let why = format!("{field}: {literal:?} is not absolute; write the path out");
                Err(SettingsError::config(why, Some(place)))
            }
        }
    }

    fn path(&self, field: &str, path: &Spanned<String>) -> Result<String, SettingsError> {
        let place = self.settings.place(&path.span());
        self.variables.path(field, path.get_ref(), &place)
    }

    /// A grant: read letter for letter it may name nothing, and then it grants nothing.
    fn granted(
        &self,
        list: &str,
        paths: &[Spanned<String>],
        warnings: &mut Vec<String>,
    ) -> Result<Vec<String>, SettingsError> {
        let field = format!("filesystem.{list}");
        if self.reading == SourcePrecedence::Adr {
            return paths.iter().map(|path| self.path(&field, path)).collect();
        }
        let (whole, idle): (Vec<_>, Vec<_>) =
            paths.iter().map(|path| path.get_ref().clone()).partition(|path| path.starts_with('/'));
        warnings.extend(idle.iter().map(|path| {
            format!("{field}: {path:?} is not absolute, read letter for letter, and grants nothing")
        }));
        Ok(whole)
    }

    /// A denial that names nothing would protect nothing: it is an error in every reading.
    fn denied(&self, list: &str, paths: &[Spanned<String>]) -> Result<Vec<String>, SettingsError> {
        let field = format!("filesystem.{list}");
        let literal = |path: &Spanned<String>| match path.get_ref().starts_with('/') {
            true => Ok(path.get_ref().clone()),
            false => Err(SettingsError::config(
                format!(
                    "{field}: {:?} is not absolute, and would deny nothing; write the path out",
                    path.get_ref()
                ),
                Some(self.settings.place(&path.span())),
            )),
        };
        let one = |path: &Spanned<String>| match self.reading {
            SourcePrecedence::Adr => self.path(&field, path),
            SourcePrecedence::Head => literal(path),
        };
        paths.iter().map(one).collect()
    }
}

/// Checks that `path` is no program that a confined command could replace: such a program is not
/// started outside.
fn trusted(
    path: &str,
    place: &SourceLocation,
    paths: &EffectivePaths,
    variables: &PathVariables,
) -> Result<(), SettingsError> {
    let below = |root: &str| std::path::Path::new(path).starts_with(root);
    let workspace = variables.get("WORKSPACE");
    let roots = paths.allow_write.iter().map(String::as_str).chain(workspace);
    match roots.into_iter().find(|root| below(root)) {
        None => Ok(()),
        Some(root) => Err(SettingsError::config(
            format!(
                "{path} lies in {root}, where a command can replace it; name one out of its reach"
            ),
            Some(place.clone()),
        )),
    }
}

/// Paths that are granted and denied word for word: the denial counts.
fn overlaps(paths: &EffectivePaths) -> Vec<String> {
    let grants = [("allow_read", &paths.allow_read), ("allow_write", &paths.allow_write)];
    let denies = [("deny_read", &paths.deny_read), ("deny_write", &paths.deny_write)];
    let mut found = Vec::new();
    for (grant, granted) in grants {
        for (deny, denied) in denies {
            // A readable path may be denied for writing.
            let meet = (grant, deny) != ("allow_read", "deny_write");
            let both = granted.iter().filter(|path| meet && denied.contains(path));
            found.extend(both.map(|path| {
                format!("filesystem: {path:?} is in {grant} and in {deny}; the denial counts")
            }));
        }
    }
    found
}
