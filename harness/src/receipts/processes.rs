//! The parts of a channel as processes: started from the manifest, watched, ended. Each dies with
//! the worker that started it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use boxproof_cases::case::{Certificate, Channel, ChannelPart, PartSignal};
use ed25519_dalek::{SigningKey, VerifyingKey};
use minijinja::context;
use nix::sys::signal::Signal;

use super::certs::{CertificateAuthority, CertificateFiles, CertificatePair};
use super::execd::Execd;
use super::fault_proxy::FaultProxy;
use super::keys;
use super::misplaced::MisplacedDaemon;
use super::running::ChannelProcess;
use crate::backend::ChannelCommands;
use crate::{sweep, sys};

/// A sandbox: its execd, its proxy and what lies between that and the relay.
#[derive(Debug)]
pub struct ChannelSandbox {
    /// The directory with its certificate.
    pub directory: PathBuf,
    /// Its execd.
    pub execd: Execd,
    /// Between proxy and relay.
    pub wire: Option<FaultProxy>,
    /// Its proxy, while it runs.
    pub proxy: Option<ChannelProcess>,
    /// The address that agents connect to.
    pub address: SocketAddr,
    files: Option<CertificateFiles>,
}

/// A channel.
#[derive(Debug)]
pub struct ChannelStack {
    callable: ChannelCommands,
    /// The host's side: key, store, socket.
    pub host: PathBuf,
    root: PathBuf,
    channel: Channel,
    nonce: String,
    /// The daemon's key.
    pub key: SigningKey,
    /// The key that receipts must be signed for.
    pub public: VerifyingKey,
    /// The authority that signs certificates.
    pub ca: CertificateAuthority,
    /// The daemon, while it runs.
    pub daemon: Option<ChannelProcess>,
    /// The relay, while it runs.
    pub relay: Option<ChannelProcess>,
    /// The address the relay listens on.
    pub relay_address: Option<SocketAddr>,
    /// Sandbox → its parts.
    pub sandboxes: BTreeMap<String, ChannelSandbox>,
    started: u32,
    /// Sandbox → the certificate that posts in its name show.
    pub shown: BTreeMap<String, CertificatePair>,
    /// Everything the parts wrote to stdout and stderr: the files.
    pub logs: Vec<PathBuf>,
}

/// The result of a finished process.
#[derive(Debug)]
pub struct FinishedProcess {
    /// The exit status.
    pub status: ExitStatus,
    /// The stdout of the process.
    pub out: String,
    /// The stderr of the process.
    pub err: String,
}

/// The values of a template; a value that only one part needs is empty for the others.
#[derive(Debug, Default)]
struct TemplateValues<'a> {
    socket: &'a str,
    key: &'a str,
    cert: &'a str,
    cert_key: &'a str,
    execd: &'a str,
    relay: &'a str,
    sandbox: &'a str,
    token_file: &'a str,
    /// A store that is not the channel's.
    store: &'a str,
}

impl ChannelStack {
    /// The parts that `channel` speaks to, serving, in `root`.
    ///
    /// # Errors
    /// The first part that does not come up, with what it wrote.
    pub async fn new(
        callable: ChannelCommands,
        channel: &Channel,
        root: &Path,
        nonce: &str,
    ) -> Result<Self, String> {
        let host = root.join("host");
        make(&host)?;
        let key = keys::new_key()?;
        keys::store(&key, &host.join("key"))?;
        let mut stack = Self {
            callable,
            host,
            root: root.to_owned(),
            channel: channel.clone(),
            nonce: nonce.to_owned(),
            public: key.verifying_key(),
            key,
            ca: CertificateAuthority::new("boxproof")?,
            daemon: None,
            relay: None,
            relay_address: None,
            sandboxes: BTreeMap::new(),
            started: 0,
            shown: BTreeMap::new(),
            logs: Vec::new(),
        };
        if channel.stored() {
            stack.start(ChannelPart::Daemon).await?;
        }
        if channel.relayed() {
            let pair = stack.ca.server()?;
            pair.store(&stack.host)?;
            keys::write(&stack.host.join("ca.pem"), &stack.ca.pem(), 0o644)?;
            stack.start(ChannelPart::Relay).await?;
        }
        if channel.proxied() {
            for id in channel.sandboxes() {
                stack.add(id).await?;
            }
        }
        Ok(stack)
    }

