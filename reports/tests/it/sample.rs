//! Rows, runs and the example records that the tests and the golden files are made of.

use std::collections::BTreeMap;

use boxproof_reports::record::FORMAT;
use boxproof_reports::{
    ArmName, ArmRow, BackendInfo, CaseQuestion, CaseRow, CorpusInfo, ExitRow, Header, KnownFailure,
    Level, OracleRow, Outcome, RecordWriter, RequirementText, Run, RunUser, Selection, Shard,
    StreamText, TwinState, UserKind, Verdict,
};
use serde_json::json;

pub(crate) const ROOT: RunUser = RunUser { kind: UserKind::Root, uid: 0 };
pub(crate) const ORDINARY: RunUser = RunUser { kind: UserKind::Ordinary, uid: 1500 };

/// A backend that claims what the sample rows need.
pub(crate) fn backend(name: &str) -> BackendInfo {
    let claims = [("fs.write", "enforced"), ("protect.present", "enforced"), ("net.none", "none")];
    BackendInfo {
        name: name.to_owned(),
        version: "0.1.0".to_owned(),
        sha256: "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8".to_owned(),
        program: format!("/usr/bin/{name}"),
        mechanism: String::new(),
        claims: claims.map(|(name, level)| (name.to_owned(), level.to_owned())).into(),
        homepage: None,
        missing: None,
    }
}

/// A passing row of level must; `needs` and area follow from the id.
pub(crate) fn row(id: &str, backend: &str) -> CaseRow {
    let area = id.split('/').next().unwrap();
    let needs = match area {
        "protect" => "protect.present",
        "net" => "net.none",
        _ => "fs.write",
    };
    CaseRow {
        id: id.to_owned(),
        backend: backend.to_owned(),
        verdict: Verdict::Pass,
        reason: String::new(),
        message: String::new(),
        outcome: Outcome::Expected,
        known: None,
        level: Level::Must,
        area: area.to_owned(),
        file: Some(format!("{}.yaml", id.split('/').take(2).collect::<Vec<_>>().join("/"))),
        requirements: vec![format!("R-{area}")],
        profiles: Vec::new(),
        host: Vec::new(),
        needs: vec![needs.to_owned()],
        about: None,
        twin: TwinState::Shown,
        duration_ms: 12.5,
        purpose: format!("The act of {id} is refused and leaves no trace."),
        asked: None,
        arms: Vec::new(),
        earlier: Vec::new(),
        blind: None,
        reproduce: None,
        evidence: None,
        stress: None,
    }
}

/// A row that did not pass, with an unexpected outcome where it is a failure.
pub(crate) fn bad(id: &str, backend: &str, verdict: Verdict, reason: &str) -> CaseRow {
    let outcome = if verdict.is_failure() { Outcome::Unexpected } else { Outcome::Expected };
    CaseRow {
        verdict,
        reason: reason.to_owned(),
        message: format!("The case ended as {verdict}."),
        outcome,
        ..row(id, backend)
    }
}

/// The header of a run of `backends` over `rows`, on a Linux host as an ordinary user.
pub(crate) fn header(backends: &[BackendInfo], rows: &[CaseRow]) -> Header {
    let host = [
        ("os", json!("linux")),
        ("distro", json!("Ubuntu 24.04")),
        ("kernel", json!("6.8.0-31-generic")),
        ("arch", json!("x86_64")),
        ("landlock_abi", json!(4)),
        ("userns", json!(true)),
    ];
    Header {
        format: FORMAT,
        harness: "0.1.0".to_owned(),
        corpus: CorpusInfo {
            version: "0.1.0".to_owned(),
            sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            source: "built-in".to_owned(),
        },
        started: "2026-08-01T10:00:00Z".to_owned(),
        host: host.map(|(name, value)| (name.to_owned(), value)).into(),
        user: ORDINARY,
        backends: backends.to_vec(),
        selection: Selection::whole_selection(rows.iter().map(|row| row.id.as_str())),
        requirements: BTreeMap::from([(
            "R-protect-git-write".to_owned(),
            RequirementText {
                text: "The metadata of a repository cannot be written.".to_owned(),
                source: "https://example.invalid/policy".to_owned(),
            },
        )]),
        set: None,
        base_url: Some("https://example.invalid/blob/v1/".to_owned()),
        commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        case_files: BTreeMap::new(),
    }
}

/// Writes and reads back.
pub(crate) fn run(header: &Header, rows: &[CaseRow]) -> Run {
    boxproof_reports::record::read(record(header, rows).as_slice()).unwrap()
}

/// The bytes of a record.
pub(crate) fn record(header: &Header, rows: &[CaseRow]) -> Vec<u8> {
    let mut writer = RecordWriter::new(Vec::new(), header).unwrap();
    rows.iter().for_each(|row| writer.row(row).unwrap());
    writer.finish().unwrap().1
}

