//! A receipts channel under test: proxy in front of execd, relay, signing daemon, verifier. The
//! harness starts its parts, plays a case's steps, and records the observations: [`attend`].
//!
//! | module | purpose | touches the OS |
//! |---|---|---|
//! | [`canonical`], [`verify`], [`sign`] | RFC 8785 text, hashes, the harness's own verifier, chains to verify | no |
//! | `audit_fakes` | two channels that are always wrong | no |
//! | [`execd`] | the made-up execd behind the proxy | sockets |
//! | [`keys`], [`certs`] | the daemon's key, the certificates of all parts | `keys` writes files |
//! | [`processes`], [`running`], [`fault_proxy`], `quiescence`, [`secret_scan`] | the parts as processes, the wires between them, whether they are at work, the texts they hold | yes |
//! | [`http`], [`frames`], [`terminal`], `driver` | the steps of a case | sockets |

mod audit_fakes;
pub mod canonical;
pub mod certs;
mod channel_arm;
mod driver;
pub mod execd;
pub mod fault_proxy;
pub mod frames;
pub mod http;
pub mod keys;
mod misplaced;
pub mod processes;
mod quiescence;
pub mod running;
pub mod secret_scan;
pub mod sign;
pub mod terminal;
pub mod verify;

pub use channel_arm::attend;

/// The receipts of `lines` that are not about the daemon's own start.
pub fn actions(lines: &[String]) -> Vec<verify::PlacedReceipt> {
    let (receipts, _) = verify::read(lines);
    let own = |receipt: &verify::PlacedReceipt| receipt.kind() == "agent_receipts.daemon_started";
    receipts.into_iter().filter(|receipt| !own(receipt)).collect()
}
