//! Tests of the public interface; one module a part of the crate.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod claims;
mod compare;
mod consumers;
mod diff;
mod exit;
mod findings;
mod flaky;
mod gate;
mod golden;
mod html;
mod markdown;
mod merge;
mod profile;
mod published;
mod record;
mod sample;
mod schema;
mod summary;
mod terminal;
mod timing;
