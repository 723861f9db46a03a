//! Starting one process: its streams, its session, its descriptors, and how it is watched.

use std::fs::File;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use boxproof_cases::case::{Moment, StdinFrom, TtyStream};
use boxproof_cases::protocol;

use super::moments::MomentFiles;
use super::watched_child::{ALONE, KEEP, KEEP_AT_LEAST, WatchTerms, WatchedChild};
use super::{ArmError, Runner, launcher};
use crate::backend::{BackendKind, SpawnPlan};
use crate::execution::{ArmKind, ProcessExit};
use crate::sys;
use crate::workspace::ArmWorkspace;

impl Runner<'_> {
    /// Starts one process; `Err(exit)` inside when the command itself cannot be executed.
    pub(super) fn spawn(
        &self,
        spawn: &SpawnPlan,
        workspace: &ArmWorkspace,
    ) -> Result<Result<WatchedChild, ProcessExit>, ArmError> {
        let argv = match self.case.launcher.apart {
            true => launcher::wrap(self.context.probe, &spawn.argv),
            false => spawn.argv.clone(),
        };
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).env_clear().envs(&spawn.env).current_dir(&spawn.cwd);
        self.connect(&mut command, workspace)?;
        if let Some(network) = &workspace.network {
            sys::network::join(&mut command, network, &spawn.cwd)
                .map_err(|error| format!("network: {error}"))?;
        }
        if let Some(nested) = &self.case.launcher.nested {
            let places = workspace.nested_places(nested, &spawn.cwd)?;
            sys::nest(&mut command, nested, &places).map_err(|e| format!("nested host: {e}"))?;
        }
        let given = self.descriptors(workspace)?;
        sys::inherit_descriptors(&mut command, given).map_err(|e| format!("inherit: {e}"))?;
        sys::start_with(&mut command, &self.case.launcher);
        let terms = self.terms(workspace)?;
        let started = Instant::now();
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return self.unspawnable(spawn, &error).map(Err),
        };
        WatchedChild::new(child, started, terms)
            .and_then(|mut watched| watched.stop_by(&spawn.stop).map(|()| watched))
            .map(Ok)
            .map_err(|error| ArmError::Fault(format!("pipes: {error}")))
    }

    /// Its streams, and the session or group it leads.
    fn connect(&self, command: &mut Command, workspace: &ArmWorkspace) -> Result<(), String> {
        let feeds = self.feeds() || (self.case.launcher.hold_stdin && self.has_own_stdin());
        command
            .stdin(if feeds { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (Some(terminal), Some(tty)) = (&workspace.terminal, &self.case.launcher.tty) else {
            command.process_group(0);
            return Ok(());
        };
        for stream in &tty.streams {
            let end = terminal.stdio().map_err(|error| format!("terminal: {error}"))?;
            match stream {
                TtyStream::Stdin => command.stdin(end),
                TtyStream::Stdout => command.stdout(end),
                TtyStream::Stderr => command.stderr(end),
            };
        }
        match tty.streams.first() {
            // A session of its own is a group of its own already.
            Some(stream) if tty.controlling => sys::own_terminal(command, number(*stream)),
            _ => drop(command.process_group(0)),
        }
        Ok(())
    }

    /// Returns whether the launcher has a stdin for the command: without a sandbox it is the one
    /// that the backend is asked to give.
    fn has_own_stdin(&self) -> bool {
        let unconfined = self.kind == ArmKind::Control;
        match self.case.run.stdin {
            None | Some(StdinFrom::Launcher) => true,
            Some(StdinFrom::Nowhere) => !unconfined,
            Some(StdinFrom::Request) => unconfined,
        }
    }

    fn feeds(&self) -> bool {
        self.case.stdin.is_some() && self.has_own_stdin()
    }

    fn terms<'a>(&'a self, workspace: &'a ArmWorkspace) -> Result<WatchTerms<'a>, String> {
        let feed = if self.feeds() { self.stdin(workspace)?.into_bytes() } else { Vec::new() };
        let files = self.case.moments().filter_map(|moment| match moment {
            Moment::File(path) => Some(workspace.place(path).map(|path| (moment.clone(), path))),
            _ => None,
        });
        let files = files.collect::<Result<_, _>>()?;
        let runs = self.case.repeat.saturating_mul(self.case.parallel).max(1);
        Ok(WatchTerms {
            keep: (KEEP / runs as usize).max(KEEP_AT_LEAST),
            feed,
            hold_stdin: self.case.launcher.hold_stdin,
            timeout: self.bounds().patience,
            nonce: &workspace.probe_word,
            during: &self.case.during,
            listens: self.case.moments().any(Moment::is_said),
            files: MomentFiles::new(files)
                .map_err(|error| format!("watching for a file: {error}"))?,
            apart: self.case.launcher.apart,
            // Without a sandbox no backend ends it, and none has to.
            alone: if self.kind == ArmKind::Control { Duration::ZERO } else { ALONE },
        })
    }

    /// Returns the exit code that a shell would give, where there is nothing between us and the
    /// command.
    fn unspawnable(
        &self,
        spawn: &SpawnPlan,
        error: &std::io::Error,
    ) -> Result<ProcessExit, ArmError> {
        let bare = self.kind == ArmKind::Control || matches!(self.backend.kind, BackendKind::Bare);
        match error.raw_os_error() {
            Some(libc::ENOENT) if bare => Ok(ProcessExit::Code(protocol::exit::NOT_FOUND)),
            Some(libc::EACCES | libc::ENOEXEC | libc::ELOOP) if bare => {
                Ok(ProcessExit::Code(protocol::exit::REFUSED))
            }
            _ => Err(ArmError::Fault(format!("{}: {error}", spawn.argv[0].to_string_lossy()))),
        }
    }

    fn descriptors(&self, workspace: &ArmWorkspace) -> Result<Vec<(RawFd, OwnedFd)>, String> {
        let inherit = self.case.launcher.inherit.iter();
        inherit
            .map(|(number, inherit)| {
                let path = workspace.place(&inherit.path)?;
                let file = File::options().read(true).write(inherit.write).open(&path);
                let file =
                    file.map_err(|e| format!("inherit {number}: {}: {e}", path.display()))?;
                Ok((number.cast_signed(), OwnedFd::from(file)))
            })
            .collect()
    }
}

fn number(stream: TtyStream) -> RawFd {
    match stream {
        TtyStream::Stdin => libc::STDIN_FILENO,
        TtyStream::Stdout => libc::STDOUT_FILENO,
        TtyStream::Stderr => libc::STDERR_FILENO,
    }
}
