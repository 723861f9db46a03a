//! Settings of the caliban dialect: their proxy port is the one that is reached.

use std::fs;

use rstest::rstest;
use serde_json::json;

use crate::bed::{Done, NAMESPACES};
use crate::egress::fixture::EgressFixture;
use crate::egress::origin::{Origin, TEXT};

impl EgressFixture {
    /// Runs a line of bash under settings with these keys of `[sandbox.network]`.
    fn settled(&self, keys: &str, line: &str) -> Done {
        let text = format!(
            "[sandbox]\nenabled = true\nfail_if_unavailable = true\n[sandbox.filesystem]\n\
             allow_write = ['${{WORKSPACE}}']\n[sandbox.network]\n{keys}\n"
        );
        let workspace = self.bed.ws("");
        let request = json!({
            "protocol": 1,
            "dialect": "caliban",
            "documents": [{"name": "settings.toml", "text": self.fill(&text)}],
            "workspace": workspace,
            "run": {"command": {"argv": ["bash", "-c", self.fill(line)]}, "cwd": workspace},
        });
        fs::write(self.bed.request_file(), request.to_string()).unwrap();
        self.bed.done(&self.bed.refbox().output().unwrap())
    }
}

const STRAIGHT: &str = "curl -sSf --noproxy '*' http://127.0.0.1:PORT/x";

#[rstest]
#[case::http("http_proxy_port = PORT", "http")]
#[case::socks("socks_proxy_port = PORT", "socks5h")]
#[case::and_all("http_proxy_port = PORT\nallow_all_outbound = true", "http")]
fn a_proxy_port_is_reached_and_nothing_else(#[case] keys: &str, #[case] scheme: &str) {
    let fixture = EgressFixture::new(NAMESPACES);
    let other = Origin::new(&fixture.bed.out("files"));
    assert_eq!(fixture.settled(keys, STRAIGHT).expect(0).out, TEXT);
    assert_eq!(fixture.origin.connections(), 1);
    let to_other = STRAIGHT.replace("PORT", &other.port.to_string());
    fixture.settled(keys, &to_other).expect(7);
    assert_eq!(other.connections(), 0);
    let out = fixture.settled(keys, "echo $http_proxy $ALL_PROXY").expect(0).out.clone();
    assert_eq!(
        out,
        fixture.fill(&format!("{scheme}://127.0.0.1:PORT {scheme}://127.0.0.1:PORT\n"))
    );
}

#[rstest]
fn without_a_port_nothing_is_reached_and_a_list_is_warned_of() {
    let fixture = EgressFixture::new(NAMESPACES);
    fixture.settled("", STRAIGHT).expect(7);
    let listed = fixture.settled("allowed_domains = ['127.0.0.1']", STRAIGHT);
    listed.expect(7).complains("require network.http_proxy_port");
    assert_eq!(fixture.origin.connections(), 0);
    let kept = fixture.settled("http_proxy_port = PORT\nallowed_domains = ['a.test']", STRAIGHT);
    kept.expect(0).complains("are kept by the proxy at port");
}
