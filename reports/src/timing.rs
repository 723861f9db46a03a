//! The timing record: what `boxproof bench` measured of two programs, block by block, with the
//! verdict of each lane ([`TimingRecord`]). It is NDJSON like a run record: a header, a line a
//! measurement, a footer with a checksum.

mod file;
mod lane;
mod page;
mod record;

pub use file::{TimingError, read, schema, write};
pub use lane::{TimingLane, TimingVerdict};
pub use page::{lane_line, render, time_text, value_text};
pub use record::{
    AnchorTime, BlockCondition, CallChange, CriterionEstimate, LaneBlock, LaneEstimates,
    LaneResult, MeasuredProgram, MeasurementFault, RatioInterval, TimingFooter, TimingHeader,
    TimingMeasurement, TimingPlan, TimingRecord,
};
