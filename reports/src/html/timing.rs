//! Timing beside the matrix ([`section`]): a plot a lane, and every lane in a table. Plots are
//! markup of our own; only numbers go into them.

use super::escape::text;
use crate::timing::{
    CriterionEstimate, LaneResult, TimingLane, TimingMeasurement, TimingRecord, TimingVerdict,
    time_text, value_text,
};

/// The width of a plot, and of the names in it.
const WIDTH: f64 = 720.0;
const NAMES: f64 = 210.0;
/// The height of a row.
const ROW: f64 = 22.0;
/// The ratios at the edges of a plot: a half and the double.
const EDGE: f64 = std::f64::consts::LN_2;

/// Renders the sections of all records.
pub(super) fn section(records: &[TimingRecord]) -> String {
    if records.is_empty() {
        return String::new();
    }
    let records: String = records.iter().map(one_record).collect();
    format!(
        "<section id=\"timing\">\n<h2>Timing</h2>\n<p class=\"soft\">New program by old, with the \
         interval over blocks; grey is the old program against itself, and the band is what may \
         be.</p>\n{records}</section>\n"
    )
}

fn one_record(record: &TimingRecord) -> String {
    let header = &record.header;
    let program = |name: &str, version: &str, sha256: &str| {
        format!("{} {} <code>{}</code>", text(name), text(version), text(sha256))
    };
    let (base, head) = (&header.base, &header.head);
    let plots: String = TimingLane::ALL.into_iter().map(|lane| plot(record, lane)).collect();
    format!(
        "<h3>{}</h3>\n<dl><dt>old</dt><dd>{}</dd><dt>new</dt><dd>{}</dd><dt>measured</dt>\
         <dd>{}</dd></dl>\n{plots}{}",
        text(&header.backend),
        program(&base.program, &base.version, &base.sha256),
        program(&head.program, &head.version, &head.sha256),
        text(&header.started),
        table(record)
    )
}

/// Draws the intervals of one lane; nothing where no measurement has one.
fn plot(record: &TimingRecord, lane: TimingLane) -> String {
    let rows: Vec<(&TimingMeasurement, &LaneResult)> = record
        .lanes()
        .filter(|(_, result)| result.lane == lane && result.ratio.is_some())
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let height = ROW * (rows.len() + 1) as f64;
    let margin = lane.margin();
    let (low, high) = (place(1.0 / (1.0 + margin)), place(1.0 + margin));
    let mut out = format!(
        "<figure class=\"plot\"><figcaption>{}</figcaption>\n<svg role=\"img\" aria-label=\"new by \
         old in the lane {}\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\">\n<rect class=\"band\" x=\"{low:.1}\" y=\"0\" width=\"{:.1}\" \
         height=\"{height}\"/>\n",
        lane.keyword(),
        lane.keyword(),
        high - low
    );
    for tick in [0.5, 0.8, 1.0, 1.25, 2.0] {
        let (x, y) = (place(tick), height - 6.0);
        out += &format!("<line class=\"axis\" x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{y}\"/>\n");
        out += &format!("<text class=\"tick\" x=\"{x:.1}\" y=\"{y}\">{tick}</text>\n");
    }
    for (index, (measurement, result)) in rows.into_iter().enumerate() {
        out += &plot_row(&measurement.id, result, ROW * index as f64);
    }
    out + "</svg></figure>\n"
}

fn plot_row(id: &str, lane: &LaneResult, top: f64) -> String {
    let (middle, class) = (top + ROW / 2.0, verdict_class(lane.verdict));
    let bar = |class: &str, low: f64, high: f64, y: f64| {
        let (low, high) = (place(low), place(high));
        format!(
            "<line class=\"{class}\" x1=\"{low:.1}\" y1=\"{y:.1}\" x2=\"{high:.1}\" y2=\"{y:.1}\"/>"
        )
    };
    let mut out = format!("<text x=\"0\" y=\"{:.1}\">{}</text>", middle + 4.0, text(id));
    for block in &lane.blocks {
        let ratio = ((block.head[0] * block.head[1]) / (block.base[0] * block.base[1])).sqrt();
        let (x, y) = (place(ratio), middle);
        out += &format!("<circle class=\"block\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.5\"/>");
    }
    if let Some(control) = lane.control {
        out += &bar("control", control.low, control.high, middle + 5.0);
    }
    if let Some(ratio) = lane.ratio {
        let (low, high) = (ratio.low, ratio.high);
        out += &bar(&format!("interval {class}"), low, high, middle);
        let (x, word) = (place(ratio.estimate), lane.verdict.name());
        let title = format!("{word}: {:.3} [{low:.3}, {high:.3}]", ratio.estimate);
        out += &format!(
            "<circle class=\"estimate {class}\" cx=\"{x:.1}\" cy=\"{middle:.1}\" r=\"4\">\
             <title>{title}</title></circle>"
        );
    }
    out + "\n"
}

