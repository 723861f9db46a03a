//! The proxy in front of execd: every request passes, and actions are reported to the relay.

mod action_ending;
mod debt_journal;
mod deferred_reader;
mod drop_counter;
mod event_sink;
mod events;
mod exchange;
mod frame_builder;
mod in_flight;
mod outcome;
mod outgoing_body;
mod pty;
mod relay_answers;
mod relay_connection;
mod request_inputs;
mod response_tap;
mod routes;
mod sender;
mod serve;
mod target;
mod upload;
mod upstream;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use clap::Args;
use hyper::Uri;
use hyper::header::HeaderValue;
use rustls::pki_types::ServerName;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use self::debt_journal::DebtJournal;
use self::drop_counter::DropCounter;
use self::event_sink::{EventSink, QueuedEvent};
use self::exchange::ProxyContext;
use self::frame_builder::FrameBuilder;
use self::pty::PtyTable;
use self::relay_connection::RelayEndpoint;
use self::sender::{FrameSender, SendCounts};
use self::upstream::ExecdUpstream;
use super::sandbox;
use super::tls::{TlsIdentity, provider};

/// The maximum number of frames that wait for the relay; the next one is a drop.
const QUEUE: usize = 4096;
/// The time limit for sending the queue at the end.
const FLUSH: Duration = Duration::from_secs(1);

/// The arguments of `refbox receipts proxy`.
#[derive(Debug, Clone, Args)]
pub struct ProxyArgs {
    /// The address for agents, as IP:PORT; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub listen: SocketAddr,
    /// execd, as http://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = |text: &str| authority("http", text))]
    pub execd: String,
    /// The relay, as https://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = |text: &str| authority("https", text))]
    pub relay: String,
    #[command(flatten)]
    pub identity: TlsIdentity,
    /// The sandbox, if it should be another one than the certificate's; the relay then refuses
    #[arg(long, value_name = "ID")]
    pub sandbox_id: Option<String>,
    /// A file with the token that execd asks for; agents need none then
    #[arg(long, value_name = "FILE")]
    pub execd_token_file: Option<PathBuf>,
    /// The file for owed events, so that the next proxy reports those of a killed one
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// The time, after SIGTERM, in which running actions may end
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub drain_ms: u64,
}

/// HOST:PORT of a URL that says nothing else.
fn authority(scheme: &str, text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is not of the form {scheme}://HOST:PORT");
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let plain = uri.scheme_str() == Some(scheme) && matches!(uri.path(), "" | "/");
    let authority = uri.authority().filter(|found| plain && found.port().is_some());
    authority.map(ToString::to_string).ok_or_else(wrong)
}

/// Serves until SIGTERM or SIGINT; returns the exit code.
pub(crate) fn main(options: &ProxyArgs) -> i32 {
    match run(options) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("refbox receipts proxy: {why}");
            2
        }
    }
}

fn run(options: &ProxyArgs) -> Result<(), String> {
    provider();
    let (relay, sandbox) = (relay(options)?, sandbox_of(options)?);
    let token = options.execd_token_file.as_deref().map(token).transpose()?;
    let (queue, events) = mpsc::channel(QUEUE);
    let (account, drops) = account(options.state.as_deref(), &sandbox)?;
    let claims = options.sandbox_id.is_some();
    let framing = FrameBuilder::new(Arc::clone(&account), sandbox, claims);
    let teller = Arc::new(EventSink::new(queue, Arc::clone(&drops), Arc::clone(&account)));
    let upstream = ExecdUpstream::new(options.execd.clone());
    let ptys = PtyTable::new(Arc::clone(&teller));
    let proxy = Arc::new(ProxyContext { upstream, teller, ptys, token });
    let sender = FrameSender::new(relay, framing, Arc::clone(&drops), account);
    let sending = SenderThread::start(events, sender)?;
    let runtime = runtime()?;
    let drain = Duration::from_millis(options.drain_ms);
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(options.listen).await;
        let listener = listener.map_err(|error| format!("{}: {error}", options.listen))?;
        let bound = listener.local_addr().map_err(|error| error.to_string())?;
        crate::stdout::line(format_args!("listening {bound}"));
        serve::serve(listener, &proxy, drain).await.map_err(|error| error.to_string())
    });
    // Tasks that are dropped here tell that they were interrupted.
    drop(runtime);
    drop(proxy);
    let sent = sending.finish(drain.max(FLUSH));
    let lost = drops.count();
    eprintln!(
        "proxy: {} frames taken, {} refused as wrong, {lost} lost and not told",
        sent.taken, sent.wrong
    );
    served
}

fn runtime() -> Result<Runtime, String> {
    Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())
}

fn relay(options: &ProxyArgs) -> Result<RelayEndpoint, String> {
    let authority = options.relay.clone();
    let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
    let host = host.trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(host).map_err(|error| format!("{authority}: {error}"))?;
    Ok(RelayEndpoint { name, tls: options.identity.client()?, authority })
}

/// Opens the account, and returns it with the number of losses so far.
fn account(
    state: Option<&Path>,
    sandbox: &str,
) -> Result<(Arc<DebtJournal>, Arc<DropCounter>), String> {
    let (account, owed) = match state {
        Some(file) => DebtJournal::kept(sandbox, file)?,
        None => (DebtJournal::new(sandbox), 0),
    };
    let drops = DropCounter::default();
    drops.add(owed);
    Ok((Arc::new(account), Arc::new(drops)))
}

fn sandbox_of(options: &ProxyArgs) -> Result<String, String> {
    if let Some(id) = &options.sandbox_id {
        return Ok(id.clone());
    }
    let chain = options.identity.chain()?;
    let own =
        chain.first().map_or(Err("no certificate".to_owned()), |own| sandbox::of_certificate(own));
    own.map_err(|why| format!("{}: {why}", options.identity.cert.display()))
}

fn token(file: &Path) -> Result<HeaderValue, String> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
    let token = HeaderValue::from_str(text.trim());
    let mut token = token.map_err(|_| format!("{}: not a token", file.display()))?;
    token.set_sensitive(true);
    Ok(token)
}

/// The thread that sends.
struct SenderThread {
    thread: JoinHandle<()>,
    ended: Receiver<SendCounts>,
    stop: oneshot::Sender<()>,
}

impl SenderThread {
    fn start(events: mpsc::Receiver<QueuedEvent>, sender: FrameSender) -> Result<Self, String> {
        let ((tell, ended), (stop, stopped)) = (channel(), oneshot::channel());
        let runtime = runtime()?;
        let thread = std::thread::spawn(move || {
            let sent = runtime.block_on(sender.send(events, stopped));
            // The receiver may have given up.
            let _unheard = tell.send(sent);
        });
        Ok(Self { thread, ended, stop })
    }

    /// Waits until all is sent, for `patience` at most; frames left then are lost.
    fn finish(self, patience: Duration) -> SendCounts {
        let sent = match self.ended.recv_timeout(patience) {
            Ok(sent) => sent,
            Err(RecvTimeoutError::Disconnected) => SendCounts::default(),
            Err(RecvTimeoutError::Timeout) => {
                // If the receiver is gone, the thread has ended by itself.
                let _unheard = self.stop.send(());
                self.ended.recv().unwrap_or_default()
            }
        };
        if self.thread.join().is_err() {
            eprintln!("proxy: the thread that sends has failed");
        }
        sent
    }
}
