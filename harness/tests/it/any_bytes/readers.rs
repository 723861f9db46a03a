//! The readers, each as a function of any bytes. What they find wrong is an error; a panic, a hang and
//! a contradiction are faults of theirs. Those of
//! the reference are in its `untrusted`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use boxproof::backend::Manifest;
use boxproof::known::KnownFailures;
use boxproof::models::{mounts::Mounts, sbpl::Profile};
use boxproof_cases::case::ObjectOperation;
use boxproof_cases::protocol::{RunResult, from_json};
use boxproof_cases::{Suite, lint};
use boxproof_probes::{events, find};
use boxproof_reports::record;

const OBJECTS: [&str; 4] = ["/w/f", "/private/tmp/../x", "127.0.0.1:80", "com.example.service"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A case file: an error has its file, and a case is fit for lint.
pub(crate) fn case_file(bytes: &[u8]) {
    let files = BTreeMap::from([(PathBuf::from("fs/case.yaml"), text(bytes))]);
    let requirement = "R-x: {text: It works., source: a test}\n";
    let requirements = BTreeMap::from([(PathBuf::from("r.yaml"), requirement.to_owned())]);
    match Suite::from_files("any", files, &requirements) {
        Ok(suite) => drop(lint(&suite)),
        Err(errors) => assert!(!errors.is_empty()),
    }
}

/// A manifest: an error is one line and names the file.
pub(crate) fn manifest(bytes: &[u8]) {
    if let Err(error) = Manifest::parse(Path::new("box.yaml"), &text(bytes)) {
        assert!(error.to_string().starts_with("box.yaml"), "{error}");
    }
}

pub(crate) fn known_failures(bytes: &[u8]) {
    drop(KnownFailures::parse(Path::new("box.known.yaml"), &text(bytes), "box"));
}

pub(crate) fn result(bytes: &[u8]) {
    drop(from_json::<RunResult>(bytes));
}

pub(crate) fn run_record(bytes: &[u8]) {
    drop(record::read(bytes));
}

/// What a command prints in the place of a probe's record.
pub(crate) fn probe_record(bytes: &[u8]) {
    drop(find("bx1-1", bytes));
    drop(events("bx1-1", bytes));
}

/// A Seatbelt text: one that is read answers every question.
pub(crate) fn seatbelt(bytes: &[u8]) {
    let Ok(profile) = Profile::read(&text(bytes), [("HOME", "/h"), ("TMP", "/private/tmp")]) else {
        return;
    };
    for deed in [ObjectOperation::Read, ObjectOperation::Move, ObjectOperation::Connect] {
        OBJECTS.iter().for_each(|object| drop(profile.permits(deed, object)));
    }
}

/// The arguments of bubblewrap, one a line.
pub(crate) fn mount_table(bytes: &[u8]) {
    let argv: Vec<String> = text(bytes).lines().map(str::to_owned).collect();
    if let Ok(mounts) = Mounts::read(&argv) {
        OBJECTS.iter().for_each(|object| drop(mounts.permits(ObjectOperation::Write, object)));
    }
}
