//! The writer of signed receipts, from an event and its place in a chain.

use ed25519_dalek::{Signer, SigningKey};
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::accept::AcceptedEvent;
use super::frame::{CallDecision, EventFrame, SandboxBinding};
use super::peer::PeerProcess;
use super::{canonical, keys, taxonomy};

const CONTEXT: [&str; 2] =
    ["https://www.w3.org/ns/credentials/v2", "https://agentreceipts.ai/context/v2"];
const TYPE: [&str; 2] = ["VerifiableCredential", "AgentReceipt"];
const VERSION: &str = "0.5.0";
/// The end of every receipt's canonical text, behind the place of its proof.
const TAIL: &[u8] = br#","type":["VerifiableCredential","AgentReceipt"],"version":"0.5.0"}"#;

/// The place of the members that the receipt format does not define.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ReceiptProfile {
    /// The place where verifiers that know the format alone keep them
    #[default]
    Wire,
    /// The place that ADR-0027 defines: for verifiers of raw bytes
    Adr,
}

/// The content of a receipt.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReceiptContent<'a> {
    /// An event.
    Live(&'a AcceptedEvent, &'a PeerProcess),
    /// A count of events before this one that never arrived.
    Dropped(&'a AcceptedEvent, &'a PeerProcess, i64),
    /// The daemon serves from here on; the root chain before this one, and its last hash.
    Started(Option<(&'a str, &'a str)>),
    /// The daemon ends this chain; of a root, with the number of chains below it.
    Interrupted(Option<usize>),
}

/// A place in a chain.
#[derive(Debug)]
pub(crate) struct ChainLink {
    pub(crate) chain_id: String,
    pub(crate) sequence: u64,
    pub(crate) previous: Option<String>,
    /// The anchor of the first receipt below the root.
    pub(crate) anchor: Option<ChainAnchor>,
}

/// The receipt of the root chain that a chain below it starts from.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ChainAnchor {
    pub(crate) chain_id: String,
    pub(crate) receipt_id: String,
    pub(crate) sequence: u64,
    pub(crate) receipt_hash: String,
}

/// A signed receipt as it is stored.
#[derive(Debug)]
pub(crate) struct SignedReceipt {
    pub(crate) id: String,
    pub(crate) hash: String,
    pub(crate) text: Vec<u8>,
}

/// The signer: its key and its names.
#[derive(Debug)]
pub(crate) struct ReceiptSigner {
    key: SigningKey,
    issuer: String,
    method: String,
    profile: ReceiptProfile,
}

impl ReceiptSigner {
    pub(crate) fn new(key: SigningKey, profile: ReceiptProfile) -> Self {
        let print = keys::fingerprint(&key.verifying_key());
        let short = print.trim_start_matches("sha256:").get(..16).unwrap_or_default();
        let issuer = format!("did:agent-receipts-daemon:{short}");
        let method = format!("{issuer}#key-1");
        Self { key, issuer, method, profile }
    }

    pub(crate) fn key(&self) -> ed25519_dalek::VerifyingKey {
        self.key.verifying_key()
    }

    /// Writes and signs; `at` is the one time of the receipt.
    pub(crate) fn write(
        &self,
        content: ReceiptContent,
        link: &ChainLink,
        at: &str,
    ) -> Result<SignedReceipt, String> {
        let id = format!("urn:receipt:{}", Uuid::new_v4());
        let receipt = ReceiptDocument {
            context: CONTEXT,
            id: &id,
            kind: TYPE,
            version: VERSION,
            issuer: self.issuer(content),
            issued: at,
            subject: self.subject(content, link, at),
        };
        let signed = canonical::canonical(&receipt)?;
        let text = self.seal(&signed, at)?;
        Ok(SignedReceipt { id, hash: canonical::digest(&signed), text })
    }