/// The place of a ratio on the axis, which is logarithmic and ends at its edges.
fn place(ratio: f64) -> f64 {
    let log = if ratio > 0.0 { ratio.ln().clamp(-EDGE, EDGE) } else { -EDGE };
    let half = (WIDTH - NAMES) / 2.0 - 14.0;
    NAMES + 14.0 + half + half * log / EDGE
}

fn verdict_class(verdict: TimingVerdict) -> &'static str {
    match verdict {
        TimingVerdict::Regression => "under-block",
        TimingVerdict::Changed => "contract",
        TimingVerdict::Inconclusive => "inconclusive",
        TimingVerdict::NotWorse | TimingVerdict::Equivalent | TimingVerdict::Improvement => "pass",
        TimingVerdict::Unavailable => "plain",
    }
}

/// Lists every lane, with what criterion estimates from the same samples.
fn table(record: &TimingRecord) -> String {
    let mut out = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"timing\">\n\
                   <table class=\"figures\"><thead><tr>"
        .to_owned();
    let heads =
        ["measurement", "lane", "verdict", "old", "new", "ratio", "A/A", "criterion mean", "note"];
    out.extend(heads.map(|head| format!("<th scope=\"col\">{head}</th>")));
    out += "</tr></thead>\n<tbody>\n";
    for measurement in &record.measurements {
        if let Some(fault) = &measurement.fault {
            let (id, reason) = (text(&measurement.id), text(&fault.reason));
            out += &format!(
                "<tr><th scope=\"row\">{id}</th><td colspan=\"8\">not measured: {reason}</td></tr>\n"
            );
        }
        out.extend(measurement.lanes.iter().map(|lane| lane_row(&measurement.id, lane)));
    }
    out + "</tbody></table></div>\n"
}

fn lane_row(id: &str, lane: &LaneResult) -> String {
    let interval = |found: Option<crate::timing::RatioInterval>| {
        found.map_or(String::new(), |found| {
            unbroken(&format!("{:.3} [{:.3}, {:.3}]", found.estimate, found.low, found.high))
        })
    };
    let value = |value: f64| match lane.verdict {
        TimingVerdict::Unavailable => String::new(),
        _ => text(&unbroken(&value_text(value, &lane.unit))),
    };
    let mean = lane.criterion.as_ref().map_or(String::new(), |found| {
        format!("{} → {}", estimate(found.base.get("mean")), estimate(found.head.get("mean")))
    });
    let calls = lane.calls.iter().map(|change| {
        let (call, base, head) = (text(&change.call), change.base[0], change.head[0]);
        format!("{call} {base} → {head}")
    });
    let notes: Vec<String> = lane.reason.iter().map(|reason| text(reason)).chain(calls).collect();
    let (word, class) = (lane.verdict.name(), verdict_class(lane.verdict));
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td><span class=\"chip {class}\">{word}</span>\
         </td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{mean}</td><td>{}</td></tr>\n",
        text(id),
        lane.lane.keyword(),
        value(lane.base),
        value(lane.head),
        interval(lane.ratio),
        interval(lane.control),
        notes.join("; ")
    )
}

/// Returns `figures` so that no line ends within them.
fn unbroken(figures: &str) -> String {
    figures.replace(' ', "\u{a0}")
}

fn estimate(found: Option<&CriterionEstimate>) -> String {
    found.map_or("?".to_owned(), |found| {
        let [point, low, high] = [found.point, found.low, found.high].map(time_text);
        unbroken(&format!("{point} [{low}, {high}]"))
    })
}
