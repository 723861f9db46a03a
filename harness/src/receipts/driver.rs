//! Playing a case: each step in its order, through the channel or straight to execd.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use base64::Engine as _;
use boxproof_cases::case::{
    Certificate, ChannelStep, FIRST, ForbiddenPlace, FrameStep, PostStep, RawStep,
    RelayLink as Mode, RequestStep, SocketStep, Upload, VerifyStep,
};
use minijinja::context;
use tokio::net::{TcpStream, UnixStream};

use super::certs::CertificateAuthority;
use super::http::{self, PendingAnswer, WrittenRequest};
use super::misplaced::MisplacedDaemon;
use super::processes::{ChannelSandbox, ChannelStack};
use super::quiescence::rest;
use super::sign::{self, SigningKeys};
use super::terminal::AgentTerminal;
use super::{frames, keys};
use crate::channel_observation::{ChannelAnswer, ChannelObservation};

/// The deadline of each wait.
pub(super) const LIMIT: Duration = Duration::from_secs(8);

/// The destination of a case's requests.
pub(super) enum RequestTarget {
    /// Through the channel.
    Channel(Box<ChannelStack>),
    /// Straight to execd.
    Direct(BTreeMap<String, ChannelSandbox>),
}

/// The player of a case.
pub(super) struct StepDriver {
    pub(super) ground: RequestTarget,
    pub(super) seen: ChannelObservation,
    open: BTreeMap<String, (usize, PendingAnswer<TcpStream>)>,
    terminals: BTreeMap<String, AgentTerminal>,
    connections: BTreeMap<String, UnixStream>,
}

/// The result of a step; an error means that nothing can be learnt.
type StepResult<T> = Result<T, String>;

impl StepDriver {
    pub(super) fn new(ground: RequestTarget) -> Self {
        Self {
            ground,
            seen: ChannelObservation::default(),
            open: BTreeMap::new(),
            terminals: BTreeMap::new(),
            connections: BTreeMap::new(),
        }
    }

    /// Does step `number`.
    pub(super) async fn step(&mut self, number: usize, step: &ChannelStep) -> StepResult<()> {
        match step {
            ChannelStep::Request(request) => self.request(number, request, false).await,
            ChannelStep::Direct(request) => self.request(number, request, true).await,
            ChannelStep::Raw(raw) => self.raw(number, raw).await,
            ChannelStep::Socket(socket) => self.socket(number, socket).await,
            ChannelStep::Frame(frame) => self.frame(number, frame).await,
            ChannelStep::Post(post) => self.post(number, post).await,
            ChannelStep::Verify(verify) => self.verify(number, verify).await,
            ChannelStep::Refuse(where_) => self.misplaced(number, *where_).await,
            ChannelStep::Finish(name) => self.finish(name).await,
            ChannelStep::Release(name) => {
                self.sandboxes().values().for_each(|sandbox| sandbox.execd.release(name));
                Ok(())
            }
            ChannelStep::Wire(mode) => {
                self.calm(None).await?;
                self.turn(*mode)
            }
            ChannelStep::Stop(stop) => {
                self.calm(None).await?;
                self.stack()?.stop(stop.part, stop.by).await
            }
            ChannelStep::Start(part) => self.stack()?.start(*part).await,
            ChannelStep::Pause(part) => {
                self.calm(None).await?;
                self.stack()?.pause(*part).await
            }
            ChannelStep::Resume(part) => self.stack()?.resume(*part),
        }
    }

    pub(super) fn stack(&mut self) -> StepResult<&mut ChannelStack> {
        match &mut self.ground {
            RequestTarget::Channel(stack) => Ok(stack),
            RequestTarget::Direct(_) => Err("without a channel there is no such part".to_owned()),
        }
    }

    pub(super) fn sandboxes(&self) -> &BTreeMap<String, ChannelSandbox> {
        match &self.ground {
            RequestTarget::Channel(stack) => &stack.sandboxes,
            RequestTarget::Direct(sandboxes) => sandboxes,
        }
    }

    fn sandbox(&self, id: &str) -> StepResult<&ChannelSandbox> {
        self.sandboxes().get(id).ok_or_else(|| format!("there is no sandbox {id}"))
    }

    /// Waits until what was done before is on its way no longer; with `before`, until something
    /// has happened since then.
    async fn calm(&self, before: Option<u64>) -> StepResult<()> {
        match &self.ground {
            RequestTarget::Channel(stack) => rest(stack, before).await,
            RequestTarget::Direct(_) => Ok(()),
        }
    }

    fn turn(&self, mode: Mode) -> StepResult<()> {
        if let Some(wire) = &self.sandbox(FIRST)?.wire {
            wire.turn(mode);
        }
        Ok(())
    }

