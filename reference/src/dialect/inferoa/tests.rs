//! Blocks that are taken or refused.
