//! Profiles and what they permit.

use super::*;
use rstest::rstest;

fn permits(rules: &str, deed: ObjectOperation, object: &str) -> Result<bool, ModelError> {
    let text = format!("(version 1)\n(deny default) ; nothing else\n{rules}\n");
    Profile::read(&text, [("TMP", "/t")])?.permits(deed, object)
}

#[rstest]
#[case::nothing("", ObjectOperation::Read, "/a", false)]
#[case::all("(allow file-read*)", ObjectOperation::Read, "/a", true)]
#[case::another_family("(allow file-read*)", ObjectOperation::Write, "/a", false)]
#[case::whole_family("(allow file*)", ObjectOperation::Write, "/a", true)]
#[case::one_member("(allow file-write-data)", ObjectOperation::Create, "/a", false)]
#[case::both_members(
    "(allow file-write-data file-write-create)",
    ObjectOperation::Create,
    "/a",
    true
)]
#[case::literal("(allow file-read* (literal \"/a\"))", ObjectOperation::Read, "/a/b", false)]
#[case::subpath("(allow file-read* (subpath \"/a\"))", ObjectOperation::Read, "/a/b", true)]
#[case::subpath_itself("(allow file-read* (subpath \"/a\"))", ObjectOperation::Read, "/a", true)]
#[case::sibling("(allow file-read* (subpath \"/a\"))", ObjectOperation::Read, "/ab", false)]
#[case::root("(allow file-read* (subpath \"/\"))", ObjectOperation::Read, "/ab", true)]
#[case::prefix("(allow file-read* (prefix \"/a\"))", ObjectOperation::Read, "/ab", true)]
#[case::pattern(
    "(allow file-read* (regex #\"^/a/[^/]*\\.c$\"))",
    ObjectOperation::Read,
    "/a/x.c",
    true
)]
#[case::pattern_deeper(
    "(allow file-read* (regex \"^/a/[^/]*\\\\.c$\"))",
    ObjectOperation::Read,
    "/a/b/x.c",
    false
)]
#[case::pattern_anywhere(
    "(allow file-read* (regex #\"x\\.c\"))",
    ObjectOperation::Read,
    "/a/x.cc",
    true
)]
#[case::line_feed(
    "(allow file-read* (regex #\"^/a/.*$\"))",
    ObjectOperation::Read,
    "/a/b\nc",
    true
)]
#[case::one_of_two(
    "(allow file-read* (literal \"/a\") (literal \"/b\"))",
    ObjectOperation::Read,
    "/b",
    true
)]
#[case::two_in_one("(allow file-read* (literal \"/a\" \"/b\"))", ObjectOperation::Read, "/b", true)]
#[case::all_of(
    "(allow file-read* (require-all (subpath \"/a\") (require-not (literal \"/a/b\"))))",
    ObjectOperation::Read,
    "/a/b",
    false
)]
#[case::all_of_met(
    "(allow file-read* (require-all (subpath \"/a\") (require-not (literal \"/a/b\"))))",
    ObjectOperation::Read,
    "/a/c",
    true
)]
#[case::any_of(
    "(allow file-read* (require-any (literal \"/a\") (literal \"/b\")))",
    ObjectOperation::Read,
    "/b",
    true
)]
#[case::last_denies(
    "(allow file*) (deny file-write* (subpath \"/a\"))",
    ObjectOperation::Write,
    "/a/b",
    false
)]
#[case::last_allows(
    "(deny file-write* (subpath \"/a\")) (allow file-write* (subpath \"/\"))",
    ObjectOperation::Write,
    "/a/b",
    true
)]
#[case::parameter(
    "(allow file-write* (subpath (param \"TMP\")))",
    ObjectOperation::Write,
    "/t/x",
    true
)]
#[case::put_together(
    "(allow file-write* (subpath (string-append (param \"TMP\") \"/x\")))",
    ObjectOperation::Write,
    "/t/y",
    false
)]
#[case::quoted(
    "(allow file-read* (literal \"/a\\\"b\\\\c\"))",
    ObjectOperation::Read,
    "/a\"b\\c",
    true
)]
#[case::moved_away(
    "(allow file-write-unlink (subpath \"/a\"))",
    ObjectOperation::Move,
    "/a/b",
    false
)]
#[case::moved("(allow file-write* (subpath \"/a\"))", ObjectOperation::Move, "/a/b", true)]
#[case::moved_beside("(allow file-write* (subpath \"/a\"))", ObjectOperation::Move, "/a", false)]
#[case::executed("(allow process-exec) (allow file-read*)", ObjectOperation::Run, "/a", true)]
#[case::not_executed("(allow file-read*)", ObjectOperation::Run, "/a", false)]
#[case::service("(allow mach-lookup (global-name \"s\"))", ObjectOperation::Lookup, "s", true)]
#[case::other_service(
    "(allow mach-lookup (global-name \"s\"))",
    ObjectOperation::Lookup,
    "t",
    false
)]
#[case::network("(allow network*)", ObjectOperation::Connect, "1.2.3.4:80", true)]
#[case::port(
    "(allow network-outbound (remote ip \"localhost:80\"))",
    ObjectOperation::Connect,
    "127.0.0.1:80",
    true
)]
#[case::other_port(
    "(allow network-outbound (remote ip \"localhost:80\"))",
    ObjectOperation::Connect,
    "127.0.0.1:81",
    false
)]
#[case::other_host(
    "(allow network-outbound (remote ip \"localhost:80\"))",
    ObjectOperation::Connect,
    "1.2.3.4:80",
    false
)]
#[case::socket(
    "(allow network-outbound (remote unix-socket (path-literal \"/s\")))",
    ObjectOperation::Connect,
    "/s",
    true
)]
#[case::other_socket(
    "(allow network-outbound (remote unix-socket (path-literal \"/s\")))",
    ObjectOperation::Connect,
    "/t",
    false
)]
#[case::told_otherwise(
    "(allow file*) (deny file-read* (with no-report) (literal \"/a\"))",
    ObjectOperation::Read,
    "/a",
    false
)]
#[case::datagrams_only(
    "(allow network-outbound (remote udp \"*:53\"))",
    ObjectOperation::Connect,
    "1.2.3.4:53",
    false
)]
#[case::streams_only(
    "(allow network-outbound (remote tcp \"*:53\"))",
    ObjectOperation::Connect,
    "1.2.3.4:53",
    true
)]
#[case::link_of_the_system(
    "(allow file-write* (subpath \"/tmp\"))",
    ObjectOperation::Create,
    "/tmp/x",
    false
)]
#[case::behind_the_link(
    "(allow file-write* (subpath \"/private/tmp\"))",
    ObjectOperation::Create,
    "/tmp/x",
    true
)]
#[case::service_pattern(
    "(allow mach-lookup (global-name-regex #\"^s\"))",
    ObjectOperation::Lookup,
    "st",
    true
)]
#[case::words_about_devices(
    "(allow device-microphone iokit-open (iokit-connection \"c\")) (allow file-read*)",
    ObjectOperation::Read,
    "/a",
    true
)]
#[case::unclear_elsewhere(
    "(allow file-read* (subpath \"/b/\"))",
    ObjectOperation::Read,
    "/a",
    false
)]
#[case::system_profile("(import \"system.sb\")", ObjectOperation::Write, "/Users/a/f", false)]
#[case::reported("(debug deny) (allow file-read*)", ObjectOperation::Read, "/a", true)]
#[case::killed(
    "(allow file*) (deny file-write* (with send-signal SIGKILL) (literal \"/a\"))",
    ObjectOperation::Write,
    "/a",
    false
)]
#[case::started_outside(
    "(allow file-read*) (allow process-exec (literal \"/bin/ps\") (with no-sandbox))",
    ObjectOperation::Run,
    "/bin/ps",
    true
)]
#[case::own_end_of_what_is_accepted(
    "(allow network-inbound (local ip \"localhost:9229\"))",
    ObjectOperation::Connect,
    "1.2.3.4:80",
    false
)]
#[case::modifier_first("(allow (with report) file-read*)", ObjectOperation::Read, "/a", true)]
#[case::defined(
    "(define ROOT \"/a\") (define (below path) (subpath (string-append ROOT path)))
     (allow file-write* (below \"/b\"))",
    ObjectOperation::Write,
    "/a/b/c",
    true
)]
#[case::defined_rules(
    "(define (open path) (allow file-read* (subpath path)) (allow file-write* (subpath path)))
     (open \"/a\")",
    ObjectOperation::Write,
    "/a/b",
    true
)]
#[case::if_given(
    "(if (param \"TMP\") (allow file-read*) (allow file-write*))",
    ObjectOperation::Read,
    "/a",
    true
)]
#[case::if_not_given(
    "(if (param \"OTHER\") (allow file-read*))",
    ObjectOperation::Read,
    "/a",
    false
)]
#[case::if_equal(
    "(when (equal? (param \"TMP\") \"/t\") (allow file-read*))",
    ObjectOperation::Read,
    "/a",
    true
)]
fn the_last_rule_that_matches_decides(
    #[case] rules: &str,
    #[case] deed: ObjectOperation,
    #[case] object: &str,
    #[case] due: bool,
) {
    assert_eq!(permits(rules, deed, object), Ok(due));
}

