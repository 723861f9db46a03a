//! A record of repeated cases, and the signature of it: one run, of a backend that fails once.

use crate::support::{PUBLIC_KEY, Place, SIGNING_KEY, WORKS, has};

/// Runs the command as it is, but for its second start, which says something else.
const ONCE: &str = "name: once
summary: Fails in its second start.
program: PLACE/once.sh
argv: '{{ command }}'
claims: all
";
const SECOND: &str = "#!/bin/sh
echo start >> PLACE/starts
[ \"$(wc -l < PLACE/starts)\" -ne 2 ] || exit 7
exec \"$@\"
";

/// The public key of another signer.
const OTHER: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAZHV6acynMIs45xcuWb++UsFeff3Uy8sJy0Rw9Nu4HBo=
-----END PUBLIC KEY-----
";

/// Makes a record in which one of two cases failed in one of four repetitions.
fn repeated() -> Place {
    let other = WORKS.replace("says hello", "says nothing").replace("echo hello", "\"true\"");
    let place = Place::with(&[("exec/one", WORKS), ("exec/two", &other)]);
    let root = place.arg(".");
    place.program("once.sh", &SECOND.replace("PLACE", &root));
    let spec = place.write("once.yaml", &ONCE.replace("PLACE", &root)).display().to_string();
    let report = place.arg("run.ndjson");
    let args = ["--backend", &spec, "--jobs", "1", "--stress", "4", "--report", &report];
    let ran = place.boxproof("run", &args);
    assert_eq!(ran.exits(1).last_line(), "2 cases: 1 pass, 1 over-block (1 flaky)");
    let failed = "1 of 4 runs did not pass, 25.0 % [4.6, 69.9] (95 %): 3 pass, 1 over-block";
    has(&ran.stdout, failed);
    has(&ran.stdout, "once: 1 cases passed in all of 4 runs: at most 49.0 % of runs of one fail");
    place
}

#[test]
fn a_case_that_fails_once_has_failed_and_its_record_is_signed_as_it_is() {
    let place = repeated();
    let record = place.record("run.ndjson");
    let failed = record.iter().find(|line| line["verdict"] == "over-block").unwrap();
    let wanted = serde_json::json!({"runs": 4, "verdicts": {"pass": 3, "over-block": 1}});
    assert_eq!((&failed["stress"], &failed["earlier"][0]["verdict"]), (&wanted, &"pass".into()));
    let run = place.arg("run.ndjson");
    // A compressed record is the one that it unpacks to.
    let packed = std::process::Command::new("gzip").args(["-kn", &run]).status().unwrap();
    assert!(packed.success());
    for record in [&run, &format!("{run}.gz")] {
        has(&place.run(&["judge", record]).exits(0).stdout, "0 differences in 2 judged rows");
    }

    for (name, text) in [("key.pem", SIGNING_KEY), ("public.pem", PUBLIC_KEY), ("other.pem", OTHER)]
    {
        place.write(name, text);
    }
    let (key, public) = (place.arg("key.pem"), place.arg("public.pem"));
    place.run(&["sign", &run, "--key", &key]).exits(0);
    let verify = |key: &str| place.run(&["verify", &run, "--key", key]);
    has(&verify(&public).exits(0).stdout, "verified: the record of a run by boxproof ");
    has(&verify(&place.arg("other.pem")).exits(1).stderr, "is by the key");
    has(&verify(&key).exits(2).stderr, "no public Ed25519 key in PEM");
    has(&place.run(&["sign", &run, "--key", &public]).exits(2).stderr, "no private Ed25519 key");
    let text = std::fs::read_to_string(&run).unwrap();
    place.write("run.ndjson", &text.replacen("hello", "hallo", 1));
    has(&verify(&public).exits(1).stderr, "the record was changed: its sha256 is ");
    has(&place.run(&["sign", &run, "--key", &key]).exits(2).stderr, "run.ndjson: ");
}
