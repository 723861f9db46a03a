//! Mediation of names that do not exist yet, and of sockets: the calls that make or move names or
//! reach sockets come to pid 1, which decides on the place they mean and carries them out itself, on
//! the object it decided about. A call is not let through after a check, as the object could be another
//! one by then; only calls on sockets that lead to no path are, where no other thread could put
//! another socket in their place.

mod broker;
mod caller;
mod calls;
mod denied_sockets;
mod emulate;
mod filter;
mod hindrances;
mod messages;
mod mounts;
mod moves;
mod observe;
mod observed_calls;
mod open;
mod refusal_log;
mod refused_processes;
mod rules;
mod serve;
mod socket_calls;
mod socket_register;
mod sticky;
mod walk;

pub(crate) use denied_sockets::denied_sockets;
pub(crate) use serve::{Mediation, ServedMediation};
