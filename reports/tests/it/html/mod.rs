//! The HTML matrix: whole, offline, readable without scripts, of a sensible size.

mod assets;
mod cell_text;
mod hostile;
mod site;
mod size;

use boxproof_reports::{Run, html, merge};
use serde_json::Value;

use self::cell_text::{cell_text, wanted};
use crate::sample::examples;

fn page(runs: &[Run]) -> String {
    html::render(&merge(runs).unwrap())
}

/// Returns the text between `open` and the next `close`.
fn between<'a>(page: &'a str, open: &str, close: &str) -> &'a str {
    let start = page.find(open).unwrap_or_else(|| panic!("no {open}")) + open.len();
    let end = page[start..].find(close).unwrap_or_else(|| panic!("no {close}"));
    &page[start..start + end]
}

fn data(page: &str) -> Value {
    let text = between(page, "<script id=\"data\" type=\"application/json\">", "</script>");
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_case_and_cell_is_in_table_and_data() {
    for (name, runs) in examples() {
        let matrix = merge(&runs).unwrap();
        let page = html::render(&matrix);
        let table = between(&page, "<noscript><div", "</table>");
        let data = data(&page);
        let rows: Vec<_> = matrix.sections.iter().flat_map(|section| &section.rows).collect();
        assert_eq!(table.matches("<tr class=\"case\">").count(), rows.len(), "{name}");
        // The script makes the rows of its own table, area by area.
        let live = between(&page, "<table id=\"grid\"", "</table>");
        assert_eq!(live.matches("<tr class=\"case\">").count(), 0, "{name}");
        let sizes: Vec<_> = matrix.sections.iter().map(|section| section.rows.len()).collect();
        assert_eq!(live.matches("<tr class=\"area\">").count(), sizes.len(), "{name}");
        assert_eq!(data["areas"], serde_json::json!(sizes), "{name}");
        assert_eq!(data["cases"].as_array().unwrap().len(), rows.len(), "{name}");
        let table_rows = table.split("<tr class=\"case\">").skip(1);
        for ((row, case), markup) in
            rows.iter().zip(data["cases"].as_array().unwrap()).zip(table_rows)
        {
            assert_eq!(case["id"], row.id);
            let asked = row.cells.iter().flatten().find_map(|row| row.asked.as_ref());
            let asked: Vec<_> = asked.iter().flat_map(|asked| asked.parts()).collect();
            assert_eq!(case["asked"], serde_json::json!(asked), "{name}: {id}", id = row.id);
            let id = row.id.replace('/', "/<wbr>");
            assert!(markup.contains(&format!("<summary>{id}")), "{name}: {id} in {markup}");
            let markup = markup.split_once("</tr>").unwrap().0;
            let cells: Vec<&str> = markup.split("<td").skip(1).collect();
            assert_eq!(cells.len(), matrix.columns.len(), "{name}: {id}");
            for (column, cell) in row.cells.iter().enumerate() {
                let Some(row) = cell else {
                    assert!(cells[column].contains('·') && case["cells"][column].is_null());
                    continue;
                };
                assert!(cells[column].contains(&format!(" {}", row.verdict)), "{}", cells[column]);
                // One row of the examples is not of printable text; see `hostile`.
                if !row.id.contains('|') {
                    assert_eq!(cell_text(&data, case, column), wanted(row), "{name}: {id}");
                }
            }
        }
    }
}

#[test]
fn counts_are_those_of_the_record() {
    let runs = examples().remove("matrix").unwrap();
    let page = page(&runs);
    assert!(page.contains("<p class=\"lead\">11 cases: 9 pass, 2 under-block</p>"));
    let protect = between(&page, "<b>protect</b>", "</tr>");
    for share in ["<td>2/2</td>", "<td>1/2</td>", "<td>0/1</td>"] {
        assert!(protect.contains(share), "{share} in {protect}");
    }
    let conformance = between(&page, "<section id=\"conformance\">", "</section>");
    assert!(conformance.contains("#area=protect&amp;level=must&amp;backend=bubblewrap\">1/2</a>"));
    let claims = between(&page, "<section id=\"claims\">", "</section>");
    assert_eq!(claims.matches("✗ over-claimed").count(), 2);
}

#[test]
fn gaps_and_missing_backends_are_named() {
    let page = page(&examples()["findings"]);
    let gaps = between(&page, "<section id=\"gaps\">", "</section>");
    for (word, reason) in
        [("unsupported", "net.none"), ("not-applicable", "ipv6"), ("skipped", "slow")]
    {
        assert!(gaps.contains(&format!("{word}</span> {reason}</th>")), "{word} in {gaps}");
    }
    assert!(page.contains("Not installed, so not judged: firejail."));
    assert!(page.contains("<li>firejail: not installed; apt install firejail</li>"));
}

#[test]
fn what_a_filter_left_out_is_no_gap_of_a_claim() {
    let runs = examples().remove("green").unwrap();
    let mut filtered = runs.clone();
    let claims = [("tty.none".to_owned(), "enforced".to_owned())];
    filtered[0].header.backends[0].claims.extend(claims.clone());
    let unjudged = |runs: &[Run]| page(runs).matches("? not measured").count();
    assert_eq!(unjudged(&filtered), unjudged(&runs) + 1);
    filtered[0].header.selection.filters = vec!["fs".to_owned()];
    assert_eq!(unjudged(&filtered), 0);
}

#[test]
fn hashes_of_corpus_and_backends_are_whole() {
    for (_, runs) in examples() {
        let page = page(&runs);
        let provenance = between(&page, "<section id=\"provenance\">", "</section>");
        assert!(provenance.contains(&runs[0].header.corpus.sha256));
        assert!(provenance.contains(&runs[0].header.backends[0].sha256));
        assert!(provenance.contains("boxproof 0.1.0") && provenance.contains("landlock_abi"));
    }
}

#[test]
fn findings_read_without_scripts() {
    let page = page(&examples()["findings"]);
    let plain = between(&page, "<section id=\"findings\">", "</noscript>");
    for words in [
        "git commit was refused; the control could do it",
        "could not lock config file",
        "does not hold: unchanged .git/config; saw sha256 9834876dcfb0",
        "boxproof run --backend leaky proc/orphan/setsid",
        "absent names are not covered",
    ] {
        assert!(plain.contains(words), "{words}");
    }
    // Controls that only the script can work are hidden until it runs.
    assert!(between(&page, "<form", ">").ends_with(" hidden"));
}

#[test]
fn nothing_is_fetched() {
    for (name, runs) in examples() {
        let page = page(&runs);
        for word in [
            " src=",
            "url(",
            "@import",
            "srcset",
            "fetch(",
            "XMLHttpRequest",
            "WebSocket",
            "import(",
        ] {
            assert!(!page.contains(word), "{name}: {word}");
        }
        for target in page.split("href=\"").skip(1) {
            assert!(target.starts_with('#') || target.starts_with("data:,\""), "{}", &target[..20]);
        }
        // Addresses in the records are text.
        assert_eq!(
            page.matches("://").count(),
            page.matches("https://example.invalid").count(),
            "{name}"
        );
        assert!(!page.contains("=\"https:") && !page.contains("='https:"), "{name}");
    }
}