    /// Returns whether events of the sandbox `id` can be handed over at all.
    fn hands_over(&self, id: &str) -> bool {
        let RequestTarget::Channel(stack) = &self.ground else { return true };
        let up = stack.daemon.is_some() && stack.relay.is_some();
        let wire = stack.sandboxes.get(id).and_then(|sandbox| sandbox.wire.as_ref());
        up && wire.is_none_or(super::fault_proxy::FaultProxy::passes)
    }

    async fn request(&mut self, number: usize, step: &RequestStep, past: bool) -> StepResult<()> {
        let sandbox = self.sandbox(&step.sandbox)?;
        let address = if past { sandbox.execd.address } else { sandbox.address };
        let before = match &self.ground {
            RequestTarget::Channel(stack) => stack.events(),
            RequestTarget::Direct(_) => 0,
        };
        if let Some(text) = &step.until {
            let mut exchange = match PendingAnswer::begin(address, &written(step, 1)?).await {
                Ok(exchange) => exchange,
                Err(error) => return self.unanswered(number, error),
            };
            if !exchange.until(text, LIMIT).await {
                self.seen.unmet.push(format!("step {number}: `{text}` did not come"));
            }
            match &step.name {
                Some(name) => drop(self.open.insert(name.clone(), (number, exchange))),
                None => self.answered(number, vec![exchange.answer()]),
            }
            return Ok(());
        }
        let mut asking = Vec::new();
        for count in 1..=step.times {
            let request = written(step, count)?;
            asking.push(tokio::spawn(async move {
                match PendingAnswer::begin(address, &request).await {
                    Ok(exchange) => exchange.finish(LIMIT).await,
                    Err(error) => ChannelAnswer { error: Some(error), ..ChannelAnswer::default() },
                }
            }));
        }
        let mut answers = Vec::new();
        for asked in asking {
            answers.push(asked.await.map_err(|error| error.to_string())?);
        }
        self.answered(number, answers);
        if !past && !self.hands_over(&step.sandbox) {
            // Events that could not be handed over are to be counted before the next step.
            self.calm(Some(before)).await?;
        }
        Ok(())
    }

    fn answered(&mut self, number: usize, answers: Vec<ChannelAnswer>) {
        self.seen.answers.entry(number).or_default().extend(answers);
    }

    fn unanswered(&mut self, number: usize, error: String) -> StepResult<()> {
        self.answered(
            number,
            vec![ChannelAnswer { error: Some(error), ..ChannelAnswer::default() }],
        );
        Ok(())
    }

    async fn finish(&mut self, name: &str) -> StepResult<()> {
        let (number, exchange) = self.open.remove(name).ok_or("it was never begun")?;
        let answer = exchange.finish(LIMIT).await;
        self.answered(number, vec![answer]);
        Ok(())
    }

    async fn raw(&mut self, number: usize, step: &RawStep) -> StepResult<()> {
        let address = self.sandbox(&step.sandbox)?.address;
        let text = step.head.join("\r\n") + "\r\n\r\n" + &step.body;
        let request = WrittenRequest { bytes: text.into_bytes(), headless: false };
        match PendingAnswer::begin(address, &request).await {
            Ok(exchange) => {
                let answer = exchange.finish(LIMIT).await;
                self.answered(number, vec![answer]);
                Ok(())
            }
            Err(error) => self.unanswered(number, error),
        }
    }

    async fn socket(&mut self, number: usize, step: &SocketStep) -> StepResult<()> {
        let address = self.sandbox(&step.sandbox)?.address;
        if let Some(path) = &step.path {
            let terminal = AgentTerminal::open(address, path, LIMIT).await;
            self.terminals.insert(step.name.clone(), terminal);
        }
        let terminal = self.terminals.get_mut(&step.name).ok_or("there is no such session")?;
        for said in &step.dialogue {
            if let Err(why) = terminal.step(said, LIMIT).await {
                self.seen.unmet.push(format!("step {number}: {why}"));
                break;
            }
        }
        Ok(())
    }

    async fn frame(&mut self, number: usize, step: &FrameStep) -> StepResult<()> {
        let bytes = frames::framed(step)?;
        let socket = self.stack()?.host.join("socket");
        let known = step.connection.as_ref().and_then(|name| self.connections.remove(name));
        let mut stream = match known {
            Some(stream) => stream,
            None => frames::connect(&socket).await?,
        };
        frames::send(&mut stream, &bytes).await;
        if step.cut.is_some() {
            return Ok(());
        }
        if step.closes && !frames::is_ended(&mut stream, LIMIT).await {
            self.seen.unmet.push(format!("step {number}: the daemon keeps the connection"));
        }
        if let Some(name) = &step.connection {
            self.connections.insert(name.clone(), stream);
        }
        Ok(())
    }

