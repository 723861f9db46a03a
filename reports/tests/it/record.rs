//! A record reads back as written, and each fault of [`RecordError`] comes from a good record by
//! one mutation.

use boxproof_reports::record::{LedgerFault, read};
use boxproof_reports::{
    CaseRow, Header, Outcome, RecordError, RecordWriter, Run, Shard, StressCount, Verdict,
    WriteError,
};
use sha2::{Digest, Sha256};

use crate::sample::{backend, bad, header, record, row};

fn good_rows() -> Vec<CaseRow> {
    vec![row("fs/a", "box"), bad("fs/b", "box", Verdict::UnderBlock, "oracle")]
}

fn good_header() -> Header {
    header(&[backend("box")], &good_rows())
}

/// The lines of a good record: header, two rows, footer.
fn good() -> Vec<String> {
    let text = String::from_utf8(record(&good_header(), &good_rows())).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn read_lines(lines: &[String]) -> Result<Run, RecordError> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    read(text.as_bytes())
}

/// What is published is compressed; what is cut off of it is missed.
#[test]
fn a_compressed_record_reads_like_the_plain_one() {
    use std::io::Write;
    let text = good().join("\n") + "\n";
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(read(packed.as_slice()).unwrap(), read(text.as_bytes()).unwrap());
    assert!(matches!(read(&packed[..packed.len() / 2]), Err(RecordError::Io { .. })));
}

/// Replaces in one line, and proves that there was something to replace.
fn edit(lines: &mut [String], line: usize, from: &str, to: &str) {
    let edited = lines[line].replacen(from, to, 1);
    assert_ne!(edited, lines[line], "`{from}` is not in line {line}");
    lines[line] = edited;
}

/// Makes the footer's checksum right again after a mutation.
fn reseal(lines: &mut [String]) {
    let (footer, body) = lines.split_last_mut().unwrap();
    let text: String = body.iter().map(|line| format!("{line}\n")).collect();
    let at = footer.find("\"checksum\":\"").unwrap() + "\"checksum\":\"".len();
    footer.replace_range(at..at + 64, &format!("{:x}", Sha256::digest(text)));
}

#[test]
fn a_record_reads_back_as_written() {
    let run = read_lines(&good()).unwrap();
    assert_eq!((run.header, run.rows), (good_header(), good_rows()));
    assert_eq!(run.footer.rows, 2);
    assert_eq!(run.footer.counts["under-block"], 1);
    assert_eq!(run.footer.counts["leak"], 0);
}

/// Written before a row kept what its case asks.
#[test]
fn an_older_format_is_read_and_never_written() {
    let old = read(include_bytes!("../../golden/format-1.ndjson").as_slice()).unwrap();
    assert_eq!((old.header.format, old.header.selection.slow), (1, false));
    assert!(old.rows.len() > 5 && old.rows.iter().all(|row| row.asked.is_none()));
    let second = read(include_bytes!("../../golden/format-2.ndjson").as_slice()).unwrap();
    assert_eq!((second.header.format, second.header.requirements.len()), (2, 0));
    assert!(second.rows.iter().all(|row| row.file.is_none()));
    let refused = RecordWriter::new(Vec::new(), &old.header).unwrap_err();
    assert!(matches!(refused, WriteError::Inconsistent(LedgerFault::Format(1))), "{refused}");
}

