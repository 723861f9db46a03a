//! A badge as a picture, for pages that load nothing from elsewhere.

use serde_json::Value;

use super::super::escape::text;

/// The width of a character, about, and the room beside a text.
const CHARACTER: usize = 7;
const ROOM: usize = 10;

/// Draws the badge that `json`, an endpoint of shields.io, describes.
pub(super) fn svg(json: &str) -> String {
    let badge: Value = serde_json::from_str(json).unwrap_or_default();
    let part = |name: &str| badge[name].as_str().unwrap_or_default();
    let (label, message) = (part("label"), part("message"));
    let color = match part("color") {
        "brightgreen" => "#0f5f2c",
        "yellow" => "#665000",
        "orange" => "#8a3f00",
        _ => "#9c1420",
    };
    let width = |text: &str| text.chars().count() * CHARACTER + ROOM;
    let (left, right) = (width(label), width(message));
    let (label, message) = (text(label), text(message));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"20\" role=\"img\" \
         aria-label=\"{label}: {message}\">\n\
         <rect width=\"{left}\" height=\"20\" fill=\"#444\"/>\n\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{color}\"/>\n\
         <g fill=\"#fff\" font-family=\"Verdana,sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n\
         <text x=\"{}\" y=\"14\">{label}</text>\n<text x=\"{}\" y=\"14\">{message}</text>\n</g>\n</svg>\n",
        left + right,
        left / 2,
        left + right / 2
    )
}
