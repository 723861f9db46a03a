//! Grouping of questions into calls, and the request of a call. Pure.

use std::path::Path;
use std::sync::Arc;

use boxproof_cases::Case;
use boxproof_cases::case::{PolicyDocuments, PolicyQuery};
use boxproof_cases::protocol::{
    CheckRequest, EffectiveRequest, GrantsRequest, PROTOCOL, PathQuestion, StatusRequest,
    ValidateRequest,
};

use super::{compile, executor, finished};
use crate::backend::Backend;
use crate::case_pair::CasePair;
use crate::workspace::ArmWorkspace;

/// Questions that one call asks.
pub(super) struct QueryCall<'a> {
    pub(super) backend: &'a Backend,
    pub(super) cases: Vec<&'a Case>,
    /// The pair of each.
    pub(super) pairs: Vec<CasePair>,
}

impl QueryCall<'_> {
    /// The verb that asks.
    pub(super) fn verb(&self) -> &'static str {
        self.cases[0].question().map_or("check", PolicyQuery::verb)
    }

    /// Returns the options of the verb besides request and result.
    pub(super) fn options(&self) -> Vec<&'static str> {
        match self.cases[0].question() {
            Some(PolicyQuery::Compile(target, _)) => vec!["--target", target.keyword()],
            _ => Vec::new(),
        }
    }
}

/// The calls that ask every pair, in their order.
pub(super) fn calls<'a>(
    cases: &'a [Arc<Case>],
    backends: &'a [Backend],
    pairs: &[CasePair],
) -> Vec<QueryCall<'a>> {
    let mut calls: Vec<QueryCall<'a>> = Vec::new();
    for &pair in pairs {
        let case = &*cases[pair.case];
        let fits = |call: &&mut QueryCall<'_>| {
            call.pairs[0].backend == pair.backend && share_a_call(call.cases[0], case)
        };
        match calls.iter_mut().find(fits) {
            Some(call) => {
                call.cases.push(case);
                call.pairs.push(pair);
            }
            None => calls.push(QueryCall {
                backend: &backends[pair.backend],
                cases: vec![case],
                pairs: vec![pair],
            }),
        }
    }
    calls
}

/// Returns whether two cases ask the same verb about the same documents in the same workspace.
fn share_a_call(one: &Case, other: &Case) -> bool {
    one.question().map(PolicyQuery::verb) == other.question().map(PolicyQuery::verb)
        && one.question().is_some_and(PolicyQuery::is_of_documents)
        && match (one.question(), other.question()) {
            (
                Some(PolicyQuery::Compile(one_target, _)),
                Some(PolicyQuery::Compile(other_target, _)),
            ) => {
                one_target == other_target
                    && one.policy() == other.policy()
                    && one.launcher == other.launcher
            }
            _ => {
                one.policy().documents() == other.policy().documents()
                    && one.policy().caliban == other.policy().caliban
                    && one.policy().executor == other.policy().executor
            }
        }
        && one.fixture == other.fixture
        && crate::workspace::LISTENERS.iter().all(|name| one.uses(name) == other.uses(name))
        && one.prepare == other.prepare
}

/// The request that asks all of `cases`, which share a call, in `workspace`.
///
/// # Errors
/// Returns an error when they are no questions.
pub fn request(cases: &[&Case], workspace: &ArmWorkspace) -> Result<String, String> {
    let first = cases.first().ok_or("no question")?;
    let (root, vars) = (workspace.ws(), &workspace.vars);
    let written = match first.question() {
        Some(PolicyQuery::Compile(..)) => {
            serde_json::to_string_pretty(&compile::request(first, workspace)?)
        }
        Some(PolicyQuery::Grants(_)) => serde_json::to_string_pretty(&GrantsRequest {
            protocol: PROTOCOL,
            workspace: root.into(),
            cwd: None,
            lines: lines(cases),
        }),
        Some(PolicyQuery::Executor) => {
            serde_json::to_string_pretty(&executor::request(first, workspace)?)
        }
        Some(PolicyQuery::Explain(ended)) => {
            serde_json::to_string_pretty(&finished::request(first, ended, &root, vars)?)
        }
        Some(question) if question.is_about_settings() => {
            return super::settings::request(cases, &root, vars);
        }
        _ => return documents_request(first, cases, &root),
    };
    written.map_err(|error| error.to_string())
}

