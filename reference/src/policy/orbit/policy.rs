//! The host's document with a workspace's laid over it, validated as a whole.
//!
//! A workspace replaces a profile as a whole and adds denies; it takes nothing away.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::document::{LocatedText, PolicyDocument, WrittenProfile};
use super::error::PolicyError;
use super::profile::{MatchEffect, PatternOrigin, ProfileRule, ResolvedProfile};
use super::rule::PatternRule;
use super::validate::{self, CheckedProfile, PatternSet};

/// The profile that is there even if no document has it: all may be read and modified.
const UNRESTRICTED: &str = boxproof_cases::protocol::UNRESTRICTED_PROFILE;

/// The union of a host's document and a workspace's, if there is one.
#[derive(Debug, Clone)]
pub struct PolicySet {
    /// The policy's name: the workspace's, if it has one.
    pub name: String,
    /// Its purpose.
    pub description: Option<String>,
    /// The creation time of the host's document, RFC 3339.
    pub created_at: Option<String>,
    /// The time of the last change of either document, RFC 3339.
    pub updated_at: Option<String>,
    deny_read: Vec<SourcedDeny>,
    deny_modify: Vec<SourcedDeny>,
    profiles: BTreeMap<String, ProfileRuleLists>,
}

/// A deny, and its origin.
type SourcedDeny = (Arc<PatternRule>, PatternOrigin);

#[derive(Debug, Clone, Default)]
struct ProfileRuleLists {
    read: Vec<Arc<PatternRule>>,
    modify: Vec<Arc<PatternRule>>,
}

impl PolicySet {
    /// Validates each document by itself, and then both together.
    ///
    /// # Errors
    /// The first rule, in the order of the documents, that cannot be kept to.
    pub fn new(
        host: &PolicyDocument,
        workspace: Option<&PolicyDocument>,
    ) -> Result<Self, PolicyError> {
        let host_alone = Self::from_document(host, PatternOrigin::GlobalDeny)?;
        validate::exceptions(&rules_of(&host_alone.deny_modify))?;
        let Some(workspace) = workspace else { return host_alone.checked() };
        let host = host_alone.checked()?;
        let over = Self::from_document(workspace, PatternOrigin::WorkspaceDeny)?;
        if !fault!("dialects.workspace-exceptions") {
            over.adds_no_exception_to(&host)?;
        }
        host.under(over.checked()?).checked()
    }

    fn from_document(
        document: &PolicyDocument,
        origin: PatternOrigin,
    ) -> Result<Self, PolicyError> {
        let denies = |field: &str, list: &[LocatedText]| {
            let rules = validate::rules(field, list)?;
            Ok::<_, PolicyError>(rules.into_iter().map(|rule| (rule, origin)).collect::<Vec<_>>())
        };
        let deny_read = denies("spec.denyRead", &document.deny_read)?;
        validate::no_exceptions(&rules_of(&deny_read))?;
        let deny_modify = denies("spec.denyModify", &document.deny_modify)?;
        let profiles = document.profiles.iter().map(|(name, written)| {
            let lists = lists(&document.name, name, written)?;
            Ok((name.clone(), lists))
        });
        Ok(Self {
            name: document.name.clone(),
            description: document.description.clone(),
            created_at: document.created_at.clone(),
            updated_at: document.updated_at.clone(),
            deny_read,
            deny_modify,
            profiles: profiles.collect::<Result<_, PolicyError>>()?,
        })
    }

    fn checked(self) -> Result<Self, PolicyError> {
        let (deny_read, deny_modify) = (rules_of(&self.deny_read), rules_of(&self.deny_modify));
        let (deny_read, deny_modify) =
            (PatternSet::from_rules(&deny_read), PatternSet::from_rules(&deny_modify));
        for (profile, ProfileRuleLists { read, modify }) in &self.profiles {
            let (policy, deny_read, deny_modify) = (&self.name, &deny_read, &deny_modify);
            CheckedProfile { policy, profile, read, modify, deny_read, deny_modify }.check()?;
        }
        Ok(self)
    }

    /// A workspace may repeat an exception of its host, which changes nothing.
    fn adds_no_exception_to(&self, host: &Self) -> Result<(), PolicyError> {
        let known = texts(&host.deny_modify);
        let is_known = |rule: &PatternRule| known.contains(rule.written.as_str());
        match self.deny_modify.iter().find(|(rule, _)| rule.negated && !is_known(rule)) {
            None => Ok(()),
            Some((rule, _)) => {
                let message = format!(
                    "spec.denyModify rule `{}` is outside the host policy exception surface",
                    rule.written
                );
                let place = rule.place.as_ref();
                Err(place.map_or_else(
                    || PolicyError::new(&message),
                    |place| PolicyError::at(place, &message),
                ))
            }
        }
    }