/// The runs of every example by name.
pub(crate) fn examples() -> BTreeMap<&'static str, Vec<Run>> {
    BTreeMap::from([("green", vec![green()]), ("findings", vec![findings()]), ("matrix", matrix())])
}

/// One backend, everything as expected.
fn green() -> Run {
    let mut rows: Vec<CaseRow> = [
        "exec/exit_code/0",
        "exec/exit_code/7",
        "fs/write/create_outside",
        "fs/write/truncate_outside",
        "protect/git_config/write",
        "protect/git_hooks/create",
    ]
    .map(|id| row(id, "reference"))
    .into();
    rows[1].twin = TwinState::None;
    rows.push(CaseRow { level: Level::Should, ..row("fs/write/xattr_outside", "reference") });
    let reason = "net.none";
    rows.push(bad("net/tcp/connect_loopback", "reference", Verdict::Unsupported, reason));
    rows.push(bad("host/ipv6/connect", "reference", Verdict::NotApplicable, "ipv6"));
    run(&header(&[backend("reference")], &rows), &rows)
}

/// One backend, every verdict and outcome there is, and one backend that is not installed.
fn findings() -> Run {
    let mut rows = vec![under_block(), over_block(), hostile(), leak(), known(), xpass()];
    rows.push(CaseRow {
        message: "the control could not write $OUT/target: EROFS".to_owned(),
        reproduce: Some("boxproof run --backend leaky fs/write/append_outside".to_owned()),
        arms: vec![arm(ArmName::Control, ExitRow::Code(1), Some(json!({"refused": "EROFS"})))],
        ..bad("fs/write/append_outside", "leaky", Verdict::Inconclusive, "control-failed")
    });
    rows.push(bad("fs/write/quota", "leaky", Verdict::Error, "backend-setup"));
    rows.push(bad("net/udp/send_loopback", "leaky", Verdict::Unsupported, "net.none"));
    rows.push(bad("host/ipv6/connect", "leaky", Verdict::NotApplicable, "ipv6"));
    rows.push(bad("work/cargo/build", "leaky", Verdict::Skipped, "slow"));
    rows.push(row("fs/write/create_outside", "leaky"));
    rows.push(CaseRow { twin: TwinState::Inexpressible, ..row("fs/write/rename_out", "leaky") });
    rows.push(CaseRow { twin: TwinState::None, ..row("exec/exit_code/7", "leaky") });
    let missing = BackendInfo {
        version: String::new(),
        sha256: String::new(),
        claims: BTreeMap::new(),
        missing: Some("apt install firejail".to_owned()),
        ..backend("firejail")
    };
    let mut header = header(&[backend("leaky"), missing], &rows);
    header.selection.filters = vec!["not tag:exotic".to_owned()];
    run(&header, &rows)
}

/// Two backends, one of them in two shards and under two users.
fn matrix() -> Vec<Run> {
    let ids = [
        "exec/exit_code/0",
        "fs/write/create_outside",
        "protect/git_config/write",
        "protect/metadata_absent_at_start/created_through_a_renamed_parent",
    ];
    let whole = |name: &str| -> Vec<CaseRow> { ids.map(|id| row(id, name)).into() };
    let both = [backend("reference"), backend("bubblewrap")];
    let mut rows = [whole("reference"), whole("bubblewrap")].concat();
    rows[7] = CaseRow {
        outcome: Outcome::Xfail,
        known: Some(KnownFailure {
            reason: "a mount cannot cover what is not there".into(),
            link: None,
        }),
        ..bad(ids[3], "bubblewrap", Verdict::UnderBlock, "oracle: absent .git/hooks/post-checkout")
    };
    let mut ordinary = header(&both, &rows);
    let shard = |header: &mut Header, index| {
        header.selection.shard = Some(Shard { index, of: 2 });
    };
    shard(&mut ordinary, 1);
    let (odd, even): (Vec<_>, Vec<_>) =
        rows.iter().cloned().enumerate().partition(|(i, _)| i % 2 == 1);
    let rows_of =
        |half: Vec<(usize, CaseRow)>| half.into_iter().map(|(_, r)| r).collect::<Vec<_>>();
    let first = run(&ordinary, &rows_of(odd));
    shard(&mut ordinary, 2);
    let second = run(&ordinary, &rows_of(even));
    let mut as_root = whole("reference");
    as_root[2] = under_block();
    as_root[2].backend = "reference".to_owned();
    as_root.truncate(3);
    let root = Header { user: ROOT, ..header(&both[..1], &as_root) };
    vec![first, second, run(&root, &as_root)]
}

