//! The arms of a case: each one as it was executed ([`ExecutedArm`]), and together ([`ArmSet`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use boxproof_cases::Case;
use boxproof_cases::case::{Control, Twin};
use serde::{Deserialize, Serialize};

use super::{ArmReport, CaseExecution};
use crate::case_pair::CasePair;
use crate::channel_observation::ChannelObservation;

/// The three kinds of arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmKind {
    /// Without a sandbox.
    Control,
    /// Same backend, wider policy.
    Twin,
    /// Under the policy under test.
    Confined,
}

/// One arm, done or not; by default that of an act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmRecord<T = ArmReport> {
    /// An executed arm.
    Done(Box<T>),
    /// The backend cannot be asked this, for this reason.
    Inexpressible(String),
    /// The harness could not do it, for this reason.
    Fault(String),
}

impl<T> ArmRecord<T> {
    /// Returns the observations of an executed arm.
    pub fn done(&self) -> Option<&T> {
        match self {
            Self::Done(seen) => Some(seen),
            _ => None,
        }
    }

    /// Returns the observations of an executed arm, to add to them.
    pub fn done_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Done(seen) => Some(seen),
            _ => None,
        }
    }
}

/// The arms that a case asks for, by default those of an act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmSet<T = ArmReport> {
    /// Without a sandbox; none where the case has no control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<ArmRecord<T>>,
    /// Same backend, wider policy; none where the case has no such twin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin: Option<ArmRecord<T>>,
    /// Under the policy under test.
    pub confined: ArmRecord<T>,
}

impl<T> ArmSet<T> {
    /// Returns the arms that a backend has executed: the one under test and its twin.
    pub fn sandboxed(&self) -> impl Iterator<Item = &ArmRecord<T>> {
        [Some(&self.confined), self.twin.as_ref()].into_iter().flatten()
    }

    /// Returns the arms that a backend has executed, to add to what was seen of them.
    pub fn sandboxed_mut(&mut self) -> impl Iterator<Item = &mut ArmRecord<T>> {
        [Some(&mut self.confined), self.twin.as_mut()].into_iter().flatten()
    }
}

/// One arm as a worker has executed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutedArm {
    /// That of an act.
    Act(ArmRecord),
    /// That of a receipts channel.
    Channel(ArmRecord<ChannelObservation>),
}

impl ExecutedArm {
    /// Returns an arm of `case` that the harness could not execute, for the reason `why`.
    pub fn fault(case: &Case, why: String) -> Self {
        match case.channel() {
            Some(_) => Self::Channel(ArmRecord::Fault(why)),
            None => Self::Act(ArmRecord::Fault(why)),
        }
    }

    /// Returns in its place one of the same kind that failed, for the reason `why`.
    pub fn failed(&self, why: String) -> Self {
        match self {
            Self::Act(_) => Self::Act(ArmRecord::Fault(why)),
            Self::Channel(_) => Self::Channel(ArmRecord::Fault(why)),
        }
    }
}

/// The arms of one case that were executed so far.
pub type ExecutedArms = BTreeMap<ArmKind, ExecutedArm>;

/// The arms that were executed so far, by case and backend.
pub type GatheredArms = HashMap<CasePair, ExecutedArms>;

/// Returns whether every arm that `case` asks for is among those of these `kinds`.
pub fn is_whole<'a>(case: &Case, kinds: impl IntoIterator<Item = &'a ArmKind>) -> bool {
    let kinds: BTreeSet<ArmKind> = kinds.into_iter().copied().collect();
    let control = matches!(case.control, Control::None(_)) || kinds.contains(&ArmKind::Control);
    let twin = !matches!(case.twin, Some(Twin::Overlay(_))) || kinds.contains(&ArmKind::Twin);
    control && twin && kinds.contains(&ArmKind::Confined)
}

impl CaseExecution {
    /// Puts the arms of `case` together; none unless every arm is there that it asks for.
    pub fn from_arms(case: &Case, mut arms: ExecutedArms) -> Option<Self> {
        if !is_whole(case, arms.keys()) {
            return None;
        }
        let [control, twin, confined] =
            [ArmKind::Control, ArmKind::Twin, ArmKind::Confined].map(|kind| arms.remove(&kind));
        let confined = confined?;
        Some(match case.channel() {
            Some(_) => Self::Channel(ArmSet {
                control: control.map(of_channel),
                twin: twin.map(of_channel),
                confined: of_channel(confined),
            }),
            None => Self::Arms(ArmSet {
                control: control.map(of_act),
                twin: twin.map(of_act),
                confined: of_act(confined),
            }),
        })
    }
}

/// The reason of an arm whose kind is not that of its case.
const OTHER_KIND: &str = "a worker has answered with an arm of another kind";

fn of_act(arm: ExecutedArm) -> ArmRecord {
    match arm {
        ExecutedArm::Act(arm) => arm,
        ExecutedArm::Channel(_) => ArmRecord::Fault(OTHER_KIND.to_owned()),
    }
}

fn of_channel(arm: ExecutedArm) -> ArmRecord<ChannelObservation> {
    match arm {
        ExecutedArm::Channel(arm) => arm,
        ExecutedArm::Act(_) => ArmRecord::Fault(OTHER_KIND.to_owned()),
    }
}
