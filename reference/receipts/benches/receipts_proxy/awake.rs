//! Processors that are kept awake. Waking one costs more than a proxy does, above all in a virtual
//! machine, so that the side which keeps them busy would seem the fastest.

use std::fs::{File, OpenOptions};
use std::io::Write;

/// As long as this is held, idle processors poll (PM QoS: a wake-up may take no time at all).
pub(crate) struct Awake {
    _held: Option<File>,
}

impl Awake {
    /// Asks for it, and says so where that takes root.
    pub(crate) fn start() -> Self {
        let opened = OpenOptions::new().write(true).open("/dev/cpu_dma_latency");
        let held = opened.and_then(|mut file| file.write_all(&0_i32.to_ne_bytes()).map(|()| file));
        if let Err(error) = &held {
            println!(
                "processors may fall asleep (/dev/cpu_dma_latency: {error}): ratios of small requests mean little"
            );
        }
        Self { _held: held.ok() }
    }
}