    /// A sandbox with its proxy.
    async fn add(&mut self, id: &str) -> Result<(), String> {
        let directory = self.root.join(format!("box-{id}"));
        make(&directory)?;
        keys::write(&directory.join("ca.pem"), &self.ca.pem(), 0o644)?;
        let pair = self.ca.client(Certificate::Good, id)?.ok_or("no certificate")?;
        let files = pair.store(&directory)?;
        if let Some(token) = &self.channel.token {
            keys::write(&directory.join("token"), token, 0o600)?;
        }
        let relay = self.relay_address.ok_or("no relay")?;
        let fault = |error: std::io::Error| format!("sandbox {id}: {error}");
        let execd = Execd::new(self.channel.execd.clone(), self.channel.token.clone());
        let execd = execd.await.map_err(fault)?;
        let wire = FaultProxy::new(relay).await.map_err(fault)?;
        let address = execd.address;
        let sandbox = ChannelSandbox {
            directory,
            execd,
            wire: Some(wire),
            proxy: None,
            address,
            files: Some(files),
        };
        self.sandboxes.insert(id.to_owned(), sandbox);
        self.start_proxy(id).await
    }

    /// Starts `part`; a proxy is the first sandbox's.
    ///
    /// # Errors
    /// Returns an error when it does not serve in time.
    pub async fn start(&mut self, part: ChannelPart) -> Result<(), String> {
        match part {
            ChannelPart::Daemon => {
                let template = self.callable.parts.daemon.clone();
                let [socket, key] = ["socket", "key"].map(|name| self.at(name));
                let words =
                    TemplateValues { socket: &socket, key: &key, ..TemplateValues::default() };
                let argv = self.argv(&template, &words)?;
                let mut running = self.spawn("daemon", &argv)?;
                running.says("ready").await?;
                self.daemon = Some(running);
                self.public = self.published(&words)?;
            }
            ChannelPart::Relay => {
                let template = self.callable.parts.relay.clone();
                let names = ["socket", "cert.pem", "cert.key.pem"];
                let [socket, cert, cert_key] = names.map(|name| self.at(name));
                let words = TemplateValues {
                    socket: &socket,
                    cert: &cert,
                    cert_key: &cert_key,
                    ..TemplateValues::default()
                };
                let argv = self.argv(&template, &words)?;
                let mut running = self.spawn("relay", &argv)?;
                let address = running.listens().await?;
                self.relay = Some(running);
                self.relay_address = Some(address);
                let wires = self.sandboxes.values().filter_map(|sandbox| sandbox.wire.as_ref());
                wires.for_each(|wire| wire.lead(address));
            }
            ChannelPart::Proxy => {
                let id = self.sandboxes.keys().next().cloned().ok_or("there is no proxy")?;
                self.start_proxy(&id).await?;
            }
            ChannelPart::Execd => return Err("execd cannot be started again".to_owned()),
        }
        Ok(())
    }

    /// Returns the key that receipts must be signed for: the one that the manifest names, or ours.
    fn published(&self, words: &TemplateValues<'_>) -> Result<VerifyingKey, String> {
        let Some(file) = self.callable.public_key(&self.context(words))? else {
            return Ok(self.key.verifying_key());
        };
        let fault = |error: String| format!("receipts.public_key: {}: {error}", file.display());
        let pem = std::fs::read_to_string(&file).map_err(|error| fault(error.to_string()))?;
        super::verify::key_of(&pem).map_err(fault)
    }

    async fn start_proxy(&mut self, id: &str) -> Result<(), String> {
        let template = self.callable.parts.proxy.clone();
        let sandbox = self.sandboxes.get(id).ok_or("no such sandbox")?;
        let (wire, files) = (sandbox.wire.as_ref(), sandbox.files.as_ref());
        let (wire, files) = wire.zip(files).ok_or("no such sandbox")?;
        let text = |path: &Path| path.display().to_string();
        let token = self.channel.token.as_ref().map(|_| text(&sandbox.directory.join("token")));
        let words = TemplateValues {
            cert: &text(&files.certificate),
            cert_key: &text(&files.key),
            execd: &format!("http://{}", sandbox.execd.address),
            relay: &format!("https://{}", wire.address),
            sandbox: id,
            token_file: token.as_deref().unwrap_or_default(),
            ..TemplateValues::default()
        };
        let argv = self.argv(&template, &words)?;
        let mut running = self.spawn(&format!("proxy-{id}"), &argv)?;
        let address = running.listens().await?;
        if let Some(sandbox) = self.sandboxes.get_mut(id) {
            sandbox.proxy = Some(running);
            sandbox.address = address;
        }
        Ok(())
    }

