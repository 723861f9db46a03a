//! WebSocket frames, read while they pass by and wherever they are cut.

use std::io::Cursor;

use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Control, Data, OpCode};

/// The longest text message that is kept; terminals send few and short ones.
const TEXT: usize = 1 << 20;
/// The tag of a replay, after which an offset comes.
const REPLAY: u8 = 0x03;

/// A frame or part that passed.
#[derive(Debug, PartialEq)]
pub(crate) enum WebSocketPiece<'a> {
    /// Bytes of a stream by its tag; `offset` is where a replay has them.
    Bytes { tag: u8, offset: Option<u64>, bytes: &'a [u8] },
    /// A whole text message.
    Text(&'a [u8]),
    /// The side says that it closes.
    Close,
    /// Bytes that cannot be read; nothing after them can.
    Lost,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct WebSocketReader {
    header: Vec<u8>,
    frame: Option<WebSocketFrame>,
    /// The message that the next data frame continues or begins.
    message: Option<Data>,
    prefix: Vec<u8>,
    offset: u64,
    text: Vec<u8>,
    lost: bool,
}

/// A frame whose payload is passing.
#[derive(Debug)]
struct WebSocketFrame {
    left: u64,
    at: usize,
    mask: Option<[u8; 4]>,
    control: bool,
    last: bool,
}

impl WebSocketReader {
    /// Takes more bytes, and calls `each` with the frames and parts in them.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], each: &mut impl FnMut(WebSocketPiece<'_>)) {
        while !self.lost && (!bytes.is_empty() || self.frame.as_ref().is_some_and(|f| f.left == 0))
        {
            match self.frame.take() {
                None => bytes = self.begin(bytes, each),
                Some(frame) => bytes = self.payload(frame, bytes, each),
            }
        }
    }

    fn begin<'b>(
        &mut self,
        bytes: &'b [u8],
        each: &mut impl FnMut(WebSocketPiece<'_>),
    ) -> &'b [u8] {
        let before = self.header.len();
        self.header.extend(bytes.iter().take(14));
        let mut cursor = Cursor::new(&self.header);
        match FrameHeader::parse(&mut cursor) {
            Ok(None) => &bytes[self.header.len() - before..],
            Ok(Some((header, left))) => {
                let used = usize::try_from(cursor.position()).unwrap_or(0) - before;
                self.header.clear();
                self.began(&header, left, each);
                &bytes[used..]
            }
            Err(_) => {
                self.lose(each);
                &[]
            }
        }
    }

    fn began(
        &mut self,
        header: &FrameHeader,
        left: u64,
        each: &mut impl FnMut(WebSocketPiece<'_>),
    ) {
        // Without extensions these bits mean nothing that could be read.
        if header.rsv1 || header.rsv2 || header.rsv3 {
            return self.lose(each);
        }
        let control = matches!(header.opcode, OpCode::Control(_));
        match header.opcode {
            OpCode::Control(Control::Close) => each(WebSocketPiece::Close),
            OpCode::Control(_) | OpCode::Data(Data::Continue) => {}
            OpCode::Data(kind) => {
                self.message = Some(kind);
                self.prefix.clear();
                self.text.clear();
            }
        }
        let (mask, last) = (header.mask, header.is_final);
        self.frame = Some(WebSocketFrame { left, at: 0, mask, control, last });
    }

    fn payload<'b>(
        &mut self,
        mut frame: WebSocketFrame,
        bytes: &'b [u8],
        each: &mut impl FnMut(WebSocketPiece<'_>),
    ) -> &'b [u8] {
        let here = usize::try_from(frame.left).unwrap_or(usize::MAX).min(bytes.len());
        let (mine, rest) = bytes.split_at(here);
        if !frame.control {
            match frame.mask {
                None => self.data(mine, each),
                Some(mask) => {
                    let plain = |(at, byte): (usize, &u8)| byte ^ mask[(frame.at + at) % 4];
                    let plain: Vec<u8> = mine.iter().enumerate().map(plain).collect();
                    self.data(&plain, each);
                }
            }
        }
        if self.lost {
            return &[];
        }
        frame.left -= here as u64;
        frame.at = (frame.at + here) % 4;
        if frame.left > 0 {
            self.frame = Some(frame);
        } else if frame.last && !frame.control && self.message.take() == Some(Data::Text) {
            each(WebSocketPiece::Text(&self.text));
        }
        rest
    }

    fn data(&mut self, mut bytes: &[u8], each: &mut impl FnMut(WebSocketPiece<'_>)) {
        if self.message == Some(Data::Text) {
            if self.text.len() + bytes.len() > TEXT {
                return self.lose(each);
            }
            return self.text.extend_from_slice(bytes);
        }
        while let Some((first, rest)) = bytes.split_first().filter(|_| !self.has_prefix()) {
            self.prefix.push(*first);
            bytes = rest;
            if let [REPLAY, offset @ ..] = &self.prefix[..] {
                self.offset = offset.try_into().map_or(0, u64::from_be_bytes);
            }
        }
        if bytes.is_empty() || !self.has_prefix() {
            return;
        }
        let tag = self.prefix[0];
        let offset = (tag == REPLAY).then_some(self.offset);
        each(WebSocketPiece::Bytes { tag, offset, bytes });
        self.offset = self.offset.saturating_add(bytes.len() as u64);
    }

    fn has_prefix(&self) -> bool {
        match self.prefix.first() {
            None => false,
            Some(tag) => self.prefix.len() == if *tag == REPLAY { 9 } else { 1 },
        }
    }

    fn lose(&mut self, each: &mut impl FnMut(WebSocketPiece<'_>)) {
        self.lost = true;
        each(WebSocketPiece::Lost);
    }
}

#[cfg(test)]
mod tests;
