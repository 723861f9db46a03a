//! The first page: every backend, its trend and profiles, what changed, badges, and how to join.

use super::super::escape::{query, text};
use super::super::tables::share_class;
use super::super::totals;
use super::page::{file_names, frame};
use super::{SiteContent, trend};
use crate::badge;
use crate::conformance::PassedShare;
use crate::diff::{Diff, Transition, TransitionKind, diff};
use crate::label::corpus_words;
use crate::matrix::MatrixColumn;
use crate::profile::{self, Conformance};
use crate::record::Level;

/// The most changes for the worse that are named.
const NAMED: usize = 40;

pub(super) fn page(content: &SiteContent<'_>) -> String {
    let matrix = content.matrix;
    let corpus = matrix.columns.first().map(|c| text(&corpus_words(c.header))).unwrap_or_default();
    let newest = matrix.columns.iter().map(|column| column.header.started.as_str()).max();
    let outdated = match content.history.outdated {
        0 => String::new(),
        count => format!(
            "<p class=\"soft\">In the trend alone, as they are of another corpus: {count} of the \
             last records.</p>\n"
        ),
    };
    let body = format!(
        "<p class=\"lead\">What command sandboxes really do: {} columns, last run {}.</p>\n\
         <p class=\"soft\">{corpus}</p>\n\
         {outdated}{}{}{}{}{YOURS}",
        matrix.columns.len(),
        text(newest.unwrap_or_default()),
        backends(content),
        profiles(content),
        changes(content),
        badges(content)
    );
    frame("overview", &body)
}

const YOURS: &str = "<section id=\"yours\"><h2>Add yours</h2>\n<p>A manifest of some dozen lines tells how \
    your sandbox is started; the same corpus then judges it.</p>\n<pre>cargo binstall boxproof\n\
    boxproof new backend mine          # writes mine.yaml\n\
    boxproof run --set quick --backend ./mine.yaml --backend none\n\
    boxproof run --backend ./mine.yaml --report mine.ndjson\n\
    boxproof site mine.ndjson --out site</pre>\n<p>A pull request with the manifest in \
    <code>harness/backends</code> brings it onto this page.</p></section>\n";

fn backends(content: &SiteContent<'_>) -> String {
    let rows: String =
        (0..content.matrix.columns.len()).map(|place| backend_row(content, place)).collect();
    format!(
        "<section><h2>Backends</h2>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" \
         aria-label=\"backends\">\n<table class=\"figures\"><thead><tr><th scope=\"col\">backend</th>\
         <th scope=\"col\">of all cases</th><th scope=\"col\">must</th><th scope=\"col\">should</th>\
         <th scope=\"col\">may</th><th scope=\"col\">trend</th><th scope=\"col\">place</th></tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div></section>\n"
    )
}

fn backend_row(content: &SiteContent<'_>, place: usize) -> String {
    let column = &content.matrix.columns[place];
    let share = |level: Level| -> String {
        let rows = content.matrix.rows_of(place).filter(|row| row.level == level);
        let share: PassedShare = rows.collect();
        if share == PassedShare::default() {
            return format!("<td class=\"nil\">{share}</td>");
        }
        format!(
            "<td class=\"{}\"><a href=\"matrix.html#level={}&amp;backend={}\">{share}</a></td>",
            share_class(share),
            level.keyword(),
            query(&column.label)
        )
    };
    let points = content.history.trend(&column.backend.name, column.header);
    format!(
        "<tr><th scope=\"row\"><a href=\"{}\">{}</a> <span class=\"soft\">{}</span></th>\
         <td>{}</td>{}<td>{}</td><td class=\"soft\">{}</td></tr>\n",
        content.backend_files[place],
        text(&column.backend.name),
        text(&column.backend.version),
        totals::bar(&content.matrix.rows_of(place).collect()),
        Level::ALL.map(share).concat(),
        trend::drawing(points),
        text(&super::history::place_words(column.header))
    )
}

