//! Asking for a compiled policy, and what is tried of it: a case's words with the variables of this
//! workspace put in.

use std::path::{Path, PathBuf};

use boxproof_cases::Case;
use boxproof_cases::case::{Attempt, Deed, Question};
use boxproof_cases::protocol::{CompileProfile, CompileRequest, CompileRules, Dialect, PROTOCOL};

use crate::execution::Tried;
use crate::workspace::Workspace;

/// The request that compiles the policy of `case`.
pub(super) fn request(case: &Case, workspace: &Workspace) -> Result<CompileRequest, String> {
    let ws = workspace.ws();
    let rules = match &case.policy().orbit {
        Some(orbit) => CompileRules::Profile(CompileProfile {
            dialect: Dialect::Orbit,
            documents: orbit.documents(),
            profile: orbit.profile().to_owned(),
            workspace: ws.clone().into(),
        }),
        None => {
            let policy = case.policy().resolve(&ws, &workspace.vars);
            CompileRules::Policy(Box::new(policy.map_err(|error| error.to_string())?))
        }
    };
    let env = case.launcher.env.iter().map(|(name, value)| {
        Ok((name.clone(), workspace.vars.expand(value).map_err(|error| error.to_string())?))
    });
    let env = env.collect::<Result<_, String>>()?;
    Ok(CompileRequest { protocol: PROTOCOL, rules, cwd: ws.into(), env })
}

/// What `case` tries, if it is about a compiled policy.
pub(super) fn tried(case: &Case, workspace: &Workspace) -> Result<Option<Tried>, String> {
    let Some(Question::Compile(_, attempt)) = case.question() else { return Ok(None) };
    let object = workspace.vars.expand(&attempt.object).map_err(|error| error.to_string())?;
    let is_path = match attempt.deed {
        Deed::Lookup => false,
        Deed::Connect => object.starts_with('/'),
        _ => true,
    };
    let object = match is_path {
        true => utf8(&real(&workspace.ws().join(object)))?,
        false => object,
    };
    let tmp = utf8(&real(workspace.root()).join("own-tmp"))?;
    Ok(Some(Tried { attempt: Attempt { deed: attempt.deed, object }, tmp }))
}

/// `path` with the links of its folders followed; its last name is meant itself.
fn real(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => {
            folder.canonicalize().unwrap_or_else(|_| real(folder)).join(name)
        }
        _ => path.to_owned(),
    }
}

fn utf8(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is not UTF-8", path.display()))
}
