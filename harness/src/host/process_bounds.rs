//! Bounds within which this process can start another one: its least nice value, and the limits
//! that it may not raise ([`ProcessBounds`]).

use std::collections::BTreeMap;

use boxproof_cases::case::{Launcher, LimitedResource};

use crate::sys;

/// Every resource that a launcher can limit.
const RESOURCES: [LimitedResource; 6] = [
    LimitedResource::As,
    LimitedResource::Core,
    LimitedResource::Cpu,
    LimitedResource::Fsize,
    LimitedResource::Nofile,
    LimitedResource::Stack,
];

/// The bounds of what a launcher can bring; by default there are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessBounds {
    /// The least nice value that a child can have.
    pub least_nice: u8,
    /// The limits that cannot be raised; of the other resources as much as is asked for can be had.
    pub most: BTreeMap<LimitedResource, u64>,
}

impl ProcessBounds {
    /// Finds the bounds of this process, by trying in children.
    pub fn detect() -> Self {
        let least_nice = (0..=19).find(|nice| sys::try_nice(*nice).is_ok()).unwrap_or_default();
        let most = RESOURCES
            .into_iter()
            .filter_map(|resource| Some((resource, sys::firm_limit(resource)?)))
            .collect();
        Self { least_nice, most }
    }

    /// Names what `launcher` brings and this process cannot give to a child, with its own bound.
    pub fn lacks(&self, launcher: &Launcher) -> Option<String> {
        let nice = launcher.nice.filter(|nice| *nice < self.least_nice);
        if let Some(nice) = nice {
            return Some(format!("nice {nice}, below {} of this process", self.least_nice));
        }
        launcher.limits.iter().find_map(|(resource, wanted)| {
            let most = self.most.get(resource).filter(|most| wanted > most)?;
            let word = format!("{resource:?}").to_lowercase();
            Some(format!("{word} {wanted}, above {most} of this process"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("", None)]
    #[case("launcher: {nice: 10}", None)]
    #[case("launcher: {nice: 5}", Some("nice 5, below 10 of this process"))]
    #[case("launcher: {limits: {nofile: 64}}", None)]
    #[case("launcher: {limits: {nofile: 65}}", Some("nofile 65, above 64 of this process"))]
    #[case("launcher: {limits: {as: 1073741824}}", None)]
    fn names_what_cannot_be_had(#[case] member: &str, #[case] lacks: Option<&str>) {
        let text = format!("act: {{sh: 'true'}}\nexpect: {{allowed: {{}}}}\n{member}\n");
        let most = BTreeMap::from([(LimitedResource::Nofile, 64)]);
        let bounds = ProcessBounds { least_nice: 10, most };
        assert_eq!(bounds.lacks(&crate::testing::case(&text).launcher).as_deref(), lacks);
        assert_eq!(ProcessBounds::default().lacks(&crate::testing::case(&text).launcher), None);
    }

    #[test]
    fn what_is_found_is_what_this_process_may() {
        let bounds = ProcessBounds::detect();
        assert!(sys::try_nice(bounds.least_nice).is_ok());
        assert!(bounds.least_nice == 0 || sys::try_nice(bounds.least_nice - 1).is_err());
    }
}
