//! The wait of a case's arm, as far as the case shows it: an arm that mostly waits needs no CPU
//! slot.

use super::{Case, Moment};

impl Case {
    /// Returns whether the case mostly waits, so that it needs no CPU slot.
    pub fn waits(&self) -> bool {
        match self.waits_ms {
            Some(told) => told > 0,
            None => {
                let stands_still = self.run.timeout_ms.is_some() || !self.during.is_empty();
                stands_still || self.wait_ms() > 0
            }
        }
    }

    /// Returns whether an event depends on the act's own output.
    pub fn listens(&self) -> bool {
        self.during.iter().any(|event| event.when.is_said())
    }

    /// About how long one arm of it waits, in milliseconds: longest first.
    pub fn wait_ms(&self) -> u64 {
        self.waits_ms.unwrap_or_else(|| {
            let time_limit = self.run.timeout_ms.unwrap_or_default();
            let stimuli: u64 = self.during.iter().map(|event| event.after_ms).sum();
            time_limit.max(stimuli) + self.promised_wait()
        })
    }

    /// The longest time that has to pass between two moments, that from the start apart: it is in
    /// the time limit already.
    fn promised_wait(&self) -> u64 {
        let limited = self.run.timeout_ms.is_some();
        let bounds = self.expect.times.iter().filter(|b| !limited || b.from != Moment::Start);
        bounds.filter_map(|bound| bound.not_before).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use rstest::rstest;

    use crate::suite::Suite;

    #[rstest]
    #[case("", false, 0)]
    #[case("waits_ms: 900", true, 900)]
    #[case("waits_ms: 0\nrun: {timeout_ms: 300}", false, 0)]
    #[case("run: {timeout_ms: 300}", true, 300)]
    #[case("during: [{when: ready, signal: TERM}]", true, 0)]
    #[case("during: [{when: ready, after_ms: 70, signal: TERM}]", true, 70)]
    #[case("timeout_ms: 30000", false, 0)]
    fn a_case_shows_how_long_it_waits(#[case] line: &str, #[case] waits: bool, #[case] ms: u64) {
        let case = case(line, "");
        assert_eq!((case.waits(), case.wait_ms()), (waits, ms));
    }

    #[rstest]
    #[case("", false)]
    #[case("during: [{when: ready, signal: TERM}]", true)]
    #[case("during: [{when: {file: f}, signal: TERM}]", false)]
    #[case("during: [{when: {file: f}, signal: TERM}, {when: {mark: m}, signal: TERM}]", true)]
    fn a_case_shows_whether_it_waits_for_a_word(#[case] line: &str, #[case] listens: bool) {
        assert_eq!(case(line, "").listens(), listens);
    }

    #[rstest]
    #[case("", "{not_before: 200}", 200)]
    #[case("run: {timeout_ms: 300}", "{not_before: 5300}", 300)]
    #[case("run: {timeout_ms: 300}", "{from: {mark: term}, not_before: 5000}", 5300)]
    #[case("run: {timeout_ms: 300}", "{within: 9000}", 300)]
    fn bounds_show_it_too(#[case] line: &str, #[case] bound: &str, #[case] ms: u64) {
        assert_eq!(case(line, &format!(", times: [{bound}]")).wait_ms(), ms);
    }

    fn case(line: &str, more: &str) -> crate::Case {
        let text = format!(
            "purpose: Works.\nrequirement: R-x\n{line}\nact: {{sh: 'true'}}\n\
             expect: {{allowed: {{}}{more}}}\n"
        );
        let requirement = "R-x: {text: It works., source: a test}\n".to_owned();
        let suite = Suite::from_files(
            "test",
            BTreeMap::from([(PathBuf::from("exec/case.yaml"), text)]),
            &BTreeMap::from([(PathBuf::from("r.yaml"), requirement)]),
        );
        suite.unwrap().cases.remove(0)
    }
}
