//! Judging a manifest before the sandbox: every template is rendered under the default policy and
//! with each member set once. Main type: [`UnsaidMembers`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use boxproof_cases::protocol::RunRequest;

use super::launch::{SpawnPlan, spawn_by_manifest};
use super::variations::{PolicyVariation, VARIATIONS, default_request, is_whole};
use super::{LaunchContext, LaunchError, Manifest};

/// The users as which a recipe is rendered: it may differ for root.
const UIDS: [u32; 2] = [1000, 0];

/// The value of a member that a request has by default.
const DEFAULT: &str = "the default";

/// The remedy for what a manifest does not say.
const REMEDY: &str = "render it or say `inexpressible`; cases that turn on it are unsupported";

/// The parts of a policy that a manifest neither renders nor calls inexpressible: numbers of
/// `VARIATIONS`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnsaidMembers {
    /// Those that no template reads.
    unread: Vec<usize>,
    /// Those that are rendered like an earlier value of the same member, with that value.
    alike: Vec<(usize, &'static str)>,
}

/// A recipe as rendered for each of [`UIDS`]; none where the policy is inexpressible.
type RenderedRecipe = Vec<Option<SpawnPlan>>;

impl UnsaidMembers {
    /// Returns what `manifest`, whose templates ask for `names`, does not say.
    ///
    /// # Errors
    /// The field of a template that cannot be rendered under some policy, and why.
    pub(super) fn find(
        manifest: &Manifest,
        names: &BTreeSet<String>,
    ) -> Result<Self, (String, String)> {
        let plain =
            rendered(manifest, &default_request()).map_err(|fault| template_fault(&fault, ""))?;
        let mut earlier: Vec<(&str, &'static str, RenderedRecipe)> = Vec::new();
        let mut unsaid = Self::default();
        for (number, variation) in VARIATIONS.iter().enumerate() {
            let mut request = default_request();
            (variation.set)(&mut request);
            let recipe = rendered(manifest, &request);
            let recipe = recipe.map_err(|fault| template_fault(&fault, &variation.name()))?;
            // Calling it inexpressible is one way to say it.
            if recipe.iter().all(Option::is_none) {
                continue;
            }
            let PolicyVariation { member, value, .. } = variation;
            let handed_on = manifest.passes_env && *member == "policy.env.set";
            if !variation.is_read(names) && !handed_on {
                unsaid.unread.push(number);
                continue;
            }
            if value.is_empty() || is_whole(names) || recipe.contains(&None) {
                continue;
            }
            let others = earlier.iter().filter(|(of, ..)| of == member);
            let others = others.map(|(_, value, recipe)| (*value, recipe));
            let mut others = std::iter::once((DEFAULT, &plain)).chain(others);
            match others.find(|(_, other)| **other == recipe) {
                Some((like, _)) => unsaid.alike.push((number, like)),
                None => earlier.push((member, value, recipe)),
            }
        }
        Ok(unsaid)
    }

    /// Returns the reason why `request` cannot be asked, if it differs from the default in a way
    /// that is not said.
    pub(super) fn reason(&self, request: &RunRequest) -> Option<String> {
        let is_set = |number: &usize| (VARIATIONS[*number].is_set)(request);
        let name = |number: &usize| VARIATIONS[*number].name();
        if let Some(number) = self.unread.iter().find(|number| is_set(number)) {
            return Some(format!("the manifest never reads {}", name(number)));
        }
        let (number, like) = self.alike.iter().find(|(number, _)| is_set(number))?;
        Some(format!("the manifest renders {} like {like}", name(number)))
    }

    /// Returns sentences for the person who wrote the manifest, which `--backend` takes as `spec`.
    pub fn notes(&self, spec: &str) -> Vec<String> {
        let mut members: Vec<&str> = self.unread.iter().map(|at| VARIATIONS[*at].member).collect();
        members.dedup();
        let alike = self.alike.iter();
        let alike: Vec<String> =
            alike.map(|(at, like)| format!("{} like {like}", VARIATIONS[*at].name())).collect();
        let said = [("never reads", members.join(", ")), ("renders", alike.join(", "))];
        let said = said.iter().filter(|(_, list)| !list.is_empty());
        said.map(|(verb, list)| format!("{spec} {verb} {list}: {REMEDY}")).collect()
    }
}

/// Returns the field at fault and the message, with the variation it was met in.
fn template_fault(fault: &LaunchError, variation: &str) -> (String, String) {
    let within = match variation {
        "" => String::new(),
        name => format!(" (under a policy that sets {name})"),
    };
    match fault {
        LaunchError::Manifest { field, message } => {
            ((*field).to_owned(), format!("{message}{within}"))
        }
        LaunchError::Inexpressible(why) => (String::new(), format!("{why}{within}")),
    }
}

fn rendered(manifest: &Manifest, request: &RunRequest) -> Result<RenderedRecipe, LaunchError> {
    UIDS.iter().map(|uid| rendered_as(manifest, request, *uid)).collect()
}

fn rendered_as(
    manifest: &Manifest,
    request: &RunRequest,
    uid: u32,
) -> Result<Option<SpawnPlan>, LaunchError> {
    let base_env = BTreeMap::from([("PATH".to_owned(), "/usr/bin".to_owned())]);
    let place = Path::new("/usr");
    let context = LaunchContext {
        state: place,
        home: place,
        uid,
        probe: place,
        unprotects: false,
        base_env: &base_env,
        documents: None,
        settings: None,
        request_file: place,
        result_file: place,
    };
    match spawn_by_manifest(manifest, Path::new(&manifest.program), request, &context) {
        Ok(spawn) => Ok(Some(spawn)),
        Err(LaunchError::Inexpressible(_)) => Ok(None),
        Err(fault) => Err(fault),
    }
}