fn lines(cases: &[&Case]) -> Vec<String> {
    let asked = cases.iter().filter_map(|case| match case.question() {
        Some(PolicyQuery::Grants(line)) => Some(line.clone()),
        _ => None,
    });
    asked.collect()
}

fn documents_request(first: &Case, cases: &[&Case], workspace: &Path) -> Result<String, String> {
    let asked = first.policy().documents().ok_or("a question without documents")?;
    let PolicyDocuments { dialect, documents, profile, workspace: named } = asked;
    let question = first.question().ok_or("no question")?;
    let (protocol, profile) = (PROTOCOL, profile.unwrap_or_default());
    let workspace = named.map_or_else(|| workspace.to_owned(), |name| workspace.join(name));
    let text = match question {
        PolicyQuery::Path(..) => {
            let paths = paths(cases);
            let workspace = workspace.into();
            let request = CheckRequest { protocol, dialect, documents, profile, workspace, paths };
            serde_json::to_string_pretty(&request)
        }
        PolicyQuery::Effective => serde_json::to_string_pretty(&EffectiveRequest {
            protocol,
            dialect,
            documents,
            profile,
        }),
        PolicyQuery::Status => {
            let workspace = workspace.into();
            let request = StatusRequest { protocol, dialect, documents, workspace };
            serde_json::to_string_pretty(&request)
        }
        PolicyQuery::Validate => {
            serde_json::to_string_pretty(&ValidateRequest { protocol, dialect, documents })
        }
        PolicyQuery::Settings | PolicyQuery::Ask(_) => {
            return Err("no question of documents".to_owned());
        }
        PolicyQuery::Explain(_) => return Err("a run is no document".to_owned()),
        PolicyQuery::Executor => return Err("an executor is asked about elsewhere".to_owned()),
        PolicyQuery::Grants(_) => return Err("a line is no document".to_owned()),
        PolicyQuery::Compile(..) => {
            return Err("a compiled policy is asked for elsewhere".to_owned());
        }
    };
    text.map_err(|error| error.to_string())
}

fn paths(cases: &[&Case]) -> Vec<PathQuestion> {
    let asked = cases.iter().filter_map(|case| match case.question() {
        Some(PolicyQuery::Path(op, path)) => {
            Some(PathQuestion { op: *op, path: path.as_str().into() })
        }
        _ => None,
    });
    asked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bare, suite};

    const TABLE: &str = "policy: {orbit: {read: ['**']}}
act: {decide: read, path: a}
expect: {answer: {allowed: '**'}}
rows:
  one: {}
  other-path: {act: {decide: modify, path: b}, expect: {answer: {denied: '[]'}}}
  other-policy: {policy: {orbit: {read: [a]}}}
  other-tree: {fixture: {a: x}}
  other-verb: {act: {decide: validate}, expect: {answer: {valid: {}}}}
";

    #[test]
    fn what_shares_documents_and_tree_is_asked_at_once() {
        let cases: Vec<_> = suite(TABLE).cases.into_iter().map(Arc::new).collect();
        let backends = [bare("a"), bare("b")];
        let pair = |case, backend| CasePair { case, backend };
        let pairs: Vec<CasePair> =
            (0..cases.len()).flat_map(|case| [pair(case, 0), pair(case, 1)]).collect();
        let calls = calls(&cases, &backends, &pairs);
        let asked: Vec<_> = calls.iter().map(|call| call.pairs.clone()).collect();
        let twice = |at: usize| [vec![pair(at, 0)], vec![pair(at, 1)]];
        let mut wanted = vec![vec![pair(0, 0), pair(1, 0)], vec![pair(0, 1), pair(1, 1)]];
        wanted.extend((2..5).flat_map(twice));
        assert_eq!(asked, wanted);
        assert_eq!(calls[0].verb(), "check");
        assert_eq!(calls[7].verb(), "validate");
    }

    #[test]
    fn a_request_has_every_path_in_order() {
        let suite = suite(TABLE);
        let cases: Vec<&Case> = suite.cases.iter().take(2).collect();
        let request = documents_request(cases[0], &cases, Path::new("/w")).unwrap();
        let request: CheckRequest = serde_json::from_str(&request).unwrap();
        let paths: Vec<_> = request.paths.iter().map(|asked| asked.op.keyword()).collect();
        assert_eq!(paths, ["read", "modify"]);
        assert_eq!((request.workspace, request.profile.as_str()), ("/w".into(), "command"));
    }
}
