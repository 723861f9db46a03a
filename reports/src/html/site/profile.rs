//! A page a profile: who meets it, and what keeps the others from it.

use super::super::escape::{query, text};
use super::index::standing_class;
use super::page::{file_names, frame};
use super::{SiteContent, SiteFile};
use crate::profile::{self, ProfileStanding};

pub(super) fn pages(content: &SiteContent<'_>) -> Vec<SiteFile> {
    let standings = profile::table(content.matrix);
    let mut names: Vec<&str> = standings.iter().map(|standing| standing.profile).collect();
    names.dedup();
    let files = file_names("profile", names.iter().copied());
    let page = |(name, file): (&&str, String)| {
        let own = standings.iter().filter(|standing| standing.profile == *name);
        let sections: String = own.map(|standing| section(content, standing)).collect();
        let body = format!("<h2>Profile {}</h2>\n{sections}", text(name));
        SiteFile { name: file, text: frame(&format!("profile {name}"), &body) }
    };
    names.iter().zip(files).map(page).collect()
}

fn section(content: &SiteContent<'_>, standing: &ProfileStanding<'_>) -> String {
    let label = &content.matrix.columns[standing.column].label;
    let rest = [(standing.not_applicable, "not applicable here"), (standing.unasked, "not asked")];
    let rest: String = rest
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    format!(
        "<section><h3><a href=\"{}\">{}</a> <span class=\"chip {}\">{}</span></h3>\n\
         <p>{} of {} required cases pass{rest}.</p>\n{}{}</section>\n",
        content.backend_files[standing.column],
        text(label),
        standing_class(standing.standing),
        standing.standing.standing_label(),
        standing.passed,
        standing.required,
        list("amiss", &standing.failing, label),
        list("known to fail", &standing.exceptions, label)
    )
}

fn list(what: &str, ids: &[&str], label: &str) -> String {
    if ids.is_empty() {
        return String::new();
    }
    let item = |id: &&str| {
        let (case, column) = (query(id), query(label));
        format!("<li><a href=\"matrix.html#cell={case}&amp;at={column}\">{}</a></li>\n", text(id))
    };
    let items: String = ids.iter().map(item).collect();
    let count = ids.len();
    format!(
        "<details><summary>{count} {what}</summary>\n<ul class=\"cases\">\n{items}</ul></details>\n"
    )
}
