//! Asking for a compiled policy, and what is tried of it: a case's words with the variables of this
//! workspace put in.

use std::path::{Path, PathBuf};

use boxproof_cases::Case;
use boxproof_cases::case::{
    Answer, CalibanSpec, ExpectedDecision, ObjectOperation, OperationAttempt, PolicyDocuments,
    PolicyQuery, TextExpect,
};
use boxproof_cases::protocol::{
    CompileProfile, CompileRequest, CompileRules, CompileSettings, CompileTarget, PROTOCOL,
    SettingsDialect,
};

use crate::execution::ModelAttempt;
use crate::workspace::ArmWorkspace;

/// The request that compiles the policy of `case`.
pub(super) fn request(case: &Case, workspace: &ArmWorkspace) -> Result<CompileRequest, String> {
    let ws = workspace.ws();
    let caliban = case.policy().caliban.as_ref();
    let expand = |text: &str| workspace.vars.expand(text).map_err(|error| error.to_string());
    let rules = match (case.policy().documents(), caliban) {
        (Some(PolicyDocuments { dialect, documents, profile, workspace: named }), _) => {
            let workspace = named.map_or_else(|| ws.clone(), |name| ws.join(name)).into();
            CompileRules::Profile(CompileProfile {
                dialect,
                documents,
                profile,
                workspace,
                side_roots: Vec::new(),
            })
        }
        (None, Some(caliban)) => CompileRules::Settings(CompileSettings {
            dialect: SettingsDialect::Caliban,
            reading: caliban.reading,
            documents: vec![CalibanSpec::document(expand(&caliban.settings)?)],
            workspace: ws.clone().into(),
        }),
        (None, None) => {
            let policy = case.policy().resolve(&ws, &workspace.vars);
            CompileRules::Policy(Box::new(policy.map_err(|error| error.to_string())?))
        }
    };
    let session = caliban.map(|caliban| &caliban.variables).into_iter().flatten();
    let env = case.launcher.env.iter().chain(session);
    let env = env.map(|(name, value)| Ok((name.clone(), expand(value)?)));
    let env = env.collect::<Result<_, String>>()?;
    Ok(CompileRequest { protocol: PROTOCOL, rules, cwd: ws.into(), env })
}

/// Returns the attempt of `case`, if it is about a compiled policy.
pub(super) fn tried(case: &Case, workspace: &ArmWorkspace) -> Result<Option<ModelAttempt>, String> {
    let Some(PolicyQuery::Compile(target, attempt)) = case.question() else { return Ok(None) };
    let object = workspace.vars.expand(&attempt.object).map_err(|error| error.to_string())?;
    let is_path = match attempt.deed {
        ObjectOperation::Lookup => false,
        ObjectOperation::Connect => object.starts_with('/'),
        _ => true,
    };
    let root = real(workspace.root());
    let object = match is_path {
        true => utf8(&place(&workspace.ws().join(object), &root, *target))?,
        false => object,
    };
    let tmp = utf8(&root.join("own-tmp"))?;
    let root = utf8(&root)?;
    let text = expected(case, workspace)?;
    Ok(Some(ModelAttempt {
        attempt: OperationAttempt { deed: attempt.deed, object },
        root,
        tmp,
        text,
    }))
}

/// The place that `path` names where the compiled policy is enforced: outside of what the arm made,
/// links of this host mean nothing on another system.
fn place(path: &Path, root: &Path, target: CompileTarget) -> PathBuf {
    let followed = real(path);
    let foreign = target == CompileTarget::Seatbelt && !cfg!(target_os = "macos");
    match foreign && !followed.starts_with(root) {
        true => path.to_owned(),
        false => followed,
    }
}

/// Returns the expectation of `case` about the text itself.
fn expected(case: &Case, workspace: &ArmWorkspace) -> Result<TextExpect, String> {
    let ExpectedDecision::Answer(Answer::Permits(text) | Answer::Forbids(text)) =
        &case.expect.decision
    else {
        return Ok(TextExpect::default());
    };
    let expanded = |pieces: &[String]| {
        let expand = |piece: &String| workspace.vars.expand(piece).map_err(|e| e.to_string());
        pieces.iter().map(expand).collect::<Result<Vec<_>, _>>()
    };
    Ok(TextExpect { in_order: expanded(&text.in_order)?, lacks: expanded(&text.lacks)? })
}

/// Returns `path` with the symbolic links of its directories followed, but not its last component.
fn real(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(directory), Some(name)) => {
            directory.canonicalize().unwrap_or_else(|_| real(directory)).join(name)
        }
        _ => path.to_owned(),
    }
}

fn utf8(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is not UTF-8", path.display()))
}