    /// Ends `part`, and waits until it is gone.
    ///
    /// # Errors
    /// Returns an error when it is not there, or does not go.
    pub async fn stop(&mut self, part: ChannelPart, by: PartSignal) -> Result<(), String> {
        let gone = || format!("the {} does not run", part.keyword());
        let running = match part {
            ChannelPart::Daemon => self.daemon.take(),
            ChannelPart::Relay => self.relay.take(),
            ChannelPart::Proxy => {
                self.sandboxes.values_mut().next().and_then(|one| one.proxy.take())
            }
            ChannelPart::Execd => {
                self.sandboxes.values().next().ok_or_else(gone)?.execd.cut();
                return Ok(());
            }
        };
        let mut running = running.ok_or_else(gone)?;
        if let Some(how) = running.ended() {
            return Err(format!("the {} had ended by itself: {how}", part.keyword()));
        }
        let signal = if by == PartSignal::Term { Signal::SIGTERM } else { Signal::SIGKILL };
        running.signal(signal);
        running.gone().await.map(drop)
    }

    fn running(&self, part: ChannelPart) -> Result<&ChannelProcess, String> {
        let running = match part {
            ChannelPart::Daemon => self.daemon.as_ref(),
            ChannelPart::Relay => self.relay.as_ref(),
            ChannelPart::Proxy => self.sandboxes.values().next().and_then(|one| one.proxy.as_ref()),
            ChannelPart::Execd => None,
        };
        running.ok_or_else(|| format!("there is no process of the {}", part.keyword()))
    }

    /// Lets `part` stand still, and waits until it does.
    ///
    /// # Errors
    /// Returns an error when it is not there, or does not stand still.
    pub async fn pause(&self, part: ChannelPart) -> Result<(), String> {
        let running = self.running(part)?;
        running.signal(Signal::SIGSTOP);
        running.stands().await
    }

    /// Lets `part` go on.
    ///
    /// # Errors
    /// Returns an error when it is not there.
    pub fn resume(&self, part: ChannelPart) -> Result<(), String> {
        self.running(part)?.signal(Signal::SIGCONT);
        Ok(())
    }

    /// The file `name` on the host's side.
    pub fn at(&self, name: &str) -> String {
        self.host.join(name).display().to_string()
    }

    fn argv(&self, template: &str, words: &TemplateValues<'_>) -> Result<Vec<OsString>, String> {
        self.callable.argv(template, &self.context(words))
    }

    fn context(&self, words: &TemplateValues<'_>) -> minijinja::Value {
        let ca = match words.sandbox {
            "" => self.at("ca.pem"),
            id => self.root.join(format!("box-{id}")).join("ca.pem").display().to_string(),
        };
        let store = match words.store {
            "" => self.at("store"),
            other => other.to_owned(),
        };
        context! {
            program => self.callable.program().display().to_string(),
            socket => words.socket, store => store, key => words.key, ca => ca,
            cert => words.cert, cert_key => words.cert_key, listen => "127.0.0.1:0",
            execd => words.execd, relay => words.relay, sandbox_id => words.sandbox,
            profile => self.channel.profile.keyword(), token_file => words.token_file,
            file => "", strict => false, expected_length => "", expected_final_hash => "",
            require_terminal => false, response_bodies => "", provenance => false,
        }
    }

    /// A daemon beside the channel's own, with files of its own.
    ///
    /// # Errors
    /// Returns an error when it cannot be started at all.
    pub fn misplaced(&mut self, files: &MisplacedDaemon) -> Result<ChannelProcess, String> {
        let MisplacedDaemon { socket, key, store, .. } = files;
        let template = self.callable.parts.daemon.clone();
        let words = TemplateValues { socket, key, store, ..TemplateValues::default() };
        let argv = self.argv(&template, &words)?;
        self.spawn("misplaced", &argv)
    }

