//! Properties of every terminal page, independent of its content.

use boxproof_reports::terminal::{Style, TerminalOptions, render};
use boxproof_reports::{CaseRow, Run, Verdict, merge, summary_line};
use rstest::rstest;

use crate::sample::{backend, bad, examples, header, row, run};

fn page(runs: &[Run], style: Style, width: usize) -> String {
    render(&merge(runs).unwrap(), TerminalOptions { style, width, verbose: true })
}

/// One run of many backends, the last of which fails.
fn wide(count: usize) -> Run {
    let names: Vec<String> = (1..=count).map(|i| format!("sandbox{i}")).collect();
    let mut rows: Vec<CaseRow> = names.iter().map(|name| row("fs/write/outside", name)).collect();
    let last = &names[count - 1];
    rows[count - 1] = bad("fs/write/outside", last, Verdict::UnderBlock, "oracle");
    let backends: Vec<_> = names.iter().map(|name| backend(name)).collect();
    run(&header(&backends, &rows), &rows)
}

#[rstest]
#[case(60)]
#[case(80)]
#[case(132)]
fn no_line_is_wider_than_the_page(#[case] width: usize) {
    let mut all: Vec<Vec<Run>> = examples().into_values().collect();
    all.push(vec![wide(12)]);
    for runs in &all {
        let page = page(runs, Style::Plain, width);
        let (body, last) = page.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(last, summary_line(merge(runs).unwrap().rows()));
        // Ids and commands stay whole, for they are to be copied.
        let copied = |line: &&str| {
            line.contains("again: ") || line.contains("://") || !line.trim().contains(' ')
        };
        let too_wide: Vec<&str> = body
            .lines()
            .filter(|line| line.chars().count() > width)
            .filter(|line| !copied(line))
            .collect();
        assert!(too_wide.is_empty(), "{too_wide:#?}");
    }
}

#[test]
fn columns_that_do_not_fit_follow_in_a_block_of_their_own() {
    let page = page(&[wide(12)], Style::Plain, 80);
    for column in 1..=12 {
        assert!(page.contains(&format!("[{column}] sandbox{column} 0.1.0")), "{page}");
    }
    let heads: Vec<&str> = page.lines().filter(|line| line.starts_with("cases ")).collect();
    let columns: Vec<&str> =
        heads.iter().flat_map(|head| head.split_whitespace().skip(1)).collect();
    let wanted: Vec<String> = (1..=12).map(|column| format!("[{column}]")).collect();
    assert_eq!(columns, wanted);
    assert!(heads.len() > 1);
    let cells: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("  fs/write/outside "))
        .flat_map(|line| line.split_whitespace().skip(1))
        .collect();
    assert_eq!((cells.len(), cells[0], cells[11]), (12, "pass", "UNDER"));
}

#[test]
fn only_colour_sets_the_styles_apart_and_nothing_else_escapes() {
    for runs in examples().values() {
        let plain = page(runs, Style::Plain, 80);
        assert!(!plain.chars().any(|c| c.is_control() && c != '\n'), "{plain:?}");
        let color = page(runs, Style::Color, 80);
        assert_ne!(color, plain);
        assert_eq!(without_colour(&color), plain);
    }
}

/// Removes `ESC [ … m`.
fn without_colour(page: &str) -> String {
    let mut parts = page.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').unwrap().1).collect::<String>()
}
