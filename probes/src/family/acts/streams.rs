//! Bytes on the standard streams: `echo-stdin`, `streams`, `flood`, `argv`.

use std::io::{stderr, stdin, stdout};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::args::ProbeArguments;
use crate::exit_code as exit;
use crate::outcome::{CallContext, ProbeError, done};
use crate::output::{RecordOutput, write_all};
use crate::sys;

/// A multiple of the line length of [`flood`].
const CHUNK: usize = 64 << 10;

pub(crate) fn echo_stdin(_: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    end_like_a_tool()?;
    let mut buffer = vec![0; CHUNK];
    loop {
        match nix::unistd::read(stdin(), &mut buffer) {
            Ok(0) => return succeed(out),
            Ok(count) => write_all(stdout(), &buffer[..count]).at("write")?,
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno).at("read"),
        }
    }
}

pub(crate) fn streams(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    end_like_a_tool()?;
    write_all(stdout(), args.bytes("stdout")).at("write")?;
    write_all(stdout(), &args.hex("stdout-hex")?).at("write")?;
    write_all(stderr(), args.bytes("stderr")).at("write")?;
    write_all(stderr(), &args.hex("stderr-hex")?).at("write")?;
    succeed(out)
}

/// Lines of 63 characters, so that a lost or doubled byte shifts everything after it.
pub(crate) fn flood(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    end_like_a_tool()?;
    let line = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+\n";
    let chunk = line.repeat(CHUNK / line.len());
    let mut left = args.number_or("bytes", 0)?;
    while left > 0 {
        let size = left.min(CHUNK as u64);
        write_all(stdout(), &chunk[..size as usize]).at("write")?;
        left -= size;
    }
    succeed(out)
}

pub(crate) fn argv(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    end_like_a_tool()?;
    let mut printed = Vec::new();
    for item in args.all("item") {
        printed.extend(format!("{}:", item.len()).bytes());
        printed.extend(item.as_bytes());
        printed.push(b'\n');
    }
    write_all(stdout().as_fd(), &printed).at("write")?;
    succeed(out)
}

/// The language's runtime ignores SIGPIPE; an ordinary tool dies of it.
fn end_like_a_tool() -> Result<(), ProbeError> {
    sys::default_action(Signal::SIGPIPE).at("sigaction")
}

fn succeed(out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    out.report(done())?;
    Ok(exit::SUCCEEDED)
}