    /// Puts the proof into a canonical text, between the members before and after it.
    fn seal(&self, signed: &[u8], at: &str) -> Result<Vec<u8>, String> {
        let head = signed.strip_suffix(TAIL).ok_or("the canonical text has another end")?;
        let proof = canonical::canonical(&ReceiptProof {
            kind: "Ed25519Signature2020",
            created: at,
            method: &self.method,
            purpose: "assertionMethod",
            value: &keys::multibase(&self.key.sign(signed).to_bytes()),
        })?;
        Ok([head, br#","proof":"#, &proof, TAIL].concat())
    }

    fn issuer<'a>(&'a self, content: ReceiptContent<'a>) -> ReceiptIssuer<'a> {
        let mut issuer = ReceiptIssuer { id: &self.issuer, ..ReceiptIssuer::default() };
        if let ReceiptContent::Live(event, _) | ReceiptContent::Dropped(event, ..) = content {
            let session = Some(event.frame.session_id.as_str());
            issuer.session_id = session.filter(|_| !fault!("receipts.no-session"));
        }
        issuer.runtime = of_store(content);
        if let ReceiptContent::Live(AcceptedEvent { frame, .. }, _) = content {
            issuer.name = frame.issuer_name.as_deref();
            issuer.model = frame.issuer_model.as_deref();
            issuer.operator = frame.operator_id.as_deref().map(|id| ReceiptOperator {
                id,
                // The format wants both.
                name: frame.operator_name.as_deref().unwrap_or(id),
            });
            issuer.runtime = Some(self.runtime(frame));
        }
        issuer
    }

    /// Returns the members that the format leaves open, and that so survive every verifier.
    fn runtime(&self, frame: &EventFrame) -> Map<String, Value> {
        let mut runtime = Map::new();
        let mut add = |name: &str, value: Option<Value>| {
            runtime.extend(value.map(|value| (name.to_owned(), value)));
        };
        let text = |text: &Option<String>| text.clone().map(Value::from);
        add("channel", Some(frame.channel.clone().into()));
        add("agent_id", text(&frame.agent_id));
        add("agent_type", text(&frame.agent_type));
        add("model", text(&frame.model));
        add("capture_method", text(&frame.capture_method));
        let number = frame.event_number.filter(|_| !fault!("receipts.no-event-number"));
        let shift = u64::from(fault!("receipts.event-numbers-shifted"));
        add("event_number", number.map(|number| Value::from(number - shift)));
        add("usage", frame.usage.clone().map(Value::from));
        if self.profile == ReceiptProfile::Wire {
            add("binding", frame.binding.as_ref().map(|binding| json!(binding)));
            add("coverage", frame.coverage.clone());
        }
        runtime
    }

    fn subject<'a>(
        &'a self,
        content: ReceiptContent<'a>,
        link: &'a ChainLink,
        at: &'a str,
    ) -> ReceiptSubject<'a> {
        let delegation = link.anchor.as_ref().map(|anchor| ReceiptDelegation {
            parent_chain_id: &anchor.chain_id,
            parent_receipt_id: &anchor.receipt_id,
            delegator: PartyId { id: &self.issuer },
        });
        let mut subject = ReceiptSubject {
            principal: PartyId { id: principal(content) },
            action: action(content, at),
            outcome: outcome(content),
            chain: chain(content, link),
            correlation_id: None,
            correlator: None,
            delegation,
            binding: None,
            coverage: None,
            parent: link.anchor.as_ref().filter(|_| self.profile == ReceiptProfile::Adr),
        };
        if let ReceiptContent::Live(AcceptedEvent { frame, .. }, _) = content {
            let correlation = frame.correlation_id.as_deref();
            subject.correlation_id = correlation.filter(|_| !fault!("receipts.no-correlation"));
            if self.profile == ReceiptProfile::Adr {
                subject.correlator = frame.correlation_id.as_deref();
                subject.binding = frame.binding.as_ref();
                subject.coverage = frame.coverage.as_ref();
            }
        }
        subject
    }
}

/// Returns the members in which a daemon's own receipts name the chains of its store, so that a
/// missing chain is noticed.
fn of_store(content: ReceiptContent<'_>) -> Option<Map<String, Value>> {
    let (name, value) = match content {
        ReceiptContent::Started(Some((chain, hash))) => {
            ("previous_chain", json!({"chain_id": chain, "receipt_hash": hash}))
        }
        ReceiptContent::Interrupted(Some(count)) => ("chains_ended", json!(count)),
        _ => return None,
    };
    Some(Map::from_iter([(name.to_owned(), value)]))
}

fn principal(content: ReceiptContent<'_>) -> &str {
    match content {
        ReceiptContent::Live(_, peer) | ReceiptContent::Dropped(_, peer, _) => &peer.principal,
        ReceiptContent::Started(_) | ReceiptContent::Interrupted(_) => "did:user:unknown",
    }
}

fn action<'a>(content: ReceiptContent<'a>, at: &'a str) -> ReceiptAction<'a> {
    let kind = match content {
        ReceiptContent::Live(event, _) => kind(&event.frame),
        ReceiptContent::Dropped(..) => "agent_receipts.events_dropped".to_owned(),
        ReceiptContent::Started(_) => "agent_receipts.daemon_started".to_owned(),
        ReceiptContent::Interrupted(_) => "agent_receipts.chain_interrupted".to_owned(),
    };
    let mut action = ReceiptAction {
        id: format!("act_{}", Uuid::new_v4()),
        risk_level: match fault!("receipts.low-risk") {
            true => taxonomy::RiskLevel::Low,
            false => taxonomy::risk(&kind),
        },
        kind,
        timestamp: at,
        target: None,
        parameters_hash: None,
        peer_credential: None,
        emitter_metadata: None,
        idempotency_key: None,
    };
    match content {
        ReceiptContent::Live(event, peer) => {
            let EventFrame { target_system, target_resource, .. } = &event.frame;
            let target = target_system.as_deref().zip(target_resource.as_deref());
            let target = target.filter(|_| !fault!("receipts.no-target"));
            action.target = target.map(|(system, resource)| ActionTarget { system, resource });
            action.parameters_hash = event.parameters_hash.as_deref();
            action.idempotency_key = event.frame.idempotency_key.as_deref();
            action.peer_credential = Some(peer.into()).filter(|_| !fault!("receipts.no-peer"));
        }
        ReceiptContent::Dropped(_, peer, drop_count) => {
            action.emitter_metadata = Some(EmitterMetadata { drop_count });
            action.peer_credential = Some(peer.into());
        }
        ReceiptContent::Started(_) | ReceiptContent::Interrupted(_) => {}
    }
    action
}

