//! Times as receipts write them: RFC 3339, whole seconds, UTC.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;

static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let shape = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$";
    Regex::new(shape).ok()
});

/// The moment that an RFC 3339 text names; other forms name none.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let shape = SHAPE.as_ref()?;
    shape.is_match(text).then(|| text.parse().ok()).flatten()
}

/// A clock that never goes back behind what it said or was told.
#[derive(Debug, Default)]
pub(crate) struct Clock(i64);

impl Clock {
    /// Takes note of a moment that was used before.
    pub(crate) fn not_before(&mut self, text: &str) {
        if let Some(moment) = parse(text) {
            self.0 = self.0.max(moment.as_second());
        }
    }

    /// Now, in whole seconds.
    pub(crate) fn now(&mut self) -> String {
        self.0 = self.0.max(Timestamp::now().as_second());
        Timestamp::from_second(self.0).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2026-11-27T21:52:01.402830000Z", true)]
    #[case("2026-11-27T21:52:01+01:00", true)]
    #[case("2026-11-27 21:52:01Z", false)]
    #[case("2026-11-27T21:52:01", false)]
    #[case("2026-13-27T21:52:01Z", false)]
    #[case("2026-02-30T21:52:01Z", false)]
    #[case("2026-11-27T21:52:01Z[UTC]", false)]
    #[case("", false)]
    fn rfc_3339_only(#[case] text: &str, #[case] is: bool) {
        assert_eq!(parse(text).is_some(), is);
    }

    #[test]
    fn the_clock_does_not_go_back() {
        let mut clock = Clock::default();
        clock.not_before("2999-01-01T00:00:05.9Z");
        assert_eq!(clock.now(), "2999-01-01T00:00:05Z");
    }
}
