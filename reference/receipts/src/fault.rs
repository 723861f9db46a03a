//! Fault points: places at which a build with the feature `faults` does wrong where it is told to,
//! so that it shows which cases notice. Without the feature each one is the constant `false`.

#[cfg(feature = "faults")]
use std::{fmt::Display, sync::OnceLock};

/// The value of every fault point of a program without faults.
#[cfg(not(feature = "faults"))]
pub(crate) const NONE: bool = false;

/// Returns whether the fault of this name is selected.
#[cfg(not(feature = "faults"))]
macro_rules! fault {
    ($name:literal) => {
        crate::fault::NONE
    };
}

/// Returns whether the fault that drops this entry of a table is selected.
#[cfg(not(feature = "faults"))]
macro_rules! dropped {
    ($table:literal, $entry:expr) => {{
        let _ = &$entry;
        crate::fault::NONE
    }};
}

#[cfg(feature = "faults")]
macro_rules! fault {
    ($name:literal) => {
        crate::fault::is_selected($name)
    };
}

#[cfg(feature = "faults")]
macro_rules! dropped {
    ($table:literal, $entry:expr) => {
        crate::fault::is_dropped($table, &$entry)
    };
}

/// The names of the faults of this process, joined by `+`.
#[cfg(feature = "faults")]
static SELECTED: OnceLock<String> = OnceLock::new();

/// Selects faults, once and before anything else.
#[cfg(feature = "faults")]
pub(crate) fn select(names: &str) {
    let _first = SELECTED.set(names.to_owned());
}

/// Returns whether the fault `name` is selected.
#[cfg(feature = "faults")]
pub(crate) fn is_selected(name: &str) -> bool {
    SELECTED.get().is_some_and(|names| names.split('+').any(|one| one == name))
}

/// Returns whether the fault that drops `entry` of `table` is selected.
#[cfg(feature = "faults")]
pub(crate) fn is_dropped(table: &str, entry: &impl Display) -> bool {
    is_selected(&format!("table:{table}:{entry}"))
}
