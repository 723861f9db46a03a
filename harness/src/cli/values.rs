//! Readers of the values that flags take.

/// Reads the number of arms in flight.
pub(super) fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least one".to_owned()),
        Ok(jobs) => Ok(jobs),
        Err(error) => Err(format!("{error}")),
    }
}

/// Reads the URL of files that pages link to: a script in its place would run in the reader's page.
pub(super) fn parse_base_url(text: &str) -> Result<String, String> {
    let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "\"'<>".contains(c);
    match rest {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') && !rest.contains(is_odd) => {
            Ok(text.to_owned())
        }
        _ => Err("a URL begins with https:// or http:// and a host".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("https://example.org/blob/v1/", true)]
    #[case("http://localhost:8080", true)]
    #[case("javascript:alert(1)//", false)]
    #[case("data:text/html,x", false)]
    #[case("https://", false)]
    #[case("https:///x", false)]
    #[case("https://a/\"x", false)]
    #[case("", false)]
    fn only_the_web_is_linked_to(#[case] url: &str, #[case] is_taken: bool) {
        assert_eq!(parse_base_url(url).is_ok(), is_taken);
    }

    #[test]
    fn no_job_is_none_at_once() {
        assert_eq!(parse_jobs("0").unwrap_err(), "at least one");
        assert_eq!(parse_jobs("3"), Ok(3));
        assert!(parse_jobs("many").is_err());
    }
}