/// Returns the type of an action; without a named one, it is made of channel and tool.
fn kind(frame: &EventFrame) -> String {
    let EventFrame { channel, tool, action_type, .. } = frame;
    match (action_type, &tool.server) {
        (Some(kind), _) => kind.clone(),
        (None, Some(server)) => format!("{channel}.{server}.{}", tool.name),
        (None, None) => format!("{channel}.{}", tool.name),
    }
}

fn outcome(content: ReceiptContent) -> ReceiptOutcome {
    let ReceiptContent::Live(event, _) = content else {
        return ReceiptOutcome { status: "success", error: None, response_hash: None };
    };
    let error = event.frame.error.as_deref();
    let status = match (event.frame.decision, error) {
        (CallDecision::Denied, _) if fault!("receipts.denied-success") => "success",
        (CallDecision::Allowed, Some(_)) if fault!("receipts.failed-success") => "success",
        (CallDecision::Allowed, None) => "success",
        (CallDecision::Allowed, Some(_)) | (CallDecision::Denied, _) => "failure",
        (CallDecision::Pending, _) => "pending",
    };
    ReceiptOutcome { status, error, response_hash: event.response_hash.as_deref() }
}

fn chain<'a>(content: ReceiptContent, link: &'a ChainLink) -> ReceiptChain<'a> {
    let ends = matches!(content, ReceiptContent::Interrupted(_));
    ReceiptChain {
        chain_id: &link.chain_id,
        previous_receipt_hash: link.previous.as_deref(),
        sequence: link.sequence,
        status: ends.then_some("interrupted"),
        terminal: ends.then_some(true),
    }
}

impl<'a> From<&'a PeerProcess> for PeerCredential<'a> {
    fn from(peer: &'a PeerProcess) -> Self {
        let PeerProcess { pid, uid, gid, exe, .. } = peer;
        Self { exe_path: exe.as_deref(), gid: *gid, pid: *pid, platform: "linux", uid: *uid }
    }
}

#[derive(Serialize)]
struct ReceiptDocument<'a> {
    #[serde(rename = "@context")]
    context: [&'a str; 2],
    id: &'a str,
    #[serde(rename = "type")]
    kind: [&'a str; 2],
    version: &'a str,
    issuer: ReceiptIssuer<'a>,
    #[serde(rename = "issuanceDate")]
    issued: &'a str,
    #[serde(rename = "credentialSubject")]
    subject: ReceiptSubject<'a>,
}

#[derive(Default, Serialize)]
struct ReceiptIssuer<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<ReceiptOperator<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct ReceiptOperator<'a> {
    id: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct PartyId<'a> {
    id: &'a str,
}

#[derive(Serialize)]
struct ReceiptSubject<'a> {
    principal: PartyId<'a>,
    action: ReceiptAction<'a>,
    outcome: ReceiptOutcome<'a>,
    chain: ReceiptChain<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlator: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delegation: Option<ReceiptDelegation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding: Option<&'a SandboxBinding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<&'a Value>,
    #[serde(rename = "parentChainRef", skip_serializing_if = "Option::is_none")]
    parent: Option<&'a ChainAnchor>,
}

#[derive(Serialize)]
struct ReceiptAction<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    risk_level: taxonomy::RiskLevel,
    timestamp: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<ActionTarget<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_credential: Option<PeerCredential<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    emitter_metadata: Option<EmitterMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
}

#[derive(Serialize)]
struct ActionTarget<'a> {
    system: &'a str,
    resource: &'a str,
}

#[derive(Serialize)]
struct PeerCredential<'a> {
    platform: &'a str,
    pid: i32,
    uid: u32,
    gid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    exe_path: Option<&'a str>,
}

#[derive(Serialize)]
struct EmitterMetadata {
    drop_count: i64,
}

#[derive(Serialize)]
struct ReceiptOutcome<'a> {
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_hash: Option<&'a str>,
}

#[derive(Serialize)]
struct ReceiptChain<'a> {
    chain_id: &'a str,
    previous_receipt_hash: Option<&'a str>,
    sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal: Option<bool>,
}

#[derive(Serialize)]
struct ReceiptDelegation<'a> {
    parent_chain_id: &'a str,
    parent_receipt_id: &'a str,
    delegator: PartyId<'a>,
}

#[derive(Serialize)]
struct ReceiptProof<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    created: &'a str,
    #[serde(rename = "verificationMethod")]
    method: &'a str,
    #[serde(rename = "proofPurpose")]
    purpose: &'a str,
    #[serde(rename = "proofValue")]
    value: &'a str,
}
