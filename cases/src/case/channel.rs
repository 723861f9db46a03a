//! Acts on a receipts channel: the messages to its parts, and the events at them meanwhile.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::channel_check::VerifyStep;

/// The steps on a channel, in order, and the channel's setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// The place of the channel's own members in receipts.
    #[serde(default)]
    pub profile: ReceiptProfile,
    /// The token that execd asks for; only the proxy gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The answers of execd in place of its own: each is used once, by the first request it fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub execd: Vec<ScriptedAnswer>,
    /// The steps, in order.
    pub steps: Vec<ChannelStep>,
}

/// The place of the channel's own members in receipts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptProfile {
    /// The place where every published verifier keeps them.
    #[default]
    Wire,
    /// Below the credential's subject; verified from raw bytes only.
    Adr,
}

impl ReceiptProfile {
    /// Returns the profile's word.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Adr => "adr",
        }
    }
}

/// The answer of execd to one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedAnswer {
    /// Method and path, such as `POST /command`.
    pub on: String,
    /// The status.
    #[serde(default = "ok")]
    pub status: u16,
    /// The headers; by default those of an event stream.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body, piece by piece as it is written.
    pub body: Vec<BodyPiece>,
}

fn ok() -> u16 {
    200
}

/// A piece of execd's body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyPiece {
    /// This text.
    Text(String),
    /// These bytes, in base64.
    B64(String),
    /// Nothing more until a step releases this name.
    Hold(String),
    /// The connection is cut.
    Cut {},
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelStep {
    /// A request to the proxy.
    Request(RequestStep),
    /// Bytes to the proxy as they are; the answer is read to its end.
    Raw(RawStep),
    /// A request straight to execd, past the proxy.
    Direct(RequestStep),
    /// A terminal session through the proxy; the same name goes on with the same session.
    Socket(SocketStep),
    /// A frame to the daemon's socket.
    Frame(FrameStep),
    /// A frame to the relay.
    Post(PostStep),
    /// Execd goes on past this hold.
    Release(String),
    /// The rest of the answer to this named request is awaited.
    Finish(String),
    /// Connections from the first sandbox's proxy to the relay take this course from now on.
    Wire(RelayLink),
    /// A part is ended.
    Stop(StopStep),
    /// A part is started again; it was ended before.
    Start(ChannelPart),
    /// A part is stopped: it stays, and does nothing.
    Pause(ChannelPart),
    /// A part that stands still goes on.
    Resume(ChannelPart),
    /// The channel's verifier is asked about a chain.
    Verify(VerifyStep),
    /// A part is started on a place that is not fit for it, and must not come up.
    Refuse(ForbiddenPlace),
}

/// A part of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelPart {
    /// The signing daemon.
    Daemon,
    /// The host relay.
    Relay,
    /// The proxy of the first sandbox.
    Proxy,
    /// Execd of the first sandbox.
    Execd,
}

impl ChannelPart {
    /// Returns the part's word.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Relay => "relay",
            Self::Proxy => "proxy",
            Self::Execd => "execd",
        }
    }
}

/// The end of a part; the step lasts until the part is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopStep {
    /// The part.
    pub part: ChannelPart,
    /// The signal that ends the part.
    pub by: PartSignal,
}

/// The signal that ends a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartSignal {
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
}

/// The fate of connections from proxy to relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RelayLink {
    /// Connections reach the relay.
    Pass,
    /// Connections are closed as soon as they are made: no TLS handshake completes.
    Cut,
    /// Connections are made, and never answered.
    Hang,
}

/// A place where the daemon must not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForbiddenPlace {
    /// The daemon's socket is a TCP address.
    TcpAddress,
    /// A file that is no socket has the socket's place.
    NotASocket,
    /// Another daemon listens there.
    Taken,
    /// The directory of the daemon's socket is open to every user.
    OpenDirectory,
    /// The daemon's key is readable by every user.
    OpenKey,
    /// The daemon's key is a symbolic link.
    LinkedKey,
    /// Another public key lies beside its key.
    OtherPublicKey,
    /// Every user can write to the daemon's store.
    OpenStore,
    /// The last receipt of the daemon's store is signed by another key.
    ForeignStore,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestStep {
    /// The method.
    #[serde(default = "post")]
    pub method: String,
    /// Path and query, as sent.
    pub path: String,
    /// The sandbox whose proxy gets the request.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub sandbox: String,
    /// Headers besides those that HTTP needs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// The body as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The body in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_b64: Option<String>,
    /// Files to upload, each a pair of metadata and bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upload: Vec<Upload>,
    /// The number of concurrent requests; `#` in body and path is the number of each, from 1.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
    /// The name by which a later step finishes the request; the case goes on once `until` was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text of the answer after which the step is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// True if the agent hangs up after `until` was read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hang_up: bool,
}

fn post() -> String {
    "POST".to_owned()
}

fn first() -> String {
    FIRST.to_owned()
}

/// The sandbox that a step is about unless it says otherwise.
pub const FIRST: &str = "s1";

fn is_first(sandbox: &str) -> bool {
    sandbox == FIRST
}

fn once() -> u32 {
    1
}