    /// The host's with the workspace's over it.
    fn under(self, over: Self) -> Self {
        let mut profiles = self.profiles;
        profiles.extend(over.profiles);
        Self {
            name: over.name,
            description: over.description.or(self.description),
            created_at: self.created_at,
            updated_at: later(self.updated_at, over.updated_at),
            deny_read: match fault!("dialects.host-read-denies-lost") {
                true => over.deny_read,
                false => joined(self.deny_read, over.deny_read),
            },
            deny_modify: match fault!("dialects.workspace-denies-lost") {
                true => self.deny_modify,
                false => joined(self.deny_modify, over.deny_modify),
            },
            profiles,
        }
    }

    /// The names of its profiles, in order.
    pub fn profile_names(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(String::as_str)
    }

    /// One profile with every deny behind its rules.
    ///
    /// # Errors
    /// When there is none of this name, letter for letter.
    pub fn profile(&self, name: &str) -> Result<ResolvedProfile, PolicyError> {
        let (lists, origin) = match self.profiles.get(name) {
            Some(lists) => (lists.clone(), PatternOrigin::Profile),
            None if name == UNRESTRICTED || fault!("dialects.unknown-profile") => {
                (unrestricted(), PatternOrigin::Fallback)
            }
            None => {
                let policy = &self.name;
                let known: Vec<&str> = self.profile_names().chain([UNRESTRICTED]).collect();
                let message = format!(
                    "policy `{policy}` does not define fsProfile `{name}`; it has {}",
                    known.join(", ")
                );
                return Err(PolicyError::new(message));
            }
        };
        let read = effective(lists.read, origin, &self.deny_read);
        Ok(ResolvedProfile::new(name, read, effective(lists.modify, origin, &self.deny_modify)))
    }
}

fn lists(
    policy: &str,
    name: &str,
    written: &WrittenProfile,
) -> Result<ProfileRuleLists, PolicyError> {
    if name.trim().is_empty() && !fault!("dialects.blank-profile-name") {
        let message = format!("policy `{policy}` has an empty fsProfile name");
        return Err(PolicyError::at(&written.place, message));
    }
    let field = |list: &str| format!("spec.fsProfiles.{name}.{list}");
    Ok(ProfileRuleLists {
        read: validate::rules(&field("read"), &written.read)?,
        modify: validate::rules(&field("modify"), &written.modify)?,
    })
}

fn unrestricted() -> ProfileRuleLists {
    let (written, pattern) = ("**".to_owned(), "**".to_owned());
    let all = vec![Arc::new(PatternRule { written, pattern, negated: false, place: None })];
    ProfileRuleLists { read: all.clone(), modify: all }
}

fn rules_of(denies: &[SourcedDeny]) -> Vec<Arc<PatternRule>> {
    denies.iter().map(|(rule, _)| Arc::clone(rule)).collect()
}

/// Returns the texts of the rules.
fn texts(denies: &[SourcedDeny]) -> HashSet<&str> {
    denies.iter().map(|(rule, _)| rule.written.as_str()).collect()
}

/// A deny that is there already, word for word, is not added.
fn joined(host: Vec<SourcedDeny>, over: Vec<SourcedDeny>) -> Vec<SourcedDeny> {
    let mut known: HashSet<String> = texts(&host).into_iter().map(str::to_owned).collect();
    let mut is_new =
        |written: &str| known.insert(written.to_owned()) || fault!("dialects.repeated-denies");
    let new = over.into_iter().filter(|(rule, _)| is_new(&rule.written));
    host.into_iter().chain(new.collect::<Vec<_>>()).collect()
}

fn later(one: Option<String>, other: Option<String>) -> Option<String> {
    let time = |text: &Option<String>| text.as_ref()?.parse::<jiff::Timestamp>().ok();
    if time(&one) >= time(&other) { one } else { other }
}

fn effective(
    own: Vec<Arc<PatternRule>>,
    origin: PatternOrigin,
    denies: &[SourcedDeny],
) -> Vec<ProfileRule> {
    let own = own.into_iter().map(|rule| {
        let effect = if rule.negated { MatchEffect::Refuse } else { MatchEffect::Grant };
        ProfileRule { rule, origin, effect }
    });
    let denies = denies.iter().cloned().map(|(rule, origin)| {
        let effect = if rule.negated { MatchEffect::Except } else { MatchEffect::Refuse };
        ProfileRule { rule, origin, effect }
    });
    own.chain(denies).collect()
}
