//! Foreign text in HTML: inert in markup ([`text`], [`id`]), in a script's data ([`json`]), in a
//! style sheet ([`css`]) and in a link to this page ([`query`]).

use std::fmt::Write;

use crate::text::clean;

/// `text` on one line, for element content and quoted attributes.
pub(super) fn text(text: &str) -> String {
    markup(&clean(text))
}

/// A case id, which may be broken after each slash.
pub(super) fn id(id: &str) -> String {
    text(id).replace('/', "/<wbr>")
}

/// `text` with its lines, every other control character made visible. Not yet escaped.
pub(super) fn lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Characters that mean something to HTML, as entities.
pub(super) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Two of them open a command to a CI runner.
            ':' if chars.peek() == Some(&':') => out.push_str("&#58;"),
            '#' if chars.peek() == Some(&'#') => out.push_str("&#35;"),
            c => out.push(c),
        }
    }
    out
}

/// JSON that cannot end the script element it stands in. These characters occur in JSON only
/// within strings, where the escape means the same.
pub(super) fn json(value: &serde_json::Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '#' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// `text` as a CSS string: letters and digits, everything else as six hex digits.
pub(super) fn css(text: &str) -> String {
    let escaped = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_string(),
        c => format!("\\{:06x}", c as u32),
    };
    format!("\"{}\"", clean(text).chars().map(escaped).collect::<String>())
}

/// `text` as a value in the part of an address behind the `#`.
pub(super) fn query(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) => char::from(byte).into(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_stands_for_itself() {
        assert_eq!(
            text("</script><img onerror=\"a\" x='&'>\n"),
            "&lt;/script&gt;&lt;img onerror=&quot;a&quot; x=&#39;&amp;&#39;&gt;\\n"
        );
        assert_eq!(text(":::a: ##[b]"), "&#58;&#58;:a: &#35;#[b]");
        assert_eq!(text("\0\x1b[2J\u{202e}"), "\\u{0}\\u{1b}[2J\\u{202e}");
        assert_eq!(id("fs/a<b"), "fs/<wbr>a&lt;b");
        assert_eq!(lines("a\0\n\n\tb\r\n"), "a\\u{0}\n\n b\\r\n");
    }

    #[test]
    fn json_cannot_end_its_script_and_keeps_its_meaning() {
        let value = serde_json::json!({"</script>": "<!-- & \u{2028}\u{2029} \" \\"});
        let text = json(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn css_and_links_cannot_be_left() {
        assert_eq!(css("a\"};</style>"), r#""a\000022\00007d\00003b\00003c\00002fstyle\00003e""#);
        assert_eq!(query("a b&c=é#"), "a%20b%26c%3D%C3%A9%23");
    }
}
