//! Backends of a matrix run, and the names of its records.

use boxproof_reports::Header;

use crate::backend::{shipped_channels, shipped_doubles, shipped_names};

/// Backends that are there for the audit of the corpus.
const AUDIT: [&str; 2] = ["allow-all", "deny-all"];

/// The backends of `list`, in which `all` stands for every sandbox: neither for those that are there
/// for the audit, nor for receipts channels, which are shipped as a pattern for others.
pub(super) fn specs(list: &[String]) -> Vec<String> {
    let (channels, doubles) = (shipped_channels(), shipped_doubles());
    let boxes =
        |name: &&str| !AUDIT.contains(name) && !doubles.contains(name) && !channels.contains(name);
    let all = ["reference"].into_iter().chain(shipped_names());
    let all = all.filter(boxes).map(str::to_owned);
    let mut specs: Vec<String> = Vec::new();
    for spec in list {
        match spec.as_str() {
            "all" => specs.extend(all.clone()),
            _ => specs.push(spec.clone()),
        }
    }
    specs
}

/// The name of a record's file: one a host and user, so that a newer run replaces an older one.
pub(super) fn file_name(header: &Header) -> String {
    let fact = |name: &str| header.host.get(name).and_then(|value| value.as_str());
    let host = fact("distro").or(fact("os")).unwrap_or("unknown");
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let host: String = host.chars().map(word).collect();
    let parts: Vec<&str> = host.split('-').filter(|part| !part.is_empty()).collect();
    format!("run-{}-{}.ndjson", parts.join("-"), header.user.kind.keyword())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_everything_that_is_no_tool_of_the_audit_and_no_channel() {
        let specs = specs(&["all".to_owned(), "./own".to_owned()]);
        assert!(shipped_names().contains(&"receipts-reference"));
        assert!(!specs.iter().any(|spec| spec == "receipts-reference"), "{specs:?}");
        assert_eq!(specs[0], "reference");
        assert_eq!(specs.last().map(String::as_str), Some("./own"));
        assert!(specs.iter().any(|spec| spec == "bubblewrap"), "{specs:?}");
        assert!(!specs.iter().any(|spec| AUDIT.contains(&spec.as_str())), "{specs:?}");
    }
}
