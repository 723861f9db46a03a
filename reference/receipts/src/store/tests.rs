//! Stores that crashed, that others hold, and that are damaged.

use std::os::unix::fs::{PermissionsExt, symlink};

use ed25519_dalek::SigningKey;

use super::*;
use crate::receipt::{ReceiptContent, ReceiptProfile, ReceiptSigner};

/// `count` receipts of a root chain, one a line.
fn lines(count: usize) -> Vec<u8> {
    let scribe = ReceiptSigner::new(SigningKey::from_bytes(&[7; 32]), ReceiptProfile::Wire);
    let mut chains = ChainTips::default();
    let mut text = Vec::new();
    for _ in 0..count {
        let link = chains.next("root", "root");
        let sealed =
            scribe.write(ReceiptContent::Started(None), &link, "2026-01-01T00:00:00Z").unwrap();
        text.extend_from_slice(&sealed.text);
        text.push(b'\n');
        chains.advance(link, &sealed, false);
    }
    text
}

fn opened(path: &Path) -> (ReceiptStore, StoredChains) {
    ReceiptStore::open(path).unwrap()
}

#[test]
fn what_was_written_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let (mut store, held) = opened(&path);
    assert!(held.last.is_none());
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    store.append(&lines(3)).unwrap();
    drop(store);
    let (_, held) = opened(&path);
    assert_eq!(held.chains.tip("root").unwrap().sequence, 3);
    assert_eq!(held.torn, 0);
}

#[test]
fn a_torn_line_is_cut_wherever_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let text = lines(2);
    let first = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for kept in (first..text.len()).step_by(13) {
        std::fs::write(&path, &text[..kept]).unwrap();
        let (_, held) = opened(&path);
        assert_eq!(held.torn as usize, kept - first);
        assert_eq!(std::fs::read(&path).unwrap(), &text[..first]);
    }
}

#[test]
fn a_damaged_line_stops_the_start_and_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let text = String::from_utf8(lines(3)).unwrap();
    let all: Vec<&str> = text.lines().collect();
    let gap = format!("{}\n{}\n", all[0], all[2]);
    let edited = text.replacen("daemon_started", "daemon_stopped", 1);
    for (damaged, says) in
        [(gap, ":2: chain \"root\" has sequence 3"), (edited, ":2: chain \"root\" does not link")]
    {
        std::fs::write(&path, &damaged).unwrap();
        let error = ReceiptStore::open(&path).unwrap_err();
        assert!(error.contains(says), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
    }
}

#[test]
fn one_daemon_a_store_and_no_strangers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let (store, _) = opened(&path);
    assert!(ReceiptStore::open(&path).unwrap_err().contains("another daemon"));
    drop(store);
    let link = directory.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(ReceiptStore::open(&link).unwrap_err().contains("symbolic link"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o620)).unwrap();
    assert!(ReceiptStore::open(&path).unwrap_err().contains("0620"));
    assert!(ReceiptStore::open(Path::new("/dev/null")).unwrap_err().contains("regular file"));
}
