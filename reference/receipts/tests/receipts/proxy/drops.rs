//! Frames that the relay does not take are counted, and the next frame reports the count.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::proxy::support::{Channel, eventually, unserved};

fn command(channel: &Channel, line: &str) {
    let body = json!({"command": line}).to_string();
    assert_eq!(channel.send("POST", "/command", body).status, 200);
}

/// Returns the last number of losses in the proxy's log.
fn lost(channel: &Channel) -> Option<u64> {
    let log = channel.proxy.log();
    let last =
        log.lines().rev().find_map(|line| line.split_once("a frame is lost (")).unwrap_or_default();
    last.1.split(' ').next()?.parse().ok()
}

fn counts(frames: &[Value]) -> Vec<Option<i64>> {
    frames.iter().map(|frame| frame["drop_count"].as_i64()).collect()
}

#[test]
fn three_losses_are_told_by_the_fourth() {
    let mut channel = Channel::start();
    command(&channel, "true 0");
    assert_eq!(counts(&channel.frames(1)), [None]);
    channel.stop_sink();
    for loss in 1..=3 {
        command(&channel, "true lost");
        eventually("lost", || lost(&channel) == Some(loss));
    }
    channel.start_sink();
    command(&channel, "true 1");
    command(&channel, "true 2");
    let frames = channel.frames(2);
    assert_eq!(counts(&frames), [Some(3), None]);
    assert_eq!(frames[0]["input"], json!({"command": "true 1"}));
}

#[test]
fn a_refused_certificate_is_a_loss_each_time() {
    // The sandbox is claimed to be another one, so the relay answers 403.
    let channel = Channel::with(&["--sandbox-id", "s2"]);
    command(&channel, "true 1");
    eventually("one is lost", || lost(&channel) == Some(1));
    command(&channel, "true 2");
    eventually("two are lost", || lost(&channel) == Some(2));
    assert!(channel.proxy.log().contains("403"), "{}", channel.proxy.log());
}

#[test]
fn a_relay_that_says_nothing_delays_nobody() {
    let hole = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = format!("https://{}", hole.local_addr().unwrap());
    let mut channel = Channel::with(&["--relay", &relay, "--drain-ms", "100"]);
    let begun = Instant::now();
    for _ in 0..20 {
        command(&channel, "true");
    }
    // The relay has two seconds for each of them.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(channel.proxy.terminate().success());
    let log = channel.proxy.log();
    assert!(log.contains("0 frames taken, 0 refused as wrong, 20 lost and not told"), "{log}");
}

#[test]
fn a_relay_that_is_gone_is_a_loss() {
    let (_held, gone) = unserved();
    let channel = Channel::with(&["--relay", &format!("https://{gone}")]);
    command(&channel, "true");
    eventually("lost", || lost(&channel) == Some(1));
    assert!(channel.proxy.log().contains("no connection to the relay"), "{}", channel.proxy.log());
}
