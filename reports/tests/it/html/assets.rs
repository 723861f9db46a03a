//! Script, style and policy of the page.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boxproof_reports::Verdict;
use rstest::rstest;
use sha2::{Digest, Sha256};

use super::{between, data, page};
use crate::sample::examples;

const SCRIPTS: [&str; 8] = [
    include_str!("../../../src/html/assets/arms.js"),
    include_str!("../../../src/html/assets/data.js"),
    include_str!("../../../src/html/assets/filter.js"),
    include_str!("../../../src/html/assets/grid.js"),
    include_str!("../../../src/html/assets/main.js"),
    include_str!("../../../src/html/assets/panel.js"),
    include_str!("../../../src/html/assets/rows.js"),
    include_str!("../../../src/html/assets/state.js"),
];
const COLORS: &str = include_str!("../../../src/html/assets/colors.css");

#[test]
fn only_the_pages_own_style_and_script_may_run() {
    let page = page(&examples()["green"]);
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let (style, script) =
        (between(&page, "<style>", "</style>"), between(&page, "<script>", "</script>"));
    let wanted = format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(style),
        hash(script)
    );
    assert_eq!(policy, wanted);
    assert_eq!((page.matches("<script").count(), page.matches("<style").count()), (2, 1));
    assert!(!page.contains(" style=\"") && !page.contains(" onclick"));
}

#[rstest]
#[case("innerHTML")]
#[case("outerHTML")]
#[case("insertAdjacentHTML")]
#[case("document.write")]
#[case("createContextualFragment")]
#[case("DOMParser")]
#[case("eval(")]
#[case("Function(")]
#[case("setTimeout")]
#[case("</")]
#[case("<!--")]
fn scripts_never_make_markup_or_code_from_text(#[case] word: &str) {
    let page = page(&examples()["green"]);
    let script = between(&page, "<script>", "</script>");
    for part in SCRIPTS {
        assert!(script.contains(part), "a part is not in the page");
        assert!(!part.contains(word), "{word}");
    }
}

/// The colours of one block of the style sheet by name.
fn colors(block: &str) -> Vec<(&str, f64)> {
    let pairs = block.split("--").skip(1).filter_map(|part| part.split_once(": #"));
    pairs.map(|(name, rest)| (name, luminance(rest.split(';').next().unwrap()))).collect()
}

/// Relative luminance as WCAG 2 defines it.
fn luminance(hex: &str) -> f64 {
    let digits: Vec<u32> = hex.chars().map(|c| c.to_digit(16).unwrap()).collect();
    let wide: Vec<u32> = match digits.len() {
        3 => digits.iter().flat_map(|d| [*d, *d]).collect(),
        _ => digits,
    };
    let part = |i: usize| {
        let c = f64::from(wide[2 * i] * 16 + wide[2 * i + 1]) / 255.0;
        if c <= 0.03928 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2)
}

#[test]
fn every_colour_can_be_read_light_and_dark() {
    let (light, dark) = COLORS.split_once("@media").unwrap();
    for (scheme, block) in [("light", light), ("dark", dark)] {
        let colors = colors(block);
        let of = |name: &str| {
            colors.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name}")).1
        };
        let tints =
            ["pass", "under-block", "over-block", "contract", "leak", "learnt-not", "not-run"];
        let mut pairs: Vec<(String, String)> =
            tints.map(|tint| (tint.to_owned(), format!("{tint}-on"))).into();
        for ink in ["ink", "soft", "link", "pass", "under-block", "over-block"] {
            pairs.extend(["paper", "wash"].map(|ground| (ink.to_owned(), ground.to_owned())));
        }
        for (ink, ground) in pairs {
            let (a, b) = (of(&ink), of(&ground));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{scheme}: {ink} on {ground} has {contrast:.2}");
        }
    }
}

#[test]
fn every_verdict_has_its_own_symbol_and_a_colour() {
    let data = data(&page(&examples()["findings"]));
    let verdicts = data["verdicts"].as_array().unwrap();
    let symbols: BTreeSet<&str> = verdicts.iter().map(|v| v["symbol"].as_str().unwrap()).collect();
    assert_eq!((verdicts.len(), symbols.len()), (Verdict::ALL.len(), Verdict::ALL.len()));
    for verdict in Verdict::ALL {
        let class = format!(".{verdict}");
        assert!(COLORS.split([' ', ',', '\n']).any(|word| word == class), "{class}");
    }
}