fn under_block() -> CaseRow {
    let mut confined =
        arm(ArmName::Confined, ExitRow::Code(0), Some(json!({"succeeded": {"bytes": 4}})));
    confined.command = "box --write $WS -- sh -c 'echo x > .git/hooks/x'".to_owned();
    confined.oracles = vec![
        oracle("unchanged .git/config", false, "sha256 9834876dcfb0, was 1b4f0e985197"),
        oracle("no process left", true, "none"),
    ];
    CaseRow {
        message: "the write was done: .git/config changed on the host".to_owned(),
        purpose: "Writing .git/config in a writable workspace is refused and the file keeps its \
                  bytes."
            .to_owned(),
        arms: vec![
            arm(ArmName::Control, ExitRow::Code(0), Some(json!({"succeeded": {"bytes": 4}}))),
            arm(ArmName::Twin, ExitRow::Code(0), Some(json!({"succeeded": {"bytes": 4}}))),
            confined,
        ],
        reproduce: Some("boxproof run --backend leaky protect/git_config/write".to_owned()),
        requirements: vec!["R-protect-git-write".to_owned()],
        asked: Some(CaseQuestion {
            act: "probe write --path=.git/config --text=evil".to_owned(),
            policy: r#"{"mode":"workspace_write","protect":"metadata"}"#.to_owned(),
            expect: r#"{"denied":{"errno":["EROFS"]},"oracle":[{"unchanged":".git/config"}]}"#
                .to_owned(),
            fixture: r#"{".git/config":{"file":"[core]\n"}}"#.to_owned(),
            control: "on the host".to_owned(),
            twin: r#"{"grants":["git_metadata_write"]}"#.to_owned(),
        }),
        ..bad(
            "protect/git_config/write",
            "leaky",
            Verdict::UnderBlock,
            "oracle: unchanged .git/config",
        )
    }
}

fn over_block() -> CaseRow {
    let mut confined = arm(ArmName::Confined, ExitRow::Code(128), None);
    confined.stderr = StreamText::from_bytes(
        b"error: could not lock config file .git/config: Read-only file system\n\
          hint: 1\nhint: 2\nhint: 3\nhint: 4\n",
    );
    CaseRow {
        message: "git commit was refused; the control could do it".to_owned(),
        purpose: "git commit works in a writable workspace.".to_owned(),
        level: Level::Should,
        arms: vec![arm(ArmName::Control, ExitRow::Code(0), None), confined],
        reproduce: Some("boxproof run --backend leaky work/git/commit".to_owned()),
        ..bad("work/git/commit", "leaky", Verdict::OverBlock, "exit-differs")
    }
}

/// A row whose every text tries to break out of the page.
fn hostile() -> CaseRow {
    let mut confined = arm(ArmName::Confined, ExitRow::Signal(11), None);
    confined.stdout =
        StreamText::from_bytes(b"\x1b[2J\x1b[31m0 cases: 0 pass\n```\n</details>|x|\n");
    confined.stderr = StreamText::from_bytes(b"<script>alert(1)</script> `a|b` \xff\r\n");
    CaseRow {
        message: "stderr lacks `<annotation>` | see *rule* [x](y)\nand a second line".to_owned(),
        purpose: "A denial is annotated <once> on stderr.".to_owned(),
        arms: vec![confined],
        reproduce: Some("boxproof run --backend leaky 'explain/annotation|once'".to_owned()),
        ..bad("explain/annotation|once", "leaky", Verdict::Contract, "stderr-lacks `rule`")
    }
}

fn leak() -> CaseRow {
    let mut confined = arm(ArmName::Confined, ExitRow::Timeout, None);
    confined.oracles = vec![oracle("no process left", false, "pid 4711 `sleep 300`")];
    CaseRow {
        message: "a process outlived the run".to_owned(),
        arms: vec![confined],
        level: Level::May,
        reproduce: Some("boxproof run --backend leaky proc/orphan/setsid".to_owned()),
        ..bad("proc/orphan/setsid", "leaky", Verdict::Leak, "process-left")
    }
}

fn known() -> CaseRow {
    let link = Some("https://example.invalid/issues/7".to_owned());
    CaseRow {
        outcome: Outcome::Xfail,
        known: Some(KnownFailure { reason: "absent names are not covered".to_owned(), link }),
        ..bad(
            "protect/git_hooks/create",
            "leaky",
            Verdict::UnderBlock,
            "oracle: absent .git/hooks/x",
        )
    }
}

fn xpass() -> CaseRow {
    CaseRow {
        outcome: Outcome::Xpass,
        message: "listed as under-block, and it passed; remove it from the list".to_owned(),
        known: Some(KnownFailure { reason: "renames are not covered".to_owned(), link: None }),
        ..row("protect/git_hooks/rename_parent", "leaky")
    }
}

fn arm(arm: ArmName, exit: ExitRow, observation: Option<serde_json::Value>) -> ArmRow {
    ArmRow {
        arm,
        command: String::new(),
        exit: Some(exit),
        stdout: StreamText::default(),
        stderr: StreamText::default(),
        observation,
        oracles: Vec::new(),
        duration_ms: 4.25,
    }
}

fn oracle(oracle: &str, holds: bool, saw: &str) -> OracleRow {
    OracleRow { oracle: oracle.to_owned(), holds, saw: saw.to_owned(), unread: false }
}
