//! Keys by name, and the verbs that make and show them.

use std::process::Command;

use boxproof_receipts::{did, keys};
use ed25519_dalek::VerifyingKey;

use crate::support::{DaemonFixture, vectors};

#[test]
fn published_names_stand_for_published_keys() {
    let file = vectors("did-key.vectors.json");
    let all = file["vectors"].as_array().unwrap();
    assert_eq!(all.len(), 3);
    for vector in all {
        let hex = vector["public_key_hex"].as_str().unwrap();
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let raw: Vec<u8> = (0..64).step_by(2).map(byte).collect();
        let key = VerifyingKey::from_bytes(&raw.try_into().unwrap()).unwrap();
        let name = vector["did"].as_str().unwrap();
        assert_eq!(did::name(&key), name);
        assert_eq!(did::resolve(name).unwrap(), key);
        let method = &vector["did_document"]["verificationMethod"][0]["id"];
        assert_eq!(did::resolve(method.as_str().unwrap()).unwrap(), key);
    }
}

#[test]
fn other_names_stand_for_nothing() {
    for name in [
        "did:web:x",
        "did:key:u1",
        "did:key:z0",
        "did:key:z6LSeu9HkTHSfLLeUs2nnzUSNedgDUevfNQUQUaHL9XJ7Z5W",
        "did:key:z6Mk",
    ] {
        assert!(did::resolve(name).unwrap_err().starts_with("UNRESOLVABLE_DID"), "{name}");
    }
}

#[test]
fn the_verbs_make_and_show_one_key() {
    let fixture = DaemonFixture::new();
    let run = |verb: &str, name: &str| {
        let mut refbox = Command::new(env!("CARGO_BIN_EXE_boxproof-receipts"));
        let output = refbox.args(["keys", verb, "--key"]).arg(fixture.path(name)).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, made) = run("new", "mine");
    assert_eq!(code, Some(0));
    assert_eq!(run("show", "mine"), (Some(0), made.clone()));
    assert_eq!(run("show", "mine.pub"), (Some(0), made.clone()));
    let key = keys::read_public(&fixture.path("mine.pub")).unwrap();
    assert_eq!(made, format!("{} {}\n", keys::fingerprint(&key), did::name(&key)));
    assert_eq!(run("new", "mine").0, Some(2));
    assert_eq!(run("show", "none").0, Some(2));
}