    /// Returns the export of the store.
    ///
    /// # Errors
    /// A failed export.
    pub async fn export(&mut self) -> Result<Vec<String>, String> {
        let template = self.callable.parts.export.clone();
        let argv = self.argv(&template, &TemplateValues::default())?;
        let finished = self.finish("export", &argv).await?;
        if !finished.status.success() {
            return Err(format!("export: {}: {}", finished.status, finished.err.trim()));
        }
        Ok(finished.out.lines().map(str::to_owned).collect())
    }

    /// Returns whether the channel has a verifier.
    pub fn verifies(&self) -> bool {
        !self.callable.parts.verify.is_empty()
    }

    /// Runs the verifier; the context has the values of its template.
    ///
    /// # Errors
    /// A verifier that cannot be run.
    pub async fn verify(&mut self, context: &minijinja::Value) -> Result<FinishedProcess, String> {
        let argv = self.callable.argv(&self.callable.parts.verify, context)?;
        self.finish("verify", &argv).await
    }

    async fn finish(&mut self, name: &str, argv: &[OsString]) -> Result<FinishedProcess, String> {
        let mut running = self.spawn(name, argv)?;
        let status = running.gone().await?;
        let read = |file: &Path| {
            std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let fault = |error: std::io::Error| format!("{name}: {error}");
        Ok(FinishedProcess {
            status,
            out: read(&running.out).map_err(fault)?,
            err: read(&running.err).map_err(fault)?,
        })
    }

    fn spawn(&mut self, name: &str, argv: &[OsString]) -> Result<ChannelProcess, String> {
        self.started += 1;
        let number = self.started;
        let [out, err] = ["out", "err"].map(|end| self.root.join(format!("{number}-{name}.{end}")));
        let fault = |error: std::io::Error| format!("{name}: {error}");
        let (program, rest) = argv.split_first().ok_or("no program")?;
        let mut command = Command::new(program);
        command
            .args(rest)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.root)
            .env(sweep::ARM_VARIABLE, &self.nonce)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(File::create(&out).map_err(fault)?)
            .stderr(File::create(&err).map_err(fault)?);
        sys::end_with_parent(&mut command, Signal::SIGTERM);
        let child = command.spawn().map_err(fault)?;
        if !["export", "verify"].contains(&name) {
            self.logs.extend([out.clone(), err.clone()]);
        }
        Ok(ChannelProcess { name: name.to_owned(), child, out, err })
    }

    /// The parts that run.
    pub fn parts(&self) -> impl Iterator<Item = &ChannelProcess> {
        let proxies = self.sandboxes.values().map(|sandbox| &sandbox.proxy);
        [&self.daemon, &self.relay].into_iter().chain(proxies).flatten()
    }

    /// Returns the number of events between proxies and relay.
    pub fn events(&self) -> u64 {
        self.sandboxes.values().filter_map(|one| one.wire.as_ref()).map(FaultProxy::events).sum()
    }

    /// Lists the parts that ended without a step that ends them, one sentence each.
    pub fn died(&mut self) -> Vec<String> {
        let proxies = self.sandboxes.values_mut().map(|sandbox| &mut sandbox.proxy);
        let parts = [&mut self.daemon, &mut self.relay].into_iter().chain(proxies);
        let died = |running: &mut ChannelProcess| {
            let how = running.ended()?;
            Some(format!("the {} ended by itself: {how}: {}", running.name, running.wrote()))
        };
        parts.filter_map(|part| part.as_mut().and_then(died)).collect()
    }

    /// Ends everything.
    pub fn end(&mut self) {
        let proxies = self.sandboxes.values_mut().map(|sandbox| sandbox.proxy.take());
        let parts: Vec<ChannelProcess> =
            proxies.chain([self.relay.take(), self.daemon.take()]).flatten().collect();
        for mut running in parts {
            running.signal(Signal::SIGKILL);
            sys::reap(&mut running.child);
        }
    }
}

impl Drop for ChannelStack {
    fn drop(&mut self) {
        self.end();
    }
}

fn make(directory: &Path) -> Result<(), String> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))
}

impl ChannelSandbox {
    /// Makes a sandbox without a channel around it.
    pub fn bare(directory: &Path, execd: Execd, address: SocketAddr) -> Self {
        Self {
            directory: directory.to_owned(),
            execd,
            wire: None,
            proxy: None,
            address,
            files: None,
        }
    }
}
