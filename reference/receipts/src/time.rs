//! Times as receipts write them: RFC 3339, whole seconds, UTC.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;

static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let shape = r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:(\.\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$";
    Regex::new(shape).ok()
});

/// The moment that an RFC 3339 text names, to the nanosecond; other forms name none.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let found = SHAPE.as_ref()?.captures(text)?;
    let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
    let (date, fraction, zone) = (part(1), part(2), part(3));
    let parsed = format!("{date}{fraction}{zone}").parse();
    parsed.ok().or_else(|| {
        // The last days of the last year are beyond what a `Timestamp` holds.
        let day = date.strip_prefix("9999-12-3")?;
        let earlier: Timestamp = format!("9998-12-3{day}{zone}").parse().ok()?;
        Some(Timestamp::MAX.max(earlier))
    })
}

/// A clock that never goes back behind its last time, returned or given.
#[derive(Debug, Default)]
pub(crate) struct ReceiptClock(i64);

impl ReceiptClock {
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
    #[case("2026-11-27T21:52:01.4028300001234Z", true)]
    #[case("9999-12-31T23:59:59Z", true)]
    #[case("9999-12-31T23:59:59.9999999999-23:59", true)]
    #[case("9999-12-32T23:59:59Z", false)]
    #[case("2026-11-27T21:52:01.Z", false)]
    #[case("2026-11-27T21:52:0123Z", false)]
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
        let mut clock = ReceiptClock::default();
        clock.not_before("2999-01-01T00:00:05.9Z");
        assert_eq!(clock.now(), "2999-01-01T00:00:05Z");
    }
}
