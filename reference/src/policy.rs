//! What a request asks for, in each language of rules: pure, apart from the links that a path is
//! resolved through.

pub(crate) mod agent_state;
pub mod caliban;
pub(crate) mod case_fold;
pub mod executor;
pub(crate) mod grant;
mod grant_names;
pub mod inferoa;
mod mechanism_name;
pub mod orbit;
pub(crate) mod path_glob;
pub(crate) mod path_rules;
pub(crate) mod protected_names;
pub(crate) mod proxy_variables;
pub mod redact;
mod yaml_document;

pub(crate) use grant_names::{GIT_CONFIG_GRANT, GIT_GRANT, GRANTS};
pub(crate) use mechanism_name::{AUTO, MechanismName};
