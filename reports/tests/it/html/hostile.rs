//! A record whose every text tries to break out of the HTML page: the page has the same elements
//! and attributes as that of a harmless record.

use boxproof_reports::record::FORMAT;
use boxproof_reports::{
    ArmName, ArmRow, BackendInfo, CaseQuestion, CaseRow, CorpusInfo, ExitRow, Header, KnownFailure,
    Level, OracleRow, Outcome, RequirementText, Run, Selection, SetInfo, StreamText, TwinState,
    Verdict, html, merge,
};
use rstest::rstest;
use serde_json::json;

use super::data;
use crate::sample::{ORDINARY, run};

/// A run whose every text is made of `text`, with a mark where texts must differ.
pub(super) fn made_of(text: &str) -> Run {
    let rows = [row(text, "1", Verdict::UnderBlock), row(text, "2", Verdict::Pass)];
    let backend = |mark: &str, missing| BackendInfo {
        name: format!("{text}{mark}"),
        version: text.to_owned(),
        sha256: text.to_owned(),
        program: text.to_owned(),
        mechanism: text.to_owned(),
        claims: [(text.to_owned(), text.to_owned())].into(),
        homepage: Some(text.to_owned()),
        missing,
    };
    let header = Header {
        format: FORMAT,
        harness: text.to_owned(),
        corpus: CorpusInfo {
            version: text.to_owned(),
            sha256: text.to_owned(),
            source: text.to_owned(),
        },
        started: text.to_owned(),
        host: ["distro", "kernel", "arch", text].map(|fact| (fact.to_owned(), json!(text))).into(),
        user: ORDINARY,
        backends: vec![backend("1", None), backend("2", None), backend("3", Some(text.to_owned()))],
        selection: Selection {
            filters: vec![text.to_owned()],
            ..Selection::whole_selection(rows.iter().map(|row| row.id.as_str()))
        },
        requirements: [(
            text.to_owned(),
            RequirementText { text: text.to_owned(), source: text.to_owned() },
        )]
        .into(),
        set: Some(SetInfo { version: text.to_owned(), profiles: [(text.to_owned(), 2)].into() }),
        base_url: Some(text.to_owned()),
        commit: Some(text.to_owned()),
        case_files: [(text.to_owned(), text.to_owned())].into(),
    };
    let other: Vec<CaseRow> =
        rows.iter().map(|row| CaseRow { backend: format!("{text}2"), ..row.clone() }).collect();
    run(&header, &[rows.to_vec(), other].concat())
}

fn row(text: &str, mark: &str, verdict: Verdict) -> CaseRow {
    let stream = || StreamText { text: format!("{text}\n{text}"), truncated: true };
    CaseRow {
        id: format!("{text}{mark}"),
        backend: format!("{text}1"),
        verdict,
        reason: text.to_owned(),
        message: text.to_owned(),
        outcome: if verdict == Verdict::Pass { Outcome::Xpass } else { Outcome::Xfail },
        known: Some(KnownFailure { reason: text.to_owned(), link: Some(text.to_owned()) }),
        level: Level::Must,
        area: text.to_owned(),
        file: Some(text.to_owned()),
        profiles: vec![text.to_owned()],
        host: vec![text.to_owned()],
        requirements: vec![text.to_owned()],
        needs: vec![text.to_owned()],
        about: Some(vec![text.to_owned()]),
        twin: TwinState::Shown,
        duration_ms: 1.0,
        evidence: None,
        stress: None,
        purpose: text.to_owned(),
        asked: Some(CaseQuestion {
            act: text.to_owned(),
            policy: text.to_owned(),
            expect: text.to_owned(),
            fixture: text.to_owned(),
            control: text.to_owned(),
            twin: text.to_owned(),
        }),
        arms: vec![ArmRow {
            arm: ArmName::Confined,
            command: String::new(),
            exit: Some(ExitRow::Code(0)),
            stdout: stream(),
            stderr: stream(),
            observation: Some(json!({ text: text })),
            oracles: vec![OracleRow {
                oracle: text.to_owned(),
                holds: false,
                saw: text.to_owned(),
                unread: false,
            }],
            duration_ms: 1.0,
        }],
        earlier: Vec::new(),
        blind: None,
        reproduce: Some(text.to_owned()),
    }
}

fn page(text: &str) -> String {
    html::render(&merge(&[made_of(text)]).unwrap())
}

/// Every tag with the names of its attributes, as a browser would read them.
pub(super) fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let (tag, after) = tag(&rest[start + 1..]);
        // The content of a script or style is no markup until its end tag.
        let raw = ["script", "style"].into_iter().find(|name| tag.split(' ').next() == Some(name));
        rest = match raw {
            Some(name) => &after[after.find(&format!("</{name}")).unwrap()..],
            None => after,
        };
        tags.push(tag);
    }
    tags
}

fn tag(markup: &str) -> (String, &str) {
    let (mut names, mut quoted) = (String::new(), false);
    for (at, c) in markup.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return (names, &markup[at + 1..]),
            c if !quoted => names.push(c),
            _ => {}
        }
    }
    panic!("a tag does not end: {names}");
}

#[rstest]
#[case::script_end("</script><script>alert(1)</script>")]
#[case::style_end("</style></title></noscript><img src=x onerror=alert(1)>")]
#[case::comment("<!--<script>")]
#[case::attribute("\" onmouseover=\"alert(1)\" x='y' `")]
#[case::entity("&lt;b&gt; &#60; &amp;quot;")]
#[case::control("\0\x1b[2J\x1b]8;;x\x07\u{9b}31m\r\t\x7f\u{1}\u{2}\u{1e}")]
#[case::direction("\u{202e}gpj\u{2066}\u{200f}\u{61c}\u{200b}\u{feff}")]
#[case::lines("a\nb\u{2028}c\u{2029}d\u{85}")]
#[case::style("\\\"} * { display: none } /* ")]
#[case::wide("🦀é中\u{10ffff}")]
fn no_text_changes_the_page(#[case] text: &str) {
    let page = page(text);
    // The same number of slashes, for an id may be broken after each.
    let harmless = text.chars().filter(|c| *c == '/').collect::<String>();
    assert_eq!(tags(&page), tags(&self::page(&format!("x{harmless}x"))));
    let visible = |c: char| {
        c == '\n'
            || !(c.is_control()
                || "\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{feff}\u{2028}\u{2029}".contains(c))
    };
    let hidden: Vec<char> = page.chars().filter(|c| !visible(*c)).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
    let data = data(&page);
    assert_eq!(data["cases"].as_array().unwrap().len(), 2);
    if text.chars().all(visible) && !text.contains('\n') {
        assert_eq!(data["cases"][0]["purpose"], text);
    }
}

#[test]
fn hostile_text_is_still_told() {
    let page = page("<b>&\"'</b>\0");
    let cleaned = "<b>&\"'</b>\\u{0}";
    let data = data(&page);
    assert_eq!(data["cases"][0]["id"], format!("{cleaned}1"));
    assert_eq!(data["cases"][0]["purpose"], cleaned);
    let texts: Vec<&str> =
        data["texts"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    assert!(texts.contains(&cleaned) && texts.contains(&format!("{cleaned}\n{cleaned}").as_str()));
    assert!(page.contains("&lt;b&gt;&amp;&quot;&#39;&lt;/<wbr>b&gt;\\u{0}1"));
}
