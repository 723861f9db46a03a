//! Mediation of names that do not exist yet: the calls that make or move names come to pid 1, which
//! decides on the place they mean and carries them out itself, on the object it decided about. A
//! call is never let through after a check, as the object could be another one by then.

mod broker;
mod caller;
mod calls;
mod emulate;
mod filter;
mod mounts;
mod moves;
mod open;
mod refusal_log;
mod rules;
mod serve;
mod sticky;
mod walk;

pub(crate) use refusal_log::noted;
pub(crate) use serve::Mediation;
