//! Steps of a manifest before and after a run: files, set-up and tear-down commands, each in
//! bounded time.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::process::Command;
use std::time::Duration;

use super::config_files::PlacedFiles;
use super::held_file::HeldFile;
use crate::backend::{LaunchPlan, SpawnPlan};
use crate::workspace::{CommandLimits, finish_within};

/// The time that a tear-down command has once the run was ended: less than its worker has.
const PARTING: Duration = Duration::from_secs(2);

/// The bounds of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepBounds<'a> {
    /// The time that a command has.
    pub(super) patience: Duration,
    /// The socket of the process that asked for the arm: when that hangs up, the run was ended.
    pub(super) boss: Option<BorrowedFd<'a>>,
}

impl<'a> StepBounds<'a> {
    /// The limits of a command that has `grace` once the run was ended.
    fn limits(self, grace: Duration) -> CommandLimits<'a> {
        let boss = self.boss.map(|boss| (boss, grace));
        CommandLimits { patience: self.patience, boss }
    }
}

/// Places the files of `spawn`, for as long as the returned value lives, and runs its set-up
/// commands. Files of `beside`, the other launches of the arm, are not placed again.
///
/// # Errors
/// The step that failed; a command that takes longer than `bounds` allow has been ended with its
/// group.
pub(super) fn prepare(
    spawn: &SpawnPlan,
    bounds: StepBounds<'_>,
    beside: &[PlacedFiles],
) -> Result<PlacedFiles, String> {
    let placed = PlacedFiles::place(&spawn.files, beside)?;
    let limits = bounds.limits(Duration::ZERO);
    spawn.set_up.iter().try_for_each(|argv| step("set-up", argv, spawn, limits))?;
    Ok(placed)
}

/// Opens the place of the native result, held as it is before the start.
///
/// # Errors
/// The error of a missing directory.
pub(super) fn result_place(spawn: &SpawnPlan) -> Result<Option<HeldFile>, String> {
    let held = spawn.result.as_deref().map(|path| {
        HeldFile::open(path).map_err(|error| format!("the result's {}: {error}", path.display()))
    });
    held.transpose()
}

/// Runs the tear-down commands of every launch, all of them, even after a failure.
///
/// # Errors
/// The first that failed.
pub(super) fn tear_down(launches: &[LaunchPlan], bounds: StepBounds<'_>) -> Result<(), String> {
    let limits = bounds.limits(PARTING);
    let spawns = launches.iter().filter_map(|launch| match launch {
        LaunchPlan::Spawn(spawn) => Some(spawn),
        LaunchPlan::Refuse { .. } => None,
    });
    let steps = spawns.flat_map(|spawn| spawn.tear_down.iter().map(move |argv| (argv, spawn)));
    let ends: Vec<_> = steps.map(|(argv, spawn)| step("tear-down", argv, spawn, limits)).collect();
    ends.into_iter().collect()
}

fn step(
    what: &str,
    argv: &[OsString],
    spawn: &SpawnPlan,
    limits: CommandLimits<'_>,
) -> Result<(), String> {
    let Some((program, args)) = argv.split_first() else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(&spawn.env).current_dir(&spawn.cwd);
    finish_within(&format!("{what}: {}", program.to_string_lossy()), command, limits)
}
