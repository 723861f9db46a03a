//! The verbs that answer questions, and the documents that they refuse.

mod ask;
mod ask_batch;
mod malformed;
mod status;