/// The standing of each column on each profile.
fn profiles(content: &SiteContent<'_>) -> String {
    let standings = profile::table(content.matrix);
    let mut names: Vec<&str> = standings.iter().map(|standing| standing.profile).collect();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let files = file_names("profile", names.iter().copied());
    let head = |(name, file): (&&str, &String)| {
        format!("<th scope=\"col\"><a href=\"{file}\">{}</a></th>", text(name))
    };
    let heads: String = names.iter().zip(&files).map(head).collect();
    let cell = |place: usize, name: &str| {
        let found = standings.iter().find(|s| s.column == place && s.profile == name);
        let Some(found) = found else { return "<td class=\"nil\">-</td>".to_owned() };
        format!(
            "<td><span class=\"chip {}\">{}</span> {}/{}</td>",
            standing_class(found.standing),
            found.standing.standing_label(),
            found.passed,
            found.required
        )
    };
    let row = |(place, column): (usize, &MatrixColumn<'_>)| {
        let cells: String = names.iter().map(|name| cell(place, name)).collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", text(&column.label))
    };
    let rows: String = content.matrix.columns.iter().enumerate().map(row).collect();
    format!(
        "<section><h2>Profiles</h2>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" \
         aria-label=\"profiles\">\n<table class=\"figures\"><thead><tr><th scope=\"col\">backend</th>\
         {heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div></section>\n"
    )
}

/// The colour of a standing.
pub(super) fn standing_class(standing: Conformance) -> &'static str {
    match standing {
        Conformance::Conformant => "pass",
        Conformance::WithExceptions => "over-block",
        Conformance::Unmeasured => "plain",
        Conformance::Not => "under-block",
    }
}

/// Lists the changes since the records before.
fn changes(content: &SiteContent<'_>) -> String {
    let Some(before) = content.before else {
        return "<section><h2>What changed</h2>\n<p>There is no earlier record.</p></section>\n"
            .to_owned();
    };
    let found = diff(before, content.matrix);
    let count = |(kind, count): (TransitionKind, u64)| format!("{count} {}", kind.heading());
    let counts: Vec<String> = found.counts().into_iter().map(count).collect();
    let counts = match counts.join(", ") {
        none if none.is_empty() => "nothing".to_owned(),
        some => some,
    };
    let worse: Vec<_> = found.transitions.iter().filter(|one| one.kind.is_worse()).collect();
    let rows: String = worse.iter().take(NAMED).map(|one| change_row(&found, one)).collect();
    let more = match worse.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("<p class=\"soft\">and {more} more: <code>boxproof diff</code></p>\n"),
    };
    let table = match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"changes\">\n\
             <table class=\"figures\"><thead><tr><th scope=\"col\">case</th><th scope=\"col\">\
             backend</th><th scope=\"col\">change</th><th scope=\"col\">why</th></tr></thead>\n\
             <tbody>\n{rows}</tbody></table></div>\n"
        ),
    };
    format!(
        "<section><h2>What changed</h2>\n<p>Of {} results since the records before: {counts}.</p>\n\
         {table}{more}</section>\n",
        found.compared
    )
}

fn change_row(found: &Diff<'_>, one: &Transition<'_>) -> String {
    let why = one.after.map(|row| row.message.as_str()).unwrap_or_default();
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        text(one.id),
        text(&found.columns[one.column]),
        one.kind.heading(),
        text(why)
    )
}

fn badges(content: &SiteContent<'_>) -> String {
    let badge = |(name, _): (String, String)| {
        let stem = text(name.trim_end_matches(".json"));
        format!(
            "<li><img src=\"badge-{stem}.svg\" alt=\"{stem}\"> <code>badge-{stem}.svg</code>, for \
             shields.io <code>badge-{stem}.json</code></li>\n"
        )
    };
    let list: String = badge::of_profiles(content.matrix).into_iter().map(badge).collect();
    match list.is_empty() {
        true => String::new(),
        false => format!(
            "<section><h2>Badges</h2>\n<details><summary>one a backend and profile</summary>\n<ul \
             class=\"badges\">\n{list}</ul></details></section>\n"
        ),
    }
}