/// The forms of profiles that tools ship, put together.
const SHIPPED: &str = r##"
(allow process*) (allow signal (target same-sandbox)) (allow pseudo-tty)
(allow file-read*)
(allow file-write* (subpath (param "TMP")) (literal "/dev/null") (regex #"^/dev/ttys[0-9]+$"))
(allow file-write* (subpath "/w"))
(deny file-write* (subpath "/w/.git"))
(allow file-read* (require-all (vnode-type REGULAR-FILE) (extension-class "a.read")))
(allow file-ioctl (literal "/dev/dtracehelper")) (allow system-fsctl (fsctl-command (_IO "h" 47)))
(allow mach-lookup (global-name-regex #"^com\.example\.") (xpc-service-name-prefix "org."))
(allow mach-host*) (allow sysctl-read (sysctl-name-regex #"^hw\.") (sysctl-name "kern.osversion"))
(allow ipc-posix-shm* (ipc-posix-name-prefix "app.")) (allow ipc-posix-sem)
(allow distributed-notification-post) (allow iokit-open (iokit-connection "IOAccelerator"))
(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow network-outbound (remote ip "localhost:*")) (allow network-bind (local ip "localhost:*"))
(deny device-microphone) (deny network-outbound (socket-type 3))
"##;

#[rstest]
#[case::read(ObjectOperation::Read, "/a", true)]
#[case::write(ObjectOperation::Write, "/w/f", true)]
#[case::temp_directory(ObjectOperation::Create, "/t/x", true)]
#[case::elsewhere(ObjectOperation::Create, "/a/x", false)]
#[case::denied(ObjectOperation::Write, "/w/.git/config", false)]
#[case::run(ObjectOperation::Run, "/bin/a", true)]
#[case::service(ObjectOperation::Lookup, "com.example.a", true)]
#[case::other_service(ObjectOperation::Lookup, "com.other", false)]
#[case::other_host(ObjectOperation::Connect, "1.2.3.4:80", false)]
fn what_tools_ship_is_judged(
    #[case] deed: ObjectOperation,
    #[case] object: &str,
    #[case] wanted: bool,
) {
    assert_eq!(permits(SHIPPED, deed, object), Ok(wanted));
}

#[test]
fn a_default_is_the_last_resort_wherever_it_stands() {
    let read =
        |text: &str| Profile::read(text, []).unwrap().permits(ObjectOperation::Read, "/a").unwrap();
    assert!(read("(version 1)(allow file-read*)(deny default)"));
    assert!(read("(version 1)(allow file-read*)(deny default (with message \"T\"))"));
    assert!(!read("(version 1)(deny file-read*  (literal \"/a\"))(allow default (with report))"));
    assert!(read("(version 1)(allow default)"));
    assert!(!read("(version 1)"));
}

#[rstest]
#[case::end("(allow file-read*", "ends inside")]
#[case::no_list("allow", "outside of every rule")]
#[case::closed(")", "outside of every rule")]
#[case::string("(allow file-read* (literal \"/a))", "no end")]
#[case::no_operation("(allow (literal \"/a\"))", "no operation")]
#[case::flag("(deny file-read* (regex #\"(?i)^/a$\"))", "flag")]
#[case::host("(allow network-outbound (remote ip \"127.0.0.1:80\"))", "neither * nor localhost")]
#[case::port("(allow network-outbound (remote ip \"localhost:0\"))", "neither * nor a number")]
#[case::nothing_at_all("(deny file-write* (require-all))", "without any part")]
#[case::no_value("(allow file-write* (subpath (param \"OTHER\")))", "OTHER has no value")]
fn what_the_system_refuses_is_void(#[case] rules: &str, #[case] why: &str) {
    match permits(rules, ObjectOperation::Read, "/a") {
        Err(ModelError::Void(message)) => assert!(message.contains(why), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::operation("(allow file-wirte*)", "file-wirte*")]
#[case::member("(allow file-write-unlnik)", "file-write-unlnik")]
#[case::filter("(allow file-read* (subpth \"/a\"))", "subpth")]
#[case::import("(import \"other.sb\")", "other.sb")]
#[case::relative("(allow file-read* (subpath \"a\"))", "more than the name tells")]
#[case::trailing_slash("(allow file-read* (subpath \"/a/\"))", "more than the name tells")]
#[case::dots("(allow file-read* (subpath \"/a/../b\"))", "more than the name tells")]
#[case::type_of_file(
    "(allow file-read* (require-all (subpath \"/\") (vnode-type REGULAR-FILE)))",
    "more than the name tells"
)]
#[case::modifier("(allow (with user-approval) file-read*)", "more than the name tells")]
#[case::modifier_of_the_default("(deny default (with user-approval))", "a modifier of the default")]
#[case::endless("(define (f x) (f x)) (f \"a\")", "calls itself")]
#[case::condition("(if (file-exists \"/a\") (allow file-read*))", "this condition")]
// The readings disagree: the operation's own name against its family's.
#[case::own_name_allows(
    "(allow file-read-data (subpath \"/\")) (deny file-read* (literal \"/a\"))",
    "by their order the rules say otherwise"
)]
#[case::own_name_denies(
    "(deny file-read-data (subpath \"/a\")) (allow file-read* (literal \"/a\"))",
    "by their order the rules say otherwise"
)]
#[case::wider_name_allows(
    "(deny file-read* (subpath \"/a\")) (allow file*)",
    "by their order the rules say otherwise"
)]
#[case::without_a_filter(
    "(allow file-read* (subpath \"/a\")) (deny file-read*)",
    "by their order the rules say otherwise"
)]
#[case::class("(allow file-read* (regex #\"[\\.]\"))", "a class")]
#[case::escape("(allow file-read* (literal \"/\\q\"))", "\\q")]
fn what_the_model_does_not_know_is_no_decision(#[case] rules: &str, #[case] what: &str) {
    match permits(rules, ObjectOperation::Read, "/a") {
        Err(ModelError::Unknown(message)) => assert!(message.contains(what), "{message}"),
        other => panic!("{other:?}"),
    }
}

