//! The checked-in JSON Schemas of this crate, as built into the program ([`PUBLISHED`]).

/// Path from the root of the repository, and text.
pub const PUBLISHED: [(&str, &str); 2] = [
    ("reports/schema/run-record.schema.json", include_str!("../schema/run-record.schema.json")),
    (
        "reports/schema/timing-record.schema.json",
        include_str!("../schema/timing-record.schema.json"),
    ),
];
