//! A bed with an origin that has two names: one that the policy allows, and one that it does not.

use std::fs;

use serde_json::{Value, json};

use crate::bed::{Done, TestBed};
use crate::egress::origin::Origin;

/// The name that is allowed, at the origin's port.
pub(crate) const ALLOWED: &str = "allowed.boxproof.test";
/// The name that is not, of the same address.
pub(crate) const DENIED: &str = "denied.boxproof.test";

/// TestBed, origin, and names.
pub(crate) struct EgressFixture {
    pub(crate) bed: TestBed,
    pub(crate) origin: Origin,
}

impl EgressFixture {
    pub(crate) fn new(mechanism: &'static str) -> Self {
        let bed = TestBed::new(mechanism);
        fs::create_dir(bed.out("files")).unwrap();
        let origin = Origin::new(&bed.out("files"));
        let names = format!("127.0.0.1 {ALLOWED} {DENIED} not{ALLOWED} sub.{ALLOWED}\n");
        fs::write(bed.out("hosts"), names).unwrap();
        Self { bed, origin }
    }

    /// The allowed name alone, at the origin's port.
    pub(crate) fn policy(&self) -> Value {
        let port = self.origin.port;
        let allow = [format!("{ALLOWED}:{port}"), format!("127.0.0.1:{port}")];
        json!({"network": {"domains": {"allow": allow}}})
    }

    /// Replaces ALLOWED, DENIED and PORT in `text`.
    pub(crate) fn fill(&self, text: &str) -> String {
        let port = self.origin.port.to_string();
        text.replace("ALLOWED", ALLOWED).replace("DENIED", DENIED).replace("PORT", &port)
    }

    /// Runs a line of bash under the fixture's policy.
    pub(crate) fn bash(&self, line: &str) -> Done {
        self.bash_under(&self.policy(), line)
    }

    /// Runs a line of bash under `policy`.
    pub(crate) fn bash_under(&self, policy: &Value, line: &str) -> Done {
        self.run(policy, json!({"argv": ["bash", "-c", self.fill(line)]}), &json!({}))
    }

    /// Runs `command`.
    pub(crate) fn run(&self, policy: &Value, command: Value, run: &Value) -> Done {
        self.bed.write_request(policy, command, run);
        let mut refbox = self.bed.refbox();
        refbox.env("REFBOX_EGRESS_HOSTS", self.bed.out("hosts"));
        self.bed.done(&refbox.output().unwrap())
    }
}

impl Done {
    /// Fails the test unless the run failed and says everywhere that `host` was refused.
    #[track_caller]
    pub(crate) fn refused(&self, host: &str) {
        assert_ne!(self.code, Some(0), "stdout: {}\nstderr: {}", self.out, self.err);
        let said = format!("network_restricted: {host}");
        self.complains(&format!("refbox: {said}"));
        let blocked = &self.result["blocked"];
        assert_eq!(blocked["rule"], "network_restricted", "{}", self.result);
        assert_eq!(blocked["path"], host, "{}", self.result);
        let annotations = self.result["annotations"].to_string();
        assert!(annotations.contains(&said), "{annotations}");
    }
}
