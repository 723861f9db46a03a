//! Placement B: the connections that a hook on the host saw leave a sandbox become receipts of its
//! chain.
//!
//! The hook itself (a packet filter's log, a proxy, a CNI plug-in) stays outside: it writes one
//! connection a line, and only it knows which connections were blocked.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::from_json;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::accept::is_sandbox_id;
use super::emit::{self, FrameEmitter};
use super::frame::{CallDecision, EventFrame, SandboxBinding};

const PLACEMENT: &str = "ingress_egress";

/// The arguments of the observer.
#[derive(Debug, Args)]
pub struct ObserverArgs {
    /// The socket of the daemon
    #[arg(long, value_name = "FILE")]
    pub socket: PathBuf,
    /// The sandbox whose connections are reported
    #[arg(long, value_name = "ID", value_parser = sandbox_id)]
    pub sandbox_id: String,
    /// Connections, one JSON object a line; a named pipe will do [default: standard input]
    #[arg(long, value_name = "FILE")]
    pub connections: Option<PathBuf>,
    /// The version of OpenSandbox to name in the coverage
    #[arg(long, value_name = "VERSION")]
    pub opensandbox_version: Option<String>,
}

fn sandbox_id(text: &str) -> Result<String, String> {
    let good = is_sandbox_id(text);
    good.then(|| text.to_owned()).ok_or_else(|| "1 to 128 of A-Z a-z 0-9 . _ -".to_owned())
}

/// A connection as a hook reports it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObservedConnection {
    /// An address, never a name.
    dst_addr: IpAddr,
    dst_port: u16,
    protocol: TransportProtocol,
    bytes_out: u64,
    verdict: HookVerdict,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum TransportProtocol {
    Tcp,
    Udp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum HookVerdict {
    Allowed,
    Blocked,
}

/// Reports connections until the input ends; returns the exit code: 0 if each is reported, 1 if one
/// was not, 2 if the input cannot be read.
pub(crate) fn main(args: &ObserverArgs) -> i32 {
    let from: Box<dyn Read> = match &args.connections {
        None => Box::new(std::io::stdin()),
        Some(path) => match open(path) {
            Ok(file) => Box::new(file),
            Err(error) => {
                log(&error);
                return 2;
            }
        },
    };
    crate::stdout::line(format_args!("ready"));
    // The reader of stdout waits for the next line only; nothing else depends on the flush.
    let _unread = std::io::stdout().flush();
    let mut emitter = FrameEmitter::new(&args.socket);
    let mut untold = 0;
    for (index, line) in BufReader::new(from).lines().enumerate() {
        let told = line.map_err(|error| error.to_string()).and_then(|line| {
            let frame = frame(&line, args)?;
            emitter.emit(frame).map_err(|error| error.to_string())
        });
        if let Err(error) = told {
            log(&format!("line {}: not told of: {error}", index + 1));
            untold += 1;
        }
    }
    i32::from(untold > 0)
}

fn open(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn log(line: &str) {
    eprintln!("refbox receipts observer: {line}");
}

fn frame(line: &str, args: &ObserverArgs) -> Result<EventFrame, String> {
    let seen: ObservedConnection = from_json(line.as_bytes()).map_err(|error| error.to_string())?;
    let ObservedConnection { dst_addr, dst_port, protocol, bytes_out, verdict } = seen;
    let input = json!({"dst_addr": dst_addr, "dst_port": dst_port, "protocol": protocol});
    let output = json!({"bytes_out": bytes_out, "verdict": verdict});
    let mut frame = emit::event(&args.sandbox_id, "egress", input, output);
    frame.tool.server = Some("host".to_owned());
    frame.action_type = Some("network.egress.observed".to_owned());
    if verdict == HookVerdict::Blocked {
        frame.decision = CallDecision::Denied;
    }
    frame.sandbox_id = Some(args.sandbox_id.clone());
    frame.binding = Some(SandboxBinding {
        sandbox_id: args.sandbox_id.clone(),
        endpoint: None,
        placement: Some(PLACEMENT.to_owned()),
    });
    frame.coverage = Some(coverage(args));
    Ok(frame)
}

fn coverage(args: &ObserverArgs) -> Value {
    let mut coverage = json!({"covers": ["network_egress"], "placement": PLACEMENT,
        "excludes": ["command", "code", "files", "directories", "pty"]});
    if let Some(version) = &args.opensandbox_version {
        coverage["opensandbox_version"] = version.as_str().into();
    }
    coverage
}
