//! Programs that find the proxy by themselves: curl, python, git, node.

use std::fs;
use std::process::Command;

use rstest::rstest;

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY};
use crate::egress::fixture::{ALLOWED, DENIED, EgressFixture};
use crate::egress::origin::TEXT;

const CURL: &str = "curl -sSf http://HOST:PORT/x";
const TUNNEL: &str = "curl -sSf --proxytunnel http://HOST:PORT/x";
const SOCKS: &str = "curl -sSf -x socks5h://127.0.0.1:3128 http://HOST:PORT/x";
const URLLIB: &str = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://HOST:PORT/x\").read().decode())'";
/// A client in the manner of package managers: the proxy of the environment, absolute-form.
const NODE: &str = "node -e '
const proxy = new URL(process.env.http_proxy);
require(\"http\").get({host: proxy.hostname, port: proxy.port, path: \"http://HOST:PORT/x\",
  headers: {host: \"HOST:PORT\"}}, r => {
  r.on(\"data\", d => process.stdout.write(d));
  r.on(\"end\", () => process.exit(r.statusCode == 200 ? 0 : 1));
});'";
const CLONE: &str = "git clone -q http://HOST:PORT/repo repo && cat repo/file";

#[rstest]
#[case::curl(CURL)]
#[case::curl_connect(TUNNEL)]
#[case::curl_socks(SOCKS)]
#[case::urllib(URLLIB)]
#[case::node(NODE)]
#[case::git(CLONE)]
fn a_client_reaches_whom_it_may_alone(
    #[case] line: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let fixture = EgressFixture::new(mechanism);
    repository(&fixture);
    let done = fixture.bash(&line.replace("HOST", ALLOWED));
    assert_eq!(done.expect(0).out.trim_end(), TEXT, "{}", done.err);
    assert_eq!(done.result["blocked"], serde_json::Value::Null);
    let host = format!("{ALLOWED}:{}", fixture.origin.port);
    let seen = fixture.origin.take();
    assert!(!seen.is_empty() && seen.iter().all(|line| line.starts_with(&host)), "{seen:?}");

    if line == CLONE {
        fs::remove_dir_all(fixture.bed.ws("repo")).unwrap();
    }
    let before = fixture.origin.connections();
    let done = fixture.bash(&line.replace("HOST", DENIED));
    done.refused(&format!("{DENIED}:{}", fixture.origin.port));
    assert_eq!((fixture.origin.take(), fixture.origin.connections()), (Vec::new(), before));
}

/// A bare repository with one file, for servers without git.
fn repository(fixture: &EgressFixture) {
    let made = Command::new("sh")
        .args(["-ec", MAKE])
        .current_dir(fixture.bed.out("files"))
        .env("HOME", fixture.bed.out(""))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(fs::exists(fixture.bed.out("files/repo/info/refs")).unwrap());
}

const MAKE: &str = "git init -q work; printf 'from the origin' > work/file; git -C work add .
    git -C work -c user.name=b -c user.email=b@example.invalid commit -qm m
    git clone -q --bare work repo; git -C repo update-server-info; rm -r work";

#[rstest]
fn a_redirect_is_decided_on_its_own(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let fixture = EgressFixture::new(mechanism);
    let curl = "curl -sSfL http://ALLOWED:PORT/to/";
    fixture
        .bash(&format!("{curl}DENIED:PORT/x"))
        .refused(&format!("{DENIED}:{}", fixture.origin.port));
    assert_eq!(fixture.origin.take().len(), 1);
    assert_eq!(fixture.bash(&format!("{curl}ALLOWED:PORT/x")).expect(0).out, TEXT);
    assert_eq!(fixture.origin.take().len(), 2);
}

/// Names that are like the allowed one.
#[rstest]
#[case::suffix("notallowed.boxproof.test", false)]
#[case::below("sub.allowed.boxproof.test", false)]
#[case::longer("allowed.boxproof.test.evil.test", false)]
#[case::case("Allowed.BOXPROOF.test", true)]
#[case::dot("allowed.boxproof.test.", true)]
#[case::address("127.0.0.1", true)]
#[case::decimal("2130706433", true)]
#[case::short("127.1", true)]
#[case::another_address("127.0.0.2", false)]
fn a_name_is_compared_whole(#[case] host: &str, #[case] reached: bool) {
    let fixture = EgressFixture::new(NAMESPACES);
    // As the client writes it: curl itself turns numbers into addresses.
    let done = fixture.bash(&CURL.replace("HOST", host));
    assert_eq!(done.code == Some(0), reached, "{}", done.err);
    assert_eq!(fixture.origin.connections() == 1, reached);
    if !reached {
        done.refused(&format!("{host}:{}", fixture.origin.port));
    }
}

#[rstest]
fn a_deny_is_stronger_and_an_empty_list_allows_nothing() {
    let fixture = EgressFixture::new(NAMESPACES);
    let all = ["*.boxproof.test:*", "127.0.0.1:*"];
    let domains =
        |deny: &[&str]| serde_json::json!({"network": {"domains": {"allow": all, "deny": deny}}});
    let curl = "curl -sSf http://ALLOWED:PORT/x";
    fixture.bash_under(&domains(&[]), curl).expect(0);
    assert_eq!(fixture.origin.take().len(), 1);
    for deny in ["allowed.boxproof.test", "*.boxproof.test", "127.0.0.1"] {
        let done = fixture.bash_under(&domains(&[deny]), curl);
        done.refused(&format!("{ALLOWED}:{}", fixture.origin.port));
    }
    let nothing = serde_json::json!({"network": {"domains": {"allow": []}}});
    fixture.bash_under(&nothing, curl).refused(&format!("{ALLOWED}:{}", fixture.origin.port));
    assert_eq!(fixture.origin.take(), [""; 0]);
}

/// A name alone does not open what is no public address.
#[rstest]
fn a_name_that_leads_to_loopback_needs_the_address_too() {
    let fixture = EgressFixture::new(NAMESPACES);
    let policy = serde_json::json!({"network": {"domains": {"allow": [format!("{ALLOWED}:*")]}}});
    let done = fixture.bash_under(&policy, "curl -sSf http://ALLOWED:PORT/x");
    done.refused(&format!("{ALLOWED}:{}", fixture.origin.port));
    done.complains("127.0.0.1 (loopback)");
    assert_eq!(fixture.origin.connections(), 0);
}

#[rstest]
fn a_refusal_that_the_command_survived_is_no_reason() {
    let fixture = EgressFixture::new(NAMESPACES);
    let done = fixture.bash("curl -sS http://DENIED:PORT/x");
    assert!(done.expect(0).out.contains(DENIED), "{}", done.out);
    assert_eq!(done.result["blocked"], serde_json::Value::Null);
    assert!(done.result["annotations"].to_string().contains(DENIED));
    assert_eq!(done.err, "");
}
