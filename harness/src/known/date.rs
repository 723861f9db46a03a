//! A day, as lists of known failures write it: [`CivilDate`].

use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::Deserialize;

/// Seconds in a day.
const DAY: u64 = 86_400;

/// A day (UTC), written YYYY-MM-DD; later days are greater.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("format" = "date"))]
pub struct CivilDate(String);

impl CivilDate {
    /// The day it is.
    pub fn today() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::of_day(since.as_secs() / DAY)
    }

    /// The day so many days after 1970-01-01 (Hinnant's civil_from_days).
    fn of_day(days: u64) -> Self {
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year + era * 400 + u64::from(month <= 2);
        Self(format!("{year:04}-{month:02}-{day:02}"))
    }
}

impl std::fmt::Display for CivilDate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for CivilDate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let shape = |(at, byte): (usize, u8)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        let number = |range: std::ops::Range<usize>| {
            text.get(range).and_then(|digits| digits.parse::<u8>().ok())
        };
        let year = text.get(..4).and_then(|digits| digits.parse::<u16>().ok());
        let (month, day) = (number(5..7), number(8..10));
        let fits = text.len() == 10
            && text.bytes().enumerate().all(shape)
            && matches!((year, month, day), (Some(year), Some(month), Some(day))
                if (1..=days_in(year, month)).contains(&day));
        if fits { Ok(Self(text)) } else { Err(format!("`{text}` is no day: write YYYY-MM-DD")) }
    }
}

/// The days of a month; none where there is no such month.
fn days_in(year: u16, month: u8) -> u8 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(0, "1970-01-01")]
    #[case(11_016, "2000-02-29")]
    #[case(11_017, "2000-03-01")]
    #[case(20_453, "2025-12-31")]
    #[case(47_540, "2100-02-28")]
    #[case(47_541, "2100-03-01")]
    fn days_are_counted(#[case] days: u64, #[case] date: &str) {
        assert_eq!(CivilDate::of_day(days).to_string(), date);
    }

    #[rstest]
    #[case("2026-1-01")]
    #[case("2026-13-01")]
    #[case("2026-01-32")]
    #[case("2026/01/01")]
    #[case("soon")]
    #[case("2026-01-0ü")]
    #[case("2027-02-29")]
    #[case("2100-02-29")]
    #[case("2026-04-31")]
    #[case("2026-00-10")]
    #[case("2026-01-00")]
    fn what_is_no_day_is_refused(#[case] text: &str) {
        assert!(CivilDate::try_from(text.to_owned()).unwrap_err().contains("YYYY-MM-DD"));
    }

    #[test]
    fn the_last_days_of_months_are_days() {
        for text in ["2028-02-29", "2000-02-29", "2026-02-28", "2026-04-30", "2026-12-31"] {
            CivilDate::try_from(text.to_owned()).unwrap();
        }
    }
}