    async fn post(&mut self, number: usize, step: &PostStep) -> StepResult<()> {
        let stack = self.stack()?;
        let relay = stack.relay_address.ok_or("there is no relay")?;
        let foreign = CertificateAuthority::new("another")?;
        let issuer = if step.certificate == Certificate::Foreign { &foreign } else { &stack.ca };
        let pair = match stack.shown.get(&step.sandbox) {
            Some(pair) if step.certificate == Certificate::Good => Some(pair.clone()),
            _ => issuer.client(step.certificate, &step.sandbox)?,
        };
        if let (Certificate::Good, Some(pair)) = (step.certificate, &pair) {
            // One sandbox has one certificate, however often it is shown.
            stack.shown.insert(step.sandbox.clone(), pair.clone());
        }
        let client = frames::TlsClient::new(&stack.ca.pem(), pair.as_ref())?;
        let body = frames::body(&step.with, step.text.as_deref(), step.size)?;
        let to = step.to.as_deref().unwrap_or("POST /ingest");
        let (method, path) = to.split_once(' ').ok_or("to: a method and a path")?;
        let kind = BTreeMap::from([("Content-Type".to_owned(), "application/json".to_owned())]);
        let request = http::written(method, path, &kind, Some(&body));
        let answer = client.send_request((step.from, relay), &request, LIMIT).await;
        self.answered(number, vec![answer]);
        Ok(())
    }

    async fn verify(&mut self, number: usize, step: &VerifyStep) -> StepResult<()> {
        let stack = self.stack()?;
        if !stack.verifies() {
            return Err("the channel has no verifier".to_owned());
        }
        let keys = SigningKeys { own: stack.key.clone(), other: keys::new_key()? };
        let chain = sign::chain(step, &keys)?;
        let file = stack.host.join(format!("chain-{number}.jsonl"));
        let lines = || chain.lines.iter().map(|line| format!("{line}\n")).collect();
        keys::write(&file, &step.text.clone().unwrap_or_else(lines), 0o644)?;
        let key = match &step.key {
            None => stack.at("key.pub"),
            Some(form) => {
                let file = stack.host.join(format!("key-{number}.pub"));
                keys::write(&file, &keys::file_of(form, &keys.own)?, 0o644)?;
                file.display().to_string()
            }
        };
        let bodies = step.response.as_ref().map(|body| {
            let file = stack.host.join(format!("bodies-{number}.json"));
            keys::write(&file, &sign::bodies(&chain, body)?, 0o644)?;
            StepResult::Ok(file)
        });
        let bodies = bodies.transpose()?;
        let wrong = || format!("sha256:{}", "0".repeat(64));
        let hash = step.expected_final_hash.map(|told| match told {
            boxproof_cases::case::GivenHash::Right => chain.final_hash.clone(),
            boxproof_cases::case::GivenHash::Wrong => wrong(),
        });
        let context = context! {
            key, file => file.display().to_string(), strict => step.strict,
            expected_length => step.expected_length.map(|n| n.to_string()).unwrap_or_default(),
            expected_final_hash => hash.unwrap_or_default(),
            require_terminal => step.require_terminal, provenance => step.provenance,
            response_bodies => bodies.map(|file| file.display().to_string()).unwrap_or_default(),
        };
        let finished = stack.verify(&context).await?;
        let body = format!("{}{}", finished.out, finished.err);
        let exit = finished.status.code();
        self.answered(number, vec![ChannelAnswer { body, exit, ..ChannelAnswer::default() }]);
        Ok(())
    }

    async fn misplaced(&mut self, number: usize, place: ForbiddenPlace) -> StepResult<()> {
        if place == ForbiddenPlace::Taken {
            self.connections.clear();
        }
        let stack = self.stack()?;
        let daemon = MisplacedDaemon::prepare(place, &stack.host)?;
        let mut running = stack.misplaced(&daemon)?;
        if let Err(why) = running.refuses().await {
            self.seen.unmet.push(format!("step {number}: the daemon does not refuse: {why}"));
        }
        if !daemon.is_place_kept() {
            self.seen.unmet.push(format!("step {number}: the file in its place is gone"));
        }
        Ok(())
    }

    /// Agents that still listen hang up.
    pub(super) fn hang_up(&mut self) {
        self.open.clear();
        self.terminals.clear();
        self.connections.clear();
    }

