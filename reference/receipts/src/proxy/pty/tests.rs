//! The reports about terminals, by the frames in the queue.

use rstest::rstest;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{Receiver, channel};

use super::*;
use crate::frame::EventFrame;
use crate::proxy::debt_journal::DebtJournal;
use crate::proxy::drop_counter::DropCounter;
use crate::proxy::event_sink::QueuedEvent;
use crate::proxy::frame_builder::FrameBuilder;
use crate::proxy::outcome::hex;

fn ptys() -> (PtyTable, Receiver<QueuedEvent>) {
    let (queue, frames) = channel(100);
    let account = Arc::new(DebtJournal::new("s1"));
    let teller = EventSink::new(queue, Arc::new(DropCounter::default()), account);
    (PtyTable::new(Arc::new(teller)), frames)
}

fn recorded_frames(events: &mut Receiver<QueuedEvent>) -> Vec<EventFrame> {
    let framing = FrameBuilder::new(Arc::new(DebtJournal::new("s1")), "s1".to_owned(), false);
    std::iter::from_fn(|| events.try_recv().ok()).flat_map(|event| framing.frames(event)).collect()
}

fn actions(frames: &[EventFrame]) -> Vec<&str> {
    let short =
        |frame: &EventFrame| frame.action_type.as_deref().unwrap().rsplit('.').next().is_some();
    assert!(frames.iter().all(short));
    frames
        .iter()
        .map(|frame| &frame.action_type.as_deref().unwrap()["system.pty.".len()..])
        .collect()
}

/// The hash over three streams, by the sheet.
fn io(stdin: &str, stdout: &str, stderr: &str) -> Value {
    let mut all = Sha256::new();
    for stream in [stdin, stdout, stderr] {
        all.update(Sha256::digest(stream));
    }
    json!({"io_hash": hex(all)})
}

#[test]
fn a_record_alone_is_not_told() {
    let (ptys, mut frames) = ptys();
    ptys.recorded("a", Some("top"));
    ptys.deleted("a");
    ptys.all_closed("x");
    assert!(recorded_frames(&mut frames).is_empty());
}

#[test]
fn begin_and_end_share_a_correlator_and_the_next_run_has_another() {
    let (ptys, mut frames) = ptys();
    ptys.recorded("a", Some("top"));
    for code in [0, 3] {
        ptys.attached("a");
        ptys.closed("a", PtyClosing::Exit(code));
        ptys.detached("a");
        ptys.closed("a", PtyClosing::Exit(9));
    }
    let frames = recorded_frames(&mut frames);
    assert_eq!(actions(&frames), ["open", "close", "open", "close"]);
    assert_eq!(frames[0].input, Some(json!({"command": "top"})));
    assert_eq!(frames[0].output, Some(json!({"pty_id": "a"})));
    assert_eq!(frames[1].input, Some(json!({"exit_code": 0})));
    assert_eq!(frames[3].input, Some(json!({"exit_code": 3})));
    assert_eq!(frames[0].correlation_id, frames[1].correlation_id);
    assert_eq!(frames[2].correlation_id, frames[3].correlation_id);
    assert_ne!(frames[0].correlation_id, frames[2].correlation_id);
}

#[test]
fn a_second_connection_opens_nothing_and_bytes_count_once() {
    let (ptys, mut frames) = ptys();
    ptys.attached("a");
    ptys.typed("a", b"in");
    ptys.printed("a", ShellStream::Stdout, b"one");
    ptys.printed("a", ShellStream::Stderr, b"err");
    ptys.detached("a");
    assert!(ptys.is_unwatched("a"));
    ptys.attached("a");
    // Six bytes were seen; four more were printed while no client was attached.
    ptys.replayed("a", 3, b"err");
    ptys.replayed("a", 2, b"eerrtwo.");
    ptys.replayed("a", 0, b"oneerr");
    ptys.closed("a", PtyClosing::Exit(0));
    let frames = recorded_frames(&mut frames);
    assert_eq!(actions(&frames), ["open", "close"]);
    assert_eq!(frames[1].output, Some(io("in", "onetwo.", "err").clone()));
}

#[test]
fn a_hole_in_the_output_leaves_no_hash() {
    let (ptys, mut frames) = ptys();
    ptys.attached("a");
    ptys.replayed("a", 5, b"later");
    ptys.closed("a", PtyClosing::Exit(0));
    assert_eq!(recorded_frames(&mut frames)[1].output, None);
}

#[rstest]
#[case::killed(PtyClosing::Exit(-1), Some(json!({"exit_code": -1, "signal": "SIGHUP"})))]
#[case::chose_its_code(PtyClosing::Exit(0), Some(json!({"exit_code": 0})))]
#[case::deleted(PtyClosing::Deleted, Some(json!({"signal": "SIGHUP"})))]
fn a_signal_is_told_where_it_ended_the_shell(
    #[case] how: PtyClosing,
    #[case] input: Option<Value>,
) {
    let (ptys, mut frames) = ptys();
    ptys.attached("a");
    ptys.signalled("a", Some("SIGHUP"));
    ptys.closed("a", how);
    assert_eq!(recorded_frames(&mut frames)[1].input, input);
}

#[test]
fn deleting_ends_it_when_its_connection_does() {
    let (ptys, mut frames) = ptys();
    ptys.attached("a");
    ptys.signalled("a", Some("SIGKILL"));
    ptys.deleted("a");
    assert_eq!(actions(&recorded_frames(&mut frames)), ["open"]);
    ptys.detached("a");
    let frames = recorded_frames(&mut frames);
    assert_eq!(actions(&frames), ["close"]);
    assert_eq!(frames[0].input, Some(json!({"signal": "SIGKILL"})));
}

#[test]
fn all_are_closed_when_execd_is_gone() {
    let (ptys, mut frames) = ptys();
    ptys.attached("a");
    ptys.attached("b");
    ptys.all_closed("execd is gone");
    let frames = recorded_frames(&mut frames);
    assert_eq!(actions(&frames), ["open", "open", "close", "close"]);
    assert!(frames[2..].iter().all(|frame| frame.input.is_none()));
    assert!(frames[2..].iter().all(|frame| frame.error.as_deref() == Some("execd is gone")));
}
