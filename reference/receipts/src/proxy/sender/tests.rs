//! A relay that answers by a script: the frames in flight, the lost ones, and the frame that
//! reports them.

use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::*;
use crate::authority::CertificateAuthority;
use crate::proxy::event_sink::{ActionRecord, EventSink};
use crate::tls::{TlsIdentity, provider};

/// The answers of the relay to so many posts, all of which it reads before it answers any.
type Round = (usize, &'static [&'static str]);

/// Number of the event, and the losses that its frame reports.
type Seen = (u64, Option<i64>);

const TAKEN: &str = "HTTP/1.1 202 X\r\ncontent-length: 0\r\n\r\n";
const WRONG: &str = "HTTP/1.1 400 X\r\ncontent-length: 2\r\n\r\nno";
const NO: &str = "HTTP/1.1 503 X\r\ncontent-length: 2\r\n\r\nno";
const LAST: &str = "HTTP/1.1 503 X\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno";

async fn post(stream: &mut BufReader<TlsStream<TcpStream>>) -> Value {
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).await.unwrap();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// One connection after another, each by its rounds; it ends after the last of them.
async fn relay(listener: TcpListener, tls: TlsAcceptor, script: Vec<Vec<Round>>) -> Vec<Seen> {
    let mut seen = Vec::new();
    for rounds in script {
        let stream = tls.accept(listener.accept().await.unwrap().0).await.unwrap();
        let mut stream = BufReader::new(stream);
        for (posts, answers) in rounds {
            for _ in 0..posts {
                let frame = post(&mut stream).await;
                let number = frame["event_number"].as_u64().unwrap();
                seen.push((number, frame["drop_count"].as_i64()));
            }
            for answer in answers {
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            stream.flush().await.unwrap();
        }
    }
    seen
}

/// A proxy's end, and the relay that it knows.
struct SenderFixture {
    sender: FrameSender,
    queue: Receiver<QueuedEvent>,
    teller: EventSink,
    drops: Arc<DropCounter>,
    account: Arc<DebtJournal>,
    listener: TcpListener,
    tls: TlsAcceptor,
    _directory: TempDir,
}

impl SenderFixture {
    async fn new() -> Self {
        provider();
        let directory = TempDir::new().unwrap();
        let authority = CertificateAuthority::new(directory.path()).unwrap();
        let identity = |(cert, key)| TlsIdentity { ca: authority.certificate(), cert, key };
        let tls = identity(authority.relay().unwrap()).server().unwrap().into();
        let ours = identity(authority.proxy("p", &["urn:opensandbox:s1"]).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = RelayEndpoint {
            authority: listener.local_addr().unwrap().to_string(),
            name: "localhost".try_into().unwrap(),
            tls: ours.client().unwrap(),
        };
        let (drops, account) = (Arc::<DropCounter>::default(), Arc::new(DebtJournal::new("s1")));
        let framing = FrameBuilder::new(Arc::clone(&account), "s1".to_owned(), false);
        let sender = FrameSender::new(relay, framing, Arc::clone(&drops), Arc::clone(&account));
        let (to, queue) = mpsc::channel(128);
        let teller = EventSink::new(to, Arc::clone(&drops), Arc::clone(&account));
        Self { sender, queue, teller, drops, account, listener, tls, _directory: directory }
    }
}

fn in_time<T>(all: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_secs(20), all).await.unwrap() })
}

struct Outcome {
    seen: Vec<Seen>,
    sent: SendCounts,
    lost: i64,
}

/// Sends events 1 to `events`, which wait already, to a relay with this script; the sender `stops`
/// when the script is over, or when it has sent them all.
fn played(stops: bool, events: u64, script: Vec<Vec<Round>>) -> Outcome {
    in_time(async {
        let SenderFixture { sender, queue, teller, drops, listener, tls, _directory, .. } =
            SenderFixture::new().await;
        (0..events).for_each(|_| teller.tell(ActionRecord::default()));
        drop(teller);
        let (stop, stopped) = oneshot::channel();
        let mut stop = Some(stop);
        let playing = async {
            let seen = relay(listener, tls, script).await;
            drop(stops.then(|| stop.take()));
            seen
        };
        let (sent, seen) = tokio::join!(sender.send(queue, stopped), playing);
        Outcome { seen, sent, lost: drops.count() }
    })
}