// serde hands a reference.
fn is_once(times: &u32) -> bool {
    *times == 1
}

/// A file to upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Upload {
    /// The path of the uploaded file.
    pub path: String,
    /// The content of the file.
    pub text: String,
}

/// Bytes to a proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawStep {
    /// The lines of the head, each ended by CR LF, with an empty one after them.
    pub head: Vec<String>,
    /// The bytes after the header.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The sandbox whose proxy gets the bytes.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub sandbox: String,
}

/// Part of a terminal session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SocketStep {
    /// The session's name; a new one opens a connection.
    pub name: String,
    /// Path and query; a new name needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The sandbox whose proxy carries the session.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub sandbox: String,
    /// The messages that are sent and awaited, in order.
    #[serde(default, rename = "do", skip_serializing_if = "Vec::is_empty")]
    pub dialogue: Vec<SessionExchange>,
}

/// One thing said or awaited in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionExchange {
    /// Bytes for the shell, in a binary frame.
    Stdin(String),
    /// A text frame.
    Text(String),
    /// This text must come: output and text frames, one after the other.
    Await(String),
    /// The other side ends the connection, with this code if it is not 0.
    Ended(u16),
    /// The connection is closed.
    Close {},
}

/// A frame to the daemon's socket.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameStep {
    /// Members that differ from a good frame; null removes one. A dot goes one object down.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, Value>,
    /// The whole body instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The body is filled with blanks to this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    /// The length in the header, if it is not the true one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// Only this many bytes of header and body are sent; then the connection is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<usize>,
    /// The name of the connection that is used; it stays open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// True if the daemon must close the connection after the frame.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closes: bool,
}

/// A frame to the relay.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostStep {
    /// The certificate that is shown.
    #[serde(default)]
    pub certificate: Certificate,
    /// The sandbox whose certificate is shown.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub sandbox: String,
    /// Members that differ from a good frame; null removes one. A dot goes one object down.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, Value>,
    /// The whole body instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The body is filled with blanks to this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    /// Method and path, if not those of a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The address of the loopback interface that it comes from, if not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Ipv4Addr>,
}

/// A client certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certificate {
    /// The sandbox's own.
    #[default]
    Good,
    /// None at all.
    None,
    /// A certificate by an authority that the relay does not know.
    Foreign,
    /// A certificate that has expired.
    Expired,
    /// A certificate that is not valid yet.
    Early,
    /// A certificate that names two sandboxes.
    TwoIds,
    /// A certificate that names no sandbox.
    NoId,
    /// A certificate whose name has a slash.
    SlashId,
    /// A certificate whose name is empty.
    EmptyId,
    /// A certificate whose name is too long.
    LongId,
    /// The id is in the subject only.
    SubjectId,
}

impl Channel {
    /// Every sandbox that a step names.
    pub fn sandboxes(&self) -> Vec<&str> {
        let named = self.steps.iter().filter_map(ChannelStep::sandbox);
        let mut found: Vec<&str> = named.collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns whether a step sends to a proxy.
    pub fn proxied(&self) -> bool {
        self.steps.iter().any(|step| {
            matches!(step, ChannelStep::Request(_) | ChannelStep::Raw(_) | ChannelStep::Socket(_))
        })
    }

    /// Returns whether a step sends to the relay, directly or through a proxy.
    pub fn relayed(&self) -> bool {
        self.proxied() || self.steps.iter().any(|step| matches!(step, ChannelStep::Post(_)))
    }

    /// Returns whether a step involves the daemon.
    pub fn stored(&self) -> bool {
        let only =
            |step: &ChannelStep| matches!(step, ChannelStep::Verify(_) | ChannelStep::Refuse(_));
        !self.steps.iter().all(only)
    }
}

impl ChannelStep {
    /// The word a case uses for it.
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Raw(_) => "raw",
            Self::Direct(_) => "direct",
            Self::Socket(_) => "socket",
            Self::Frame(_) => "frame",
            Self::Post(_) => "post",
            Self::Release(_) => "release",
            Self::Finish(_) => "finish",
            Self::Wire(_) => "wire",
            Self::Stop(_) => "stop",
            Self::Start(_) => "start",
            Self::Pause(_) => "pause",
            Self::Resume(_) => "resume",
            Self::Verify(_) => "verify",
            Self::Refuse(_) => "refuse",
        }
    }

    /// The sandbox that it is about.
    pub fn sandbox(&self) -> Option<&str> {
        match self {
            Self::Request(step) | Self::Direct(step) => Some(&step.sandbox),
            Self::Raw(step) => Some(&step.sandbox),
            Self::Socket(step) => Some(&step.sandbox),
            Self::Post(step) => Some(&step.sandbox),
            _ => None,
        }
    }

    /// Returns whether the step has an answer that an expectation can be about.
    pub fn is_answered(&self) -> bool {
        matches!(
            self,
            Self::Request(_)
                | Self::Raw(_)
                | Self::Direct(_)
                | Self::Post(_)
                | Self::Verify(_)
                | Self::Refuse(_)
                | Self::Frame(_)
        )
    }
}
