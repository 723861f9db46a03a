//! Ways out of a private network: what is allowed is reached by ordinary clients, what is not is
//! refused by name, and nothing leads around or is left behind. Everything is on loopback.

mod around;
mod broken;
mod clients;
mod fixture;
mod killed;
mod origin;
mod port;
mod settings;
mod wire;
