//! The rule of an operation that was refused for certain, and the change that would let it be done
//! ([`EventJudge`]).

use std::cell::OnceCell;
use std::path::Path;

use boxproof_cases::protocol::{Blocked, WirePath};
use nix::errno::Errno;

use super::analysis::{FailureAnalysis, classes};
use super::policy_index::AccessKind;
use super::rule::DenialRule;
use super::{CompletedRun, HOST, RunDenial, hidden, unreached};
use crate::egress::DeniedHost;

/// The rule of one refusal, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventVerdict {
    pub(crate) rule: &'static str,
    pub(crate) action: String,
}

/// The judge of the refusals of one run; its policy is only read once there is one.
pub(crate) struct EventJudge<'a> {
    run: &'a CompletedRun<'a>,
    analysis: OnceCell<FailureAnalysis<'a>>,
}

impl<'a> EventJudge<'a> {
    /// Creates the judge of `run`, of which neither output nor end is needed.
    pub(crate) fn new(run: &'a CompletedRun<'a>) -> Self {
        Self { run, analysis: OnceCell::new() }
    }

    /// Returns the verdict on a change at `path` that failed with `errno`.
    pub(crate) fn of_change(&self, path: &Path, errno: Errno) -> EventVerdict {
        let classes = classes(errno).into_iter();
        let ground = self.analysis().ground();
        let mut rules = classes.filter_map(|class| ground.refuses(path, AccessKind::Write, class));
        let rule = rules.next().map_or(DenialRule::RuntimeDenied, |(rule, _)| rule);
        self.verdict(rule, "write", path)
    }

    /// Returns the verdict on a connection to the socket of the host at `path`; none where the user
    /// could not reach it outside the sandbox either.
    pub(crate) fn of_socket(&self, path: &Path) -> Option<EventVerdict> {
        (HOST.may_write)(path).then_some(())?;
        let rule = match self.analysis().ground().may_list(path) {
            true => DenialRule::RuntimeDenied,
            false => DenialRule::ReadDenied,
        };
        Some(self.verdict(rule, "connect", path))
    }

    /// Returns the verdict on a connection that found no route.
    pub(crate) fn of_address(&self) -> EventVerdict {
        let rule = DenialRule::NetworkRestricted;
        let denial = RunDenial { rule, op: Some("connect"), path: None, what: None };
        let action = self.run.dialect.action(&self.analysis().remedy(&denial));
        EventVerdict { rule: rule.rule_name(), action: self.hidden(action) }
    }

    /// Returns the explanation of a host that the proxy refused.
    pub(crate) fn of_host(&self, denied: &DeniedHost) -> Blocked {
        unreached(denied, self.run.secrets)
    }

    /// Returns `path` without the values that must not be shown.
    pub(crate) fn shown(&self, path: &Path) -> WirePath {
        let text = path.to_string_lossy().into_owned();
        let shown = self.hidden(text.clone());
        if shown == text { path.into() } else { shown.into() }
    }

    /// Returns `text` without the values that must not be shown.
    pub(crate) fn hidden(&self, text: String) -> String {
        hidden(text, self.run.secrets)
    }

    fn analysis(&self) -> &FailureAnalysis<'a> {
        self.analysis.get_or_init(|| FailureAnalysis::new(self.run, HOST))
    }

    fn verdict(&self, rule: DenialRule, op: &'static str, path: &Path) -> EventVerdict {
        let denial = RunDenial { rule, op: Some(op), path: Some(path.to_owned()), what: None };
        let action = self.run.dialect.action(&self.analysis().remedy(&denial));
        EventVerdict { rule: rule.rule_name(), action: self.hidden(action) }
    }
}
