//! Denied paths that links in a writable root lead to.

use super::*;

fn refused(json: &str, host: &HostSnapshot) -> Option<String> {
    let refusal = resolve(&policy(json), &run_in("/h/w"), host).err()?;
    assert_eq!(refusal.kind, ErrorKind::Unsupported);
    Some(refusal.message)
}

#[rstest]
#[case::link(r#"{"deny_read":["/h/w/in"]}"#)]
#[case::behind_the_link(r#"{"deny_read":["/h/w/in/b/f"]}"#)]
#[case::named_without_it_too(r#"{"deny_read":["/h/w/a/b/f","/h/w/in/b/f"]}"#)]
#[case::read_and_written(r#"{"deny_read":["/h/w/in"],"deny_write":["/h/w/a"]}"#)]
fn a_read_denied_path_by_a_loose_link_is_refused(#[case] json: &str) {
    let mut host = host();
    host.paths.insert("/h/w/in/b/f".into(), found("/h/w/a/b/f", false, &["/h/w/in"]));
    let message = refused(json, &host).unwrap_or_default();
    assert!(message.contains("/h/w/in is a symbolic link"), "{message}");
    let read_only = json.replacen('{', r#"{"mode":"read_only","#, 1);
    assert_eq!(refused(&read_only, &host), None);
}

#[rstest]
#[case::match_itself(&["/h/w/l.env"], None)]
#[case::matches_both(&["/h/w/l.env", "/h/w/m.env"], None)]
#[case::behind_the_match(&["/h/w/l.env", "/h/w/m"], Some("/h/w/m is a symbolic link"))]
fn a_match_of_a_read_denied_pattern_may_be_a_link_and_not_lead_through_one(
    #[case] links: &[&str],
    #[case] message: Option<&str>,
) {
    let mut host = host();
    let glob = "/h/w/*.env";
    let mut expansion = expansion(glob, &[], &[]);
    expansion.there = vec![found("/h/w/f", false, links), found("/h/w/f", false, &["/h/w/m.env"])];
    host.globs.insert(glob.into(), expansion);
    let found = refused(&format!(r#"{{"deny_read_globs":["{glob}"]}}"#), &host);
    let is_it = |found: &String| message.is_some_and(|message| found.contains(message));
    assert!(found.as_ref().is_none_or(is_it) && found.is_some() == message.is_some(), "{found:?}");
}