#[test]
fn each_line_starts_with_its_type() {
    let starts: Vec<String> = good().iter().map(|line| line[..12].to_owned()).collect();
    assert_eq!(
        starts,
        [r#"{"type":"hea"#, r#"{"type":"cas"#, r#"{"type":"cas"#, r#"{"type":"foo"#]
    );
}

type Mutation = fn(&mut Vec<String>);

/// Name, one mutation of a good record, and how the error then starts.
const MUTATIONS: &[(&str, Mutation, &str)] = &[
    ("empty", |l| l.clear(), "Empty"),
    ("not_json", |l| l[1] = "oops".into(), "NotJson { line: 2"),
    (
        "cut_in_a_line",
        |l| {
            l.truncate(3);
            let n = l[2].len() / 2;
            l[2].truncate(n);
        },
        "NotJson { line: 3",
    ),
    ("blank_line", |l| l.insert(1, String::new()), "NotJson { line: 2"),
    ("two_objects_in_a_line", |l| l[1] += "{}", "NotJson { line: 2"),
    (
        "header_gone",
        |l| {
            l.remove(0);
        },
        "MissingHeader",
    ),
    (
        "header_last",
        |l| {
            let h = l.remove(0);
            l.push(h);
        },
        "HeaderNotFirst { line: 4 }",
    ),
    (
        "header_twice",
        |l| {
            let h = l[0].clone();
            l.insert(1, h);
        },
        "HeaderNotFirst { line: 2 }",
    ),
    (
        "row_twice",
        |l| {
            let r = l[1].clone();
            l.insert(2, r);
        },
        "Inconsistent { line: 3, fault: DuplicateRow { id: \"fs/a\", backend: \"box\" }",
    ),
    (
        "backend_unknown",
        |l| edit(l, 1, r#""backend":"box""#, r#""backend":"bix""#),
        "Inconsistent { line: 2, fault: UnknownBackend { id: \"fs/a\", backend: \"bix\" }",
    ),
    (
        "backend_missing",
        |l| edit(l, 0, r#""mechanism":"#, r#""missing":"get it","mechanism":"#),
        "Inconsistent { line: 2, fault: MissingBackend { id: \"fs/a\", backend: \"box\" }",
    ),
    (
        "outcome_impossible",
        |l| edit(l, 1, r#""expected""#, r#""xfail""#),
        "Inconsistent { line: 2, fault: Outcome { id: \"fs/a\", verdict: Pass, outcome: Xfail }",
    ),
    (
        "duration_negative",
        |l| edit(l, 1, r#""duration_ms":12.5"#, r#""duration_ms":-1.0"#),
        "Inconsistent { line: 2, fault: Duration { id: \"fs/a\" }",
    ),
    (
        "row_after_footer",
        |l| {
            let r = l.remove(2);
            l.push(r);
        },
        "AfterFooter { line: 4 }",
    ),
    (
        "footer_gone",
        |l| {
            l.pop();
        },
        "MissingFooter",
    ),
    (
        "count_wrong",
        |l| edit(l, 3, r#""pass":1"#, r#""pass":2"#),
        "CountsMismatch { what: \"pass\", stated: 2, counted: 1 }",
    ),
    (
        "rows_wrong",
        |l| edit(l, 3, r#""rows":2"#, r#""rows":3"#),
        "CountsMismatch { what: \"rows\", stated: 3, counted: 2 }",
    ),
    (
        "row_lost",
        |l| {
            l.remove(1);
        },
        "CountsMismatch { what: \"pass\", stated: 1, counted: 0 }",
    ),
    ("count_left_out", |l| edit(l, 3, r#""leak":0,"#, ""), "Field { line: 4, field: \"counts\""),
    ("text_altered", |l| edit(l, 1, "leaves no trace", "leaves a trace"), "ChecksumMismatch"),
    (
        "format_newer",
        |l| edit(l, 0, r#""format":3"#, r#""format":4,"new":1"#),
        "NewerFormat { found: 4 }",
    ),
    (
        "format_zero",
        |l| edit(l, 0, r#""format":3"#, r#""format":0"#),
        "Inconsistent { line: 1, fault: Format(0)",
    ),
    (
        "type_unknown",
        |l| edit(l, 1, r#""type":"case""#, r#""type":"note""#),
        "UnknownType { line: 2, found: \"note\" }",
    ),
    ("type_missing", |l| edit(l, 1, r#""type":"case","#, ""), "Field { line: 2, field: \".\""),
    (
        "type_twice",
        |l| edit(l, 1, r#""type":"case","#, r#""type":"case","type":"case","#),
        "Field { line: 2, field: \".\", message: \"duplicate field `type`\"",
    ),
    (
        "field_unknown",
        |l| edit(l, 1, r#""twin":"#, r#""twins":1,"twin":"#),
        "Field { line: 2, field: \".\", message: \"unknown field `twins`",
    ),
    ("field_missing", |l| edit(l, 1, r#""level":"must","#, ""), "Field { line: 2, field: \".\""),
    (
        "field_twice",
        |l| edit(l, 1, r#""verdict":"pass""#, r#""verdict":"leak","verdict":"pass""#),
        "Field { line: 2, field: \".\", message: \"duplicate field `verdict`\"",
    ),
    (
        "word_unknown",
        |l| edit(l, 1, r#""verdict":"pass""#, r#""verdict":"ok""#),
        "Field { line: 2, field: \"verdict\"",
    ),
    (
        "nested_field_unknown",
        |l| edit(l, 0, r#""uid":"#, r#""gid":0,"uid":"#),
        "Field { line: 1, field: \"user.gid\"",
    ),
    (
        "backend_twice",
        |l| {
            let at = l[0].find(r#"{"name":"box""#).unwrap();
            let end = at + l[0][at..].find("}}").unwrap() + 2;
            let again = format!(",{}", &l[0][at..end]);
            l[0].insert_str(end, &again);
        },
        "Inconsistent { line: 1, fault: DuplicateBackend(\"box\")",
    ),
];

#[test]
fn each_mutation_is_refused_for_its_own_reason() {
    let wrong: Vec<String> = MUTATIONS
        .iter()
        .filter_map(|(name, mutate, error)| {
            let mut lines = good();
            mutate(&mut lines);
            let found = format!("{:?}", read_lines(&lines).map(|_| "read without complaint"));
            let asked = format!("Err({error}");
            (!found.starts_with(&asked)).then(|| format!("{name}: {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_consistent_alteration_of_the_text_still_breaks_the_checksum() {
    let mut lines = good();
    edit(&mut lines, 1, "leaves no trace", "leaves a trace");
    assert!(matches!(read_lines(&lines), Err(RecordError::ChecksumMismatch)));
    reseal(&mut lines);
    assert!(read_lines(&lines).is_ok(), "the seal of the test itself is wrong");
}

#[test]
fn an_unreadable_input_is_an_error_with_its_line() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("unplugged"))
        }
    }
    let error = read(std::io::BufReader::new(Broken)).unwrap_err();
    assert_eq!(error.to_string(), "line 1: the record cannot be read: unplugged");
}

#[test]
fn the_writer_refuses_what_the_reader_would() {
    let mut writer = RecordWriter::new(Vec::new(), &good_header()).unwrap();
    writer.row(&good_rows()[0]).unwrap();
    let fault = |result: Result<(), WriteError>| match result {
        Err(WriteError::Inconsistent(fault)) => fault,
        other => panic!("{other:?}"),
    };
    let twice = fault(writer.row(&good_rows()[0]));
    assert!(matches!(twice, LedgerFault::DuplicateRow { .. }));
    assert!(matches!(fault(writer.row(&row("fs/b", "bix"))), LedgerFault::UnknownBackend { .. }));
    for duration_ms in [f64::NAN, f64::INFINITY, -1.0] {
        let odd = CaseRow { duration_ms, ..row("fs/b", "box") };
        assert!(matches!(fault(writer.row(&odd)), LedgerFault::Duration { .. }));
    }
    let stress = Some(StressCount { runs: 2, verdicts: [(Verdict::Pass, 1)].into() });
    let odd = CaseRow { stress, ..row("fs/c", "box") };
    assert!(matches!(fault(writer.row(&odd)), LedgerFault::Stress { .. }));
    let xpass = CaseRow { outcome: Outcome::Xpass, ..good_rows()[1].clone() };
    assert!(matches!(fault(writer.row(&xpass)), LedgerFault::Outcome { .. }));
    writer.row(&good_rows()[1]).unwrap();
    let (footer, bytes) = writer.finish().unwrap();
    assert_eq!((footer.rows, bytes), (2, record(&good_header(), &good_rows())));
}

#[test]
fn an_interrupted_run_reads_as_cut_short() {
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(&mut bytes, &good_header()).unwrap();
    writer.row(&good_rows()[0]).unwrap();
    drop(writer);
    assert!(matches!(read(bytes.as_slice()), Err(RecordError::MissingFooter)));
}

#[test]
fn a_part_is_one_of_the_parts_there_are() {
    for (index, of) in [(0, 0), (0, 3), (9, 3)] {
        let mut header = good_header();
        header.selection.shard = Some(Shard { index, of });
        let error = read(record(&header, &good_rows()).as_slice()).unwrap_err().to_string();
        assert!(error.contains("line 1: field `selection.shard`: "), "{error}");
        assert!(error.contains(&format!("no part {index} of {of}")), "{error}");
    }
}
