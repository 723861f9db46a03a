//! Steps of a manifest before and after a run: files, set-up and tear-down commands, each in
//! bounded time.

use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use super::config_files::PlacedFiles;
use super::held_file::HeldFile;
use crate::backend::{LaunchPlan, SpawnPlan};
use crate::workspace::finish;

/// Places the files of `spawn`, for as long as the returned value lives, and runs its set-up
/// commands.
///
/// # Errors
/// The step that failed; a command that takes longer than `patience` has been ended with its group.
pub(super) fn prepare(spawn: &SpawnPlan, patience: Duration) -> Result<PlacedFiles, String> {
    let placed = PlacedFiles::place(&spawn.files)?;
    spawn.set_up.iter().try_for_each(|argv| step("set-up", argv, spawn, patience))?;
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
pub(super) fn tear_down(launches: &[LaunchPlan], patience: Duration) -> Result<(), String> {
    let spawns = launches.iter().filter_map(|launch| match launch {
        LaunchPlan::Spawn(spawn) => Some(spawn),
        LaunchPlan::Refuse { .. } => None,
    });
    let steps = spawns.flat_map(|spawn| spawn.tear_down.iter().map(move |argv| (argv, spawn)));
    let ends: Vec<_> =
        steps.map(|(argv, spawn)| step("tear-down", argv, spawn, patience)).collect();
    ends.into_iter().collect()
}

fn step(
    what: &str,
    argv: &[OsString],
    spawn: &SpawnPlan,
    patience: Duration,
) -> Result<(), String> {
    let Some((program, args)) = argv.split_first() else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(&spawn.env).current_dir(&spawn.cwd);
    finish(&format!("{what}: {}", program.to_string_lossy()), command, patience)
}
