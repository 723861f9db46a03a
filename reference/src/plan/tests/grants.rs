//! Grants by the names they were given, and grants that mean nothing.

use super::*;
use crate::host::{PathPassage, ServiceLink};

#[rstest]
#[case::below(r#"{"writable":["/h/w/a/b"],"deny_write":["/h/w/a"]}"#, &["/h/w/a/b", "writable", "deny_write"])]
#[case::workspace(r#"{"deny_write":["/h/w"]}"#, &["/h/w", "workspace", "deny_write"])]
#[case::around_the_workspace(r#"{"deny_write":["/h"]}"#, &["/h/w", "in /h", "deny_write"])]
#[case::by_a_link(r#"{"writable":["/h/w/in"],"deny_write":["/h/w/a"]}"#, &["/h/w/in", "/h/w/a"])]
#[case::unread(r#"{"writable":["/h/w/a/b"],"deny_read":["/h/w/a"]}"#, &["/h/w/a/b", "deny_read"])]
#[case::listed(r#"{"readable":["/h/o/f"],"deny_read":["/h/o"]}"#, &["/h/o/f", "readable", "deny_read"])]
fn a_grant_in_what_is_closed_is_refused_by_both_names(#[case] json: &str, #[case] words: &[&str]) {
    let refusal = refuse_contradictions(&policy(json), &host()).unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::InvalidRequest);
    for word in words {
        assert!(refusal.message.contains(word), "{word}: {}", refusal.message);
    }
}

#[rstest]
#[case("writable", "directory itself")]
#[case("readable", "directory itself")]
#[case("deny_read", "deny_read_globs")]
#[case("deny_write", "deny_write_globs")]
#[case("unix_sockets", "each socket")]
fn a_pattern_in_a_list_of_paths_is_refused(#[case] member: &str, #[case] remedy: &str) {
    let mut host = host();
    host.patterns = vec!["/h/w/*.env".into()];
    let policy = policy(&format!(r#"{{"{member}":["/h/w/*.env"]}}"#));
    let message = resolve(&policy, &run_in("/h/w"), &host).unwrap_err().message;
    assert!(message.starts_with(&format!("policy.{member}: /h/w/*.env")), "{message}");
    assert!(message.contains(remedy), "{message}");
}

#[test]
fn a_socket_that_is_none_is_refused_and_one_that_is_missing_is_told() {
    let mut host = host();
    let policy = policy(r#"{"unix_sockets":["/run/none.sock"]}"#);
    let notes = resolve(&policy, &run_in("/h/w"), &host).unwrap().notes;
    assert_eq!(notes, ["policy.unix_sockets: /run/none.sock does not exist, and grants nothing"]);
    host.no_sockets = vec![("/run/none.sock".into(), "a directory")];
    let message = resolve(&policy, &run_in("/h/w"), &host).unwrap_err().message;
    assert!(message.contains("/run/none.sock is a directory, no socket"), "{message}");
}

#[test]
fn what_was_removed_under_a_mount_takes_no_other() {
    let mut host = host();
    host.unlinked = vec!["/h/o/f".into()];
    for member in ["deny_read", "deny_write"] {
        let policy = policy(&format!(r#"{{"{member}":["/h/o/f"]}}"#));
        let message = resolve(&policy, &run_in("/h/w"), &host).unwrap_err().message;
        assert!(message.contains("/h/o/f is denied, and it is a mount"), "{message}");
    }
}

#[rstest]
#[case::all("{}", &[])]
#[case::list(r#"{"readable":["/h/o/f"]}"#, &["link /h/alias", "directory /h/x"])]
fn the_way_to_a_grant_is_there_where_it_would_be_lacking(
    #[case] json: &str,
    #[case] expected: &[&str],
) {
    let mut host = host();
    let link = |at: &str| PathPassage::Link(at.into(), "w".into());
    host.platform = vec![
        PlatformEntry::Object("/usr".into()),
        PlatformEntry::Link("/bin".into(), "usr".into()),
    ];
    host.ways =
        vec![link("/h/alias"), link("/bin"), link("/usr/l"), link("/h/w/in"), link("/proc/self")];
    host.ways.push(PathPassage::Directory("/h/x".into()));
    let steps = steps(json, &host);
    let found = steps.iter().filter(|step| step.contains("/h/alias") || step.contains("/h/x"));
    let mut found: Vec<&str> = found.map(String::as_str).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(found, expected);
    let made = |path: &str| steps.iter().filter(|step| step.ends_with(path)).count();
    assert_eq!((made(" /usr/l"), made(" /h/w/in"), made(" /proc/self")), (0, 0, 0), "{steps:?}");
}

#[rstest]
#[case::seen("/h/o", "{}", 1)]
#[case::hidden("/run/d.sock", "{}", 0)]
#[case::not_listed("/h/o", r#"{"readable":[]}"#, 0)]
#[case::listed("/h/o", r#"{"readable":["/h/o"]}"#, 1)]
#[case::platform("/usr/lib", r#"{"readable":[]}"#, 1)]
#[case::denied("/h/o", r#"{"deny_read":["/h/o"]}"#, 0)]
fn links_in_run_stay_where_they_lead_to_what_is_seen(
    #[case] target: &str,
    #[case] json: &str,
    #[case] count: usize,
) {
    let mut host = host();
    if json.contains("readable") {
        host.platform = vec![PlatformEntry::Object("/usr".into())];
    }
    let way = vec![PathPassage::Link("/run/x/system".into(), target.into())];
    host.service_links = vec![ServiceLink { target: target.into(), way }];
    let steps = steps(json, &host);
    let made = |step: &str| steps.iter().filter(|one| *one == step).count();
    assert_eq!((made("directory /run/x"), made("link /run/x/system")), (count, count), "{steps:?}");
}

#[test]
fn a_list_that_has_the_root_is_of_everything() {
    let all = steps("{}", &host());
    assert_eq!(steps(r#"{"readable":["/","/h/o"]}"#, &host()), all);
    assert!(all.contains(&"ro /".to_owned()), "{all:?}");
}

#[rstest]
#[case("/proc/12", false)]
#[case("/proc", false)]
#[case("/dev", false)]
#[case("/proc/version", true)]
#[case("/dev/shm", true)]
fn what_is_made_afresh_cannot_be_closed(#[case] path: &str, #[case] works: bool) {
    let mut host = host();
    host.paths.insert(path.into(), found(path, true, &[]));
    let policy = policy(&format!(r#"{{"deny_read":["{path}"]}}"#));
    let told = resolve(&policy, &run_in("/h/w"), &host).err().map(|refusal| refusal.message);
    assert_eq!(told.is_none(), works, "{told:?}");
    assert!(told.is_none_or(|why| why.starts_with(&format!("policy.deny_read: {path} is made"))));
}

#[test]
fn what_is_not_found_is_refused_with_the_reason() {
    let mut host = host();
    host.reasons.insert("/h/l".into(), "is a loop of symbolic links");
    for member in ["readable", "writable", "deny_read", "deny_write"] {
        let policy = policy(&format!(r#"{{"{member}":["/h/l"]}}"#));
        let message = resolve(&policy, &run_in("/h/w"), &host).unwrap_err().message;
        assert!(message.starts_with(&format!("policy.{member}: /h/l ")), "{message}");
        assert!(message.contains("is a loop of symbolic links"), "{message}");
    }
}
