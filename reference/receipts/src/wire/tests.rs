//! Frames as another library writes them, cut at every place.

use tokio_tungstenite::tungstenite::protocol::frame::Frame as Written;

use super::*;

#[derive(Debug, PartialEq, Clone)]
enum Kept {
    Bytes(u8, Option<u64>, Vec<u8>),
    Text(String),
    Close,
    Lost,
}

/// Returns the passed parts, with neighbouring bytes of one message joined.
fn kept(bytes: &[u8], size: usize) -> Vec<Kept> {
    let (mut wire, mut all) = (WebSocketReader::default(), Vec::<Kept>::new());
    for piece in bytes.chunks(size) {
        wire.feed(piece, &mut |passed| match passed {
            WebSocketPiece::Text(text) => {
                all.push(Kept::Text(String::from_utf8(text.to_vec()).unwrap()));
            }
            WebSocketPiece::Close => all.push(Kept::Close),
            WebSocketPiece::Lost => all.push(Kept::Lost),
            WebSocketPiece::Bytes { tag, offset, bytes } => match all.last_mut() {
                Some(Kept::Bytes(before, start, kept))
                    if *before == tag && start.map(|start| start + kept.len() as u64) == offset =>
                {
                    kept.extend_from_slice(bytes);
                }
                _ => all.push(Kept::Bytes(tag, offset, bytes.to_vec())),
            },
        });
    }
    all
}

fn written(payload: &[u8], opcode: OpCode, last: bool, mask: Option<[u8; 4]>) -> Vec<u8> {
    let header = FrameHeader { is_final: last, opcode, mask, ..FrameHeader::default() };
    let frame = Written::from_payload(header, payload.to_vec().into());
    let mut bytes = Vec::new();
    frame.format(&mut bytes).unwrap();
    bytes
}

fn conversation(mask: Option<[u8; 4]>) -> Vec<u8> {
    let data = OpCode::Data;
    let replay = [&[3][..], &7_u64.to_be_bytes(), b"old"].concat();
    [
        written(b"\x01out", data(Data::Binary), true, mask),
        written(b"{\"a\":", data(Data::Text), false, mask),
        written(b"ping", OpCode::Control(Control::Ping), true, mask),
        written(b"1}", data(Data::Continue), true, mask),
        written(b"\x02", data(Data::Binary), false, mask),
        written(b"er", data(Data::Continue), false, mask),
        written(b"r", data(Data::Continue), true, mask),
        written(&replay, data(Data::Binary), true, mask),
        written(b"", data(Data::Text), true, mask),
        written(&[&[1], &[b'x'; 70_000][..]].concat(), data(Data::Binary), true, mask),
        written(&[3, 232], OpCode::Control(Control::Close), true, mask),
    ]
    .concat()
}

#[test]
fn cuts_and_masks_do_not_matter() {
    let wanted = [
        Kept::Bytes(1, None, b"out".to_vec()),
        Kept::Text("{\"a\":1}".to_owned()),
        Kept::Bytes(2, None, b"err".to_vec()),
        Kept::Bytes(3, Some(7), b"old".to_vec()),
        Kept::Text(String::new()),
        Kept::Bytes(1, None, vec![b'x'; 70_000]),
        Kept::Close,
    ];
    for mask in [None, Some([1, 2, 3, 4])] {
        let bytes = conversation(mask);
        for size in [1, 2, 3, 5, 7, 11, 64, 1000, bytes.len()] {
            let kept = kept(&bytes, size);
            // Pieces of one message without an offset look like two messages.
            let joined = kept.into_iter().fold(Vec::new(), joined);
            assert_eq!(joined, wanted, "{size}");
        }
    }
}

fn joined(mut all: Vec<Kept>, next: Kept) -> Vec<Kept> {
    match (all.last_mut(), &next) {
        (Some(Kept::Bytes(one, None, kept)), Kept::Bytes(two, None, more)) if one == two => {
            kept.extend_from_slice(more);
        }
        _ => all.push(next),
    }
    all
}

#[test]
fn compressed_frames_are_lost_once() {
    let mut bytes = written(b"\x01x", OpCode::Data(Data::Binary), true, None);
    bytes[0] |= 0x40;
    bytes.extend(written(b"\x01y", OpCode::Data(Data::Binary), true, None));
    assert_eq!(kept(&bytes, 3), [Kept::Lost]);
}

#[test]
fn an_endless_text_is_lost() {
    let bytes = written(&vec![b'x'; TEXT + 1], OpCode::Data(Data::Text), true, None);
    let kept = kept(&bytes, 5000);
    assert!(kept == [Kept::Lost], "{} pieces", kept.len());
}