    /// A harmless action by each way that is open; the hash of its parameters and the way.
    pub(super) async fn mark(&mut self, nonce: &str) -> StepResult<Vec<(String, String)>> {
        let ids: Vec<String> = self.sandboxes().keys().cloned().collect();
        let open: Vec<String> = ids.into_iter().filter(|id| self.hands_over(id)).collect();
        let stack = self.stack()?;
        if stack.daemon.is_none() {
            return Ok(Vec::new());
        }
        let mut sent = Vec::new();
        let running = stack.sandboxes.iter();
        let running = running.filter(|(id, one)| open.contains(id) && one.proxy.is_some());
        let ways: Vec<(String, std::net::SocketAddr)> =
            running.map(|(id, sandbox)| (id.clone(), sandbox.address)).collect();
        for (id, address) in ways {
            let input = serde_json::json!({ "command": format!("marker {nonce} {id}") });
            let step = RequestStep {
                method: "POST".to_owned(),
                path: "/command".to_owned(),
                json: Some(input.clone()),
                times: 1,
                sandbox: id.clone(),
                ..RequestStep::default()
            };
            if let Ok(exchange) = PendingAnswer::begin(address, &written(&step, 1)?).await {
                exchange.finish(LIMIT).await;
            }
            sent.push((super::canonical::hash(&input)?, format!("the proxy of {id}")));
        }
        if sent.is_empty() {
            let input = serde_json::json!({ "command": format!("marker {nonce}") });
            let mut frame = frames::good();
            frame["input"] = input.clone();
            let mut stream = frames::connect(&stack.host.join("socket")).await?;
            frames::send(&mut stream, &frames::of_value(&frame)).await;
            sent.push((super::canonical::hash(&input)?, "the daemon's socket".to_owned()));
        }
        Ok(sent)
    }

    /// Records processes and socket at the end of the play; for `keyless` also places of the key.
    pub(super) fn record_end_state(&mut self, keyless: bool) {
        let RequestTarget::Channel(stack) = &mut self.ground else { return };
        self.seen.relay = stack.relay.as_ref().map(super::running::ChannelProcess::pid);
        self.seen.harness = std::process::id();
        let mode = std::fs::metadata(stack.host.join("socket"));
        self.seen.socket_mode =
            mode.ok().map(|mode| format!("{:o}", mode.permissions().mode() & 0o777));
        if !keyless {
            return;
        }
        let first = stack.sandboxes.get(FIRST).and_then(|one| Some((one.proxy.as_ref()?, one)));
        match first {
            _ if stack.public != stack.key.verifying_key() => {
                let why = "the channel signs by a key of its own, which is not known here";
                self.seen.key_unseen = Some(why.to_owned());
            }
            None => self.seen.key_unseen = Some("there is no proxy".to_owned()),
            Some((proxy, one)) => {
                match super::secret_scan::key_near(&stack.key, proxy.pid(), &one.directory) {
                    Ok(found) => self.seen.key_seen = found,
                    Err(why) => self.seen.key_unseen = Some(why),
                }
            }
        }
    }
}

/// The request of a step; `#` is its number where there are several.
fn written(step: &RequestStep, count: u32) -> StepResult<WrittenRequest> {
    let numbered = |text: &str| match step.times {
        1 => text.to_owned(),
        _ => text.replace('#', &count.to_string()),
    };
    let mut headers = step.headers.clone();
    let body = match (&step.json, &step.body, &step.body_b64, step.upload.as_slice()) {
        (Some(json), ..) => {
            headers.entry("Content-Type".to_owned()).or_insert("application/json".to_owned());
            Some(numbered(&json.to_string()).into_bytes())
        }
        (_, Some(text), ..) => Some(numbered(text).into_bytes()),
        (_, _, Some(text), _) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text);
            Some(bytes.map_err(|error| format!("body_b64: {error}"))?)
        }
        (.., [_, ..]) => {
            let kind = format!("multipart/form-data; boundary={BOUNDARY}");
            headers.entry("Content-Type".to_owned()).or_insert(kind);
            Some(form(&step.upload).into_bytes())
        }
        _ if step.method == "GET" || step.method == "DELETE" => None,
        _ => Some(Vec::new()),
    };
    Ok(http::written(&step.method, &numbered(&step.path), &headers, body.as_deref()))
}

/// The boundary between the parts of an upload.
const BOUNDARY: &str = "boxproof-7MA4YWxkTrZu0gW";

fn form(uploads: &[Upload]) -> String {
    let part = |name: &str, kind: &str, text: &str| {
        format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\
             Content-Type: {kind}\r\n\r\n{text}\r\n"
        )
    };
    let pairs = uploads.iter().map(|upload| {
        let metadata = serde_json::json!({ "path": upload.path, "mode": 644 }).to_string();
        part("metadata", "application/json", &metadata)
            + &part("file", "application/octet-stream", &upload.text)
    });
    pairs.collect::<String>() + &format!("--{BOUNDARY}--\r\n")
}