#[test]
fn agents_that_make_no_pause_are_told_of() {
    let seen = in_time(async {
        let SenderFixture { sender, queue, teller, account, listener, tls, _directory, .. } =
            SenderFixture::new().await;
        teller.tell(ActionRecord::default());
        // Actions begin and end all the time, until the relay has received an event.
        let (over, heard) = std::sync::mpsc::channel::<()>();
        let busy = std::thread::spawn(move || {
            while heard.try_recv() == Err(TryRecvError::Empty) {
                account.begin();
                account.end();
            }
        });
        let (_stop, stopped) = oneshot::channel();
        let playing = async {
            let seen = relay(listener, tls, vec![vec![(1, &[TAKEN])]]).await;
            drop((over, teller));
            seen
        };
        let (sent, seen) = tokio::join!(sender.send(queue, stopped), playing);
        busy.join().unwrap();
        assert_eq!(sent.taken, 1);
        seen
    });
    assert_eq!(seen, [(1, None)]);
}

/// Rounds in which everything is taken, so that four may be on their way then.
const WARM: [Round; 2] = [(1, &[TAKEN]), (2, &[TAKEN, TAKEN])];

#[rstest]
// Nothing behind the lost one was read, so it is sent again, and the first reports the loss.
#[case::closed(
    7,
    vec![vec![WARM[0], WARM[1], (4, &[TAKEN, LAST])], vec![(1, &[TAKEN]), (1, &[TAKEN])]],
    &[(6, Some(1)), (7, None)],
    (6, 0)
)]
// A relay that answers on has read it all; the next frame that is sent reports the loss.
#[case::goes_on(
    8,
    vec![vec![WARM[0], WARM[1], (4, &[TAKEN, NO, TAKEN, TAKEN])], vec![(1, &[TAKEN])]],
    &[(8, Some(1))],
    (7, 0)
)]
// The fate of three is unknown: they are lost.
#[case::broken(
    8,
    vec![vec![WARM[0], WARM[1], (4, &[TAKEN])], vec![(1, &[TAKEN])]],
    &[(8, Some(3))],
    (5, 0)
)]
// A wrong frame is no loss, and a reported loss stays reported.
#[case::wrong(
    8,
    vec![vec![WARM[0], WARM[1], (4, &[TAKEN, WRONG, TAKEN, TAKEN]), (1, &[TAKEN])]],
    &[(8, None)],
    (7, 1)
)]
fn a_loss_among_others(
    #[case] events: u64,
    #[case] script: Vec<Vec<Round>>,
    #[case] after: &[Seen],
    #[case] (taken, wrong): (u64, u64),
) {
    let outcome = played(false, events, script);
    let first: Vec<Seen> = (1..=7).map(|number| (number, None)).collect();
    assert_eq!(outcome.seen[..7], first);
    assert_eq!(&outcome.seen[7..], after);
    assert_eq!((outcome.sent.taken, outcome.sent.wrong, outcome.lost), (taken, wrong, 0));
}

#[test]
fn what_is_on_its_way_at_the_end_is_lost() {
    // Four of eight are on their way when the end comes.
    let outcome = played(true, 8, vec![vec![WARM[0], WARM[1], (4, &[])]]);
    assert_eq!((outcome.sent.taken, outcome.lost), (3, 5));
}

#[test]
fn after_a_loss_one_frame_tries() {
    // The second connection breaks with one frame on its way: the other one is not lost with it.
    let script = vec![vec![WARM[0], WARM[1], (3, &[LAST])], vec![(1, &[])], vec![(1, &[TAKEN])]];
    let outcome = played(false, 6, script);
    assert_eq!(outcome.seen[6..], [(5, Some(1)), (6, Some(2))]);
    assert_eq!((outcome.sent.taken, outcome.lost), (4, 0));
}

/// Checks that all events that waited while the agents made no pause go out at once: only later
/// events wait for the next pause.
#[test]
fn what_is_due_waits_no_more() {
    let sent = in_time(async {
        let SenderFixture { sender, queue, teller, listener, tls, _directory, .. } =
            SenderFixture::new().await;
        (0..70).for_each(|_| teller.tell(ActionRecord::default()));
        let (_stop, stopped) = oneshot::channel();
        let playing = async {
            let stream = tls.accept(listener.accept().await.unwrap().0).await.unwrap();
            let mut stream = BufReader::new(stream);
            for posts in [1, 2, 4, 8, 16, MOST, 7] {
                for _ in 0..posts {
                    post(&mut stream).await;
                }
                assert!(stream.buffer().is_empty(), "what came meanwhile did not wait");
                if posts == MOST {
                    teller.tell(ActionRecord::default());
                }
                stream.write_all(TAKEN.repeat(posts).as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
            }
            drop(teller);
            post(&mut stream).await;
            stream.write_all(TAKEN.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        };
        tokio::join!(sender.send(queue, stopped), playing).0
    });
    assert_eq!(sent, SendCounts { taken: 71, wrong: 0 });
}
