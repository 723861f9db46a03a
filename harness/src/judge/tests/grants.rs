//! Grants of a policy at a path, and entries of a tree, one fact at a time.

use rstest::rstest;

use crate::judge::entry::{is_directory, tree_path};
use crate::judge::grants::may_write;
use crate::testing::case;

#[rstest]
#[case::below_the_workspace("{mode: workspace_write}", "$WS/a", true)]
#[case::outside("{mode: workspace_write}", "$HOME/a", false)]
#[case::a_further_root("{mode: workspace_write, writable: [$HOME/d]}", "$HOME/d/a", true)]
#[case::read_only("{mode: read_only}", "$WS/a", false)]
#[case::unconfined("{mode: unconfined}", "$HOME/a", true)]
#[case::orbit("{orbit: {}}", "$HOME/a", true)]
#[case::caliban("{caliban: {settings: ''}}", "$HOME/a", true)]
#[case::inferoa("{inferoa: {config: ''}}", "$HOME/a", true)]
fn a_policy_grants_its_roots(#[case] policy: &str, #[case] path: &str, #[case] wanted: bool) {
    let case = case(&format!("policy: {policy}\nact: {{sh: 'true'}}\nexpect: {{allowed: {{}}}}\n"));
    assert_eq!(may_write(&case, path), wanted);
}

#[rstest]
#[case("a/b/", "$WS/a/b")]
#[case("./a", "$WS/a")]
#[case("$HOME/a", "$HOME/a")]
#[case("/etc/a", "/etc/a")]
fn a_path_of_a_case_has_a_name_in_the_tree(#[case] path: &str, #[case] name: &str) {
    assert_eq!(tree_path(path), name);
}

#[test]
fn a_directory_is_known_by_its_type() {
    assert!(is_directory("0755 a directory"));
    assert!(!is_directory("0644 0 bytes (sha256 e3b0c44298fc)"));
}
