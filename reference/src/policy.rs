//! What a request asks for, in each language of rules: pure, apart from the links that a path is
//! resolved through.

mod grant_names;
mod mechanism_name;

pub(crate) use grant_names::{GIT_CONFIG_GRANT, GIT_GRANT, GRANTS};
pub(crate) use mechanism_name::{AUTO, MechanismName};
