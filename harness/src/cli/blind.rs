//! `--blind`: the share of the cases that get a second look.

use super::CliFailure;
use crate::blind::SampleShare;

/// The arguments of a second look.
#[derive(Debug, clap::Args)]
pub(super) struct SecondLook {
    /// Look again at one case of ten, or SHARE (`all`, `25%`): the act by ordinary programs, below
    /// ordinary names. A verdict that differs is a failure.
    #[arg(long, value_name = "SHARE", num_args = 0..=1)]
    #[arg(default_missing_value = "10%")]
    blind: Option<String>,
}

impl SecondLook {
    /// The share of the cases, and the filter that stood in its place: it may be left out.
    pub(super) fn read(&self) -> Result<(Option<SampleShare>, Option<&str>), CliFailure> {
        let Some(word) = self.blind.as_deref() else { return Ok((None, None)) };
        let is_share = word == "all" || word.ends_with('%') || word.parse::<u64>().is_ok();
        match is_share {
            true => word.parse().map(|share| (Some(share), None)).map_err(CliFailure::usage),
            false => Ok((Some(SampleShare::SAMPLE), Some(word))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(None, None, None)]
    #[case(Some("all"), Some(SampleShare::ALL), None)]
    #[case(Some("10%"), Some(SampleShare::SAMPLE), None)]
    #[case(Some("fs/**"), Some(SampleShare::SAMPLE), Some("fs/**"))]
    fn a_filter_may_stand_where_the_share_does(
        #[case] word: Option<&str>,
        #[case] share: Option<SampleShare>,
        #[case] filter: Option<&str>,
    ) {
        let look = SecondLook { blind: word.map(str::to_owned) };
        assert_eq!(look.read().unwrap(), (share, filter));
    }

    #[test]
    fn a_number_that_is_no_share_is_an_error() {
        let look = SecondLook { blind: Some("200%".to_owned()) };
        assert!(look.read().unwrap_err().message.contains("from 1% to 100%"));
    }
}
