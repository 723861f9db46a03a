//! The driver of an agent: it starts the agent against a mock model on the loopback interface, which
//! asks for the one command, and ends as the agent's report says. Main function: [`serve`].

mod model;
mod wire;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::backend::{
    AgentDialogue, BROKEN, BROKEN_CODE, CommandReport, DECLINED, DECLINED_CODE, ENDPOINT,
};
use crate::plain_file;
use crate::sys;
use model::MockModel;

/// The most bytes of a job: the command is in it.
const JOB_LIMIT: u64 = 16 << 20;
/// The most bytes of the agent's own output that are looked at.
const LOG_LIMIT: u64 = 16 << 20;

/// Runs the agent that `args` (the job's file, the agent's program and arguments) name, and returns the
/// exit code that it reports of the command, after printing the output that it reports.
pub fn serve(args: impl Iterator<Item = OsString>) -> i32 {
    let (code, line) = match drive(&args.collect::<Vec<_>>()) {
        Ok(CommandReport::Ended { code, output }) => match print(&output) {
            Ok(()) => return code.into(),
            Err(error) => (BROKEN_CODE, format!("{BROKEN}its output cannot be handed on: {error}")),
        },
        Ok(CommandReport::Declined(why)) => (DECLINED_CODE, format!("{DECLINED}{why}")),
        Ok(CommandReport::Unreadable(why)) | Err(why) => (BROKEN_CODE, format!("{BROKEN}{why}")),
    };
    eprintln!("{line}");
    code
}

fn print(output: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(output.as_bytes())?;
    out.flush()
}

fn drive(args: &[OsString]) -> Result<CommandReport, String> {
    let (job, argv) = args.split_first().ok_or("no job")?;
    let (program, argv) = argv.split_first().ok_or("no program")?;
    let job = Path::new(job);
    let text =
        plain_file::read_text(job, JOB_LIMIT).map_err(|error| format!("the job: {error}"))?;
    let dialogue: AgentDialogue =
        serde_json::from_str(&text).map_err(|error| format!("the job: {error}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let log = job.with_extension("log");
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.map_err(|error| format!("no port for the model: {error}"))?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let mut command = agent(program, argv, &format!("http://127.0.0.1:{port}"));
        let write = |error: io::Error| format!("{}: {error}", log.display());
        let out = File::create_new(&log).map_err(write)?;
        command.stdin(Stdio::null()).stdout(out.try_clone().map_err(write)?).stderr(out);
        let patience = Duration::from_millis(dialogue.asks_within_ms);
        let model = MockModel::serve(listener, dialogue);
        let end = watch(command, &model, patience).await?;
        model.conclude().map_err(|why| format!("{why}; {}", end_message(&end, &log)))
    })
}

/// Returns the command line of the agent, with the model at `endpoint`. Its group is its own, so that it
/// is ended with what it has started, and it dies with the driver.
fn agent(program: &OsString, argv: &[OsString], endpoint: &str) -> Command {
    let placed = |text: &OsString| match text.to_str() {
        Some(text) => text.replace(ENDPOINT, endpoint).into(),
        None => text.clone(),
    };
    let mut command = Command::new(program);
    command.args(argv.iter().map(placed));
    let env = std::env::vars_os().map(|(name, value)| (name, placed(&value)));
    command.env_clear().envs(env).process_group(0);
    sys::end_with_parent(&mut command, Signal::SIGKILL);
    command
}

/// The end of an agent.
enum AgentEnd {
    /// By itself.
    Itself(ExitStatus),
    /// It was told to end by this signal.
    Told(Signal),
    /// It was killed, since it did not ask its model in time.
    Late(Duration),
}

/// Starts `command` and waits for its end; passes signals on to it.
async fn watch(
    command: Command,
    model: &MockModel,
    patience: Duration,
) -> Result<AgentEnd, String> {
    let mut streams = Vec::new();
    for number in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        let stream = signal(SignalKind::from_raw(number as i32));
        streams.push((number, stream.map_err(|error| format!("no signals: {error}"))?));
    }
    let [(_, term), (_, int), (_, hup), (_, quit)] = &mut streams[..] else {
        return Err("no signals".to_owned());
    };
    let mut child = tokio::process::Command::from(command)
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let pid = child.id().map(|id| Pid::from_raw(id.cast_signed()));
    let asked = tokio::time::timeout(patience, model.asked());
    tokio::pin!(asked);
    let (mut told, mut is_settled, mut is_late) = (None, false, false);
    loop {
        let number = tokio::select! {
            status = child.wait() => {
                let status = status.map_err(|error| format!("it cannot be waited for: {error}"))?;
                return Ok(match told {
                    _ if is_late => AgentEnd::Late(patience),
                    Some(number) => AgentEnd::Told(number),
                    None => AgentEnd::Itself(status),
                });
            }
            in_time = &mut asked, if !is_settled => {
                is_settled = true;
                if in_time.is_err() {
                    is_late = true;
                    let _ = pid.map(|pid| killpg(pid, Signal::SIGKILL));
                }
                continue;
            }
            _ = term.recv() => Signal::SIGTERM,
            _ = int.recv() => Signal::SIGINT,
            _ = hup.recv() => Signal::SIGHUP,
            _ = quit.recv() => Signal::SIGQUIT,
        };
        told.get_or_insert(number);
        let _ = pid.map(|pid| kill(pid, number));
    }
}

/// Says how the agent ended, and the last line of its own output.
fn end_message(end: &AgentEnd, log: &Path) -> String {
    let end = match end {
        AgentEnd::Itself(status) => format!("it ended by itself ({status})"),
        AgentEnd::Told(signal) => format!("it was told to end by {signal}"),
        AgentEnd::Late(patience) => format!("it was killed after {} ms", patience.as_millis()),
    };
    let text = plain_file::read_text(log, LOG_LIMIT).unwrap_or_default();
    match text.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("{end}, and its last line is: {line}"),
        None => end,
    }
}
