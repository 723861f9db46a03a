//! The load of the host around a block ([`HostLoad`]).

use std::fs::read_to_string;

use boxproof_reports::timing::BlockCondition;

/// Milliseconds of one tick in /proc/stat.
const TICK_MS: f64 = 10.0;

/// Load average and stolen time at one moment; nothing where the system does not tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostLoad {
    load: Option<f64>,
    stolen_ms: Option<f64>,
}

impl HostLoad {
    /// Reads both.
    pub(super) fn now() -> Self {
        let load = read_to_string("/proc/loadavg").ok();
        let load = load.and_then(|text| text.split(' ').next()?.parse().ok());
        let stat = read_to_string("/proc/stat").ok();
        let stolen =
            stat.and_then(|text| text.lines().next()?.split_whitespace().nth(8)?.parse().ok());
        Self { load, stolen_ms: stolen.map(|ticks: f64| ticks * TICK_MS) }
    }

    /// Returns the conditions of a block that began at this moment and ends now.
    pub(super) fn condition(self, stage: u8, order: String) -> BlockCondition {
        let after = Self::now();
        let stolen = self.stolen_ms.zip(after.stolen_ms).map(|(before, after)| after - before);
        let load = [self.load, after.load].into_iter().flatten().collect();
        BlockCondition { stage, order, load, steal_ms: stolen }
    }
}
