//! The names of the grants that a policy can hold.

/// The grant that lets a repository's history be written: objects, refs, index, logs.
pub(crate) const GIT_GRANT: &str = "git_metadata_write";
/// The grant that opens git's names wholly: hooks, configuration and pointer files too.
pub(crate) const GIT_CONFIG_GRANT: &str = "git_config_write";
/// Every grant that is understood.
pub(crate) const GRANTS: [&str; 2] = [GIT_GRANT, GIT_CONFIG_GRANT];