/// By some reports such a program is killed at its start, by others it runs and fails later
/// (nolabs-ai/nono#1865, h5i-dev/h5i#387).
#[rstest]
#[case::not_granted("(allow process-exec)")]
#[case::denied("(allow file* process*) (deny file-read* (literal \"/a\"))")]
fn the_start_of_an_unread_program_is_open(#[case] rules: &str) {
    match permits(rules, ObjectOperation::Run, "/a") {
        Err(ModelError::Unknown(message)) => {
            assert!(message.contains("cannot be read"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

/// A connection to a unix socket is `network-outbound`, so that rules about files neither open nor
/// close it (eugene1g/agent-safehouse#19, nolabs-ai/nono#483).
#[rstest]
#[case::denied_as_a_file("(allow network*) (deny file-read* file-write* (literal \"/s\"))", true)]
#[case::granted_as_a_file("(allow file-read* file-write* (literal \"/s\"))", false)]
#[case::denied(
    "(allow network*) (deny network-outbound (remote unix-socket (path-literal \"/s\")))",
    false
)]
#[case::denied_by_its_path("(allow network*) (deny network-outbound (literal \"/s\"))", false)]
#[case::addresses_alone("(allow network-outbound (remote ip))", false)]
#[case::every_socket("(allow network-outbound (remote unix))", true)]
#[case::by_a_pattern("(allow network-outbound (remote unix-socket (path-regex #\"^/\")))", true)]
fn a_socket_is_no_file(#[case] rules: &str, #[case] due: bool) {
    assert_eq!(permits(rules, ObjectOperation::Connect, "/s"), Ok(due));
}

/// A connection is from a local address, whatever it is to.
#[rstest]
#[case::any("(allow network* (local ip))")]
#[case::named("(allow network-outbound (local tcp \"localhost:*\"))")]
fn an_own_end_does_not_tell_the_other(#[case] rules: &str) {
    assert!(matches!(
        permits(rules, ObjectOperation::Connect, "1.2.3.4:80"),
        Err(ModelError::Unknown(_))
    ));
    assert!(matches!(permits(rules, ObjectOperation::Connect, "/s"), Err(ModelError::Unknown(_))));
    assert_eq!(permits(rules, ObjectOperation::Read, "/a"), Ok(false));
}

/// Forms of a profile that is put together from modules and read with parameters.
const MODULES: &str = r##"
(define TMPDIR (param "TMP")) (define HOME_DIR "/Users/a")
(define DATA_HOME_DIR (string-append "/System/Volumes/Data" HOME_DIR))
(define (home-subpath rel) (subpath (string-append HOME_DIR rel)))
(define (home-prefix rel) (prefix (string-append HOME_DIR rel)))
(define (data-home-literal rel) (literal (string-append DATA_HOME_DIR rel)))
(deny file-write-setugid)
(allow file* process-exec network-outbound network-inbound (literal "/private/tmp") (subpath TMPDIR))
(if (param "LOCAL") (begin (allow network* (local ip) (local tcp) (local udp))))
(allow file-read* (home-subpath "/.config") (home-prefix "/.zcompdump") (data-home-literal "/.z"))
(deny process-exec (literal "/usr/bin/docker") (subpath "/Applications/D.app/Contents/MacOS/"))
(deny mach-lookup (xpc-service-name-prefix "com.d.") (global-name-prefix "com.d."))
(allow process-info* (target same-sandbox)) (allow mach-priv-task-port (target same-sandbox))
(allow network-inbound (local ip "*:*")) (allow network-bind (local ip "*:*"))
(allow network* (remote unix))
"##;

#[rstest]
#[case::own_temp(ObjectOperation::Create, "/t/x", true)]
#[case::ordinary(ObjectOperation::Read, "/Users/a/f", false)]
#[case::settings(ObjectOperation::Read, "/Users/a/.config/x", true)]
#[case::versions(ObjectOperation::Read, "/Users/a/.zcompdump-5.9", true)]
#[case::data(ObjectOperation::Read, "/System/Volumes/Data/Users/a/.z", true)]
#[case::program(ObjectOperation::Run, "/usr/bin/docker", false)]
#[case::other_host(ObjectOperation::Connect, "1.2.3.4:80", false)]
#[case::socket(ObjectOperation::Connect, "/any", true)]
#[case::service(ObjectOperation::Lookup, "com.d.x", false)]
fn modules_are_judged(#[case] deed: ObjectOperation, #[case] object: &str, #[case] wanted: bool) {
    assert_eq!(permits(MODULES, deed, object), Ok(wanted));
}

#[test]
fn what_the_system_may_open_is_left_open() {
    let text = "(version 1)(deny default)(import \"system.sb\")";
    let read = |path: &str| Profile::read(text, []).unwrap().permits(ObjectOperation::Read, path);
    assert!(matches!(read("/usr/lib/libSystem.dylib"), Err(ModelError::Unknown(_))));
    assert!(matches!(read("/etc/hosts"), Err(ModelError::Unknown(_))));
    assert_eq!(read("/Users/a/.ssh/id"), Ok(false));
}

#[test]
fn a_profile_that_is_far_too_large_is_not_judged() {
    let rules = |count: usize| {
        let rule = |n: usize| format!("(deny file-read* (literal \"/directory/file-{n}\"))\n");
        format!("(version 1)(allow default)\n{}", (0..count).map(rule).collect::<String>())
    };
    assert!(Profile::read(&rules(1_000), []).is_ok());
    match Profile::read(&rules(20_000), []) {
        Err(ModelError::Unknown(why)) => assert!(why.contains("65,535"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lists_within_lists_without_end_are_not_judged() {
    let text = format!("(version 1)\n(allow file-read* {}", "(require-not ".repeat(20_000));
    match Profile::read(&text, []) {
        Err(ModelError::Unknown(why)) => {
            assert_eq!(why, "line 2: more than 100 lists within each other");
        }
        other => panic!("{other:?}"),
    }
}
