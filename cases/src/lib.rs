//! The question: what a sandbox is asked, and what must happen.

pub mod protocol;
