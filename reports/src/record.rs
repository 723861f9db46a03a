//! The run record: NDJSON, one object a line, field `type`: one `header`, then a `case` a row,
//! then one `footer`. Main type: [`Run`].

mod case_question;
mod error;
mod footer;
mod header;
mod ledger;
mod line;
mod reader;
mod row;
mod schema;
mod stress_count;
mod writer;

pub use case_question::CaseQuestion;
pub use error::{RecordError, WriteError};
pub use footer::Footer;
pub use header::{
    BackendInfo, CorpusInfo, Header, RequirementText, RunUser, Selection, SetInfo, Shard, UserKind,
};
pub use ledger::LedgerFault;
pub use line::RecordLine;
pub use reader::{read, unpacked};
pub use row::{
    ArmName, ArmRow, BlindLook, BlindShown, CaseRow, EarlierTry, ExitRow, JudgeEvidence,
    KnownFailure, Level, OracleRow, STREAM_LIMIT, StreamText, TwinState,
};
pub use schema::schema;
pub use stress_count::StressCount;
pub use writer::RecordWriter;

/// The record format this crate writes, and the newest it reads.
pub const FORMAT: u32 = 3;

/// The oldest record format this crate reads.
pub const OLDEST: u32 = 1;

/// One finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The header: the tested backends, the host and the corpus.
    pub header: Header,
    /// One row a case and backend, in the order of the record.
    pub rows: Vec<CaseRow>,
    /// The footer, which proves the record whole.
    pub footer: Footer,
}
