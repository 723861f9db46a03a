//! Foreign text in Markdown: inert in a table cell ([`text`], [`code`]) or a fence ([`fence`]).

use crate::text::clean;

/// Characters that mean something to Markdown within a line.
const SPECIAL: &[char] = &['\\', '`', '*', '_', '[', ']', '|', '~', '!', '#', '@', '$'];

/// `text` on one line, every character standing for itself.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if SPECIAL.contains(&c) => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// `text` as code. A code span cannot hold every character, an HTML element with entities can.
pub(crate) fn code(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _-./:=+,".contains(c);
    let cleaned = clean(text);
    if !cleaned.is_empty() && cleaned.trim() == cleaned && cleaned.chars().all(plain) {
        return format!("`{cleaned}`");
    }
    let entity =
        |c: char| if plain(c) && c != '_' { c.to_string() } else { format!("&#{};", c as u32) };
    format!("<code>{}</code>", cleaned.chars().map(entity).collect::<String>())
}

/// Lines of `text` in a fence that none of them can close.
pub(super) fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_for_itself() {
        assert_eq!(text("a|b `c` <d> *e*\n[f](g)"), r"a\|b \`c\` &lt;d&gt; \*e\*\\n\[f\](g)");
        assert_eq!(text("plain words, and more."), "plain words, and more.");
    }

    #[test]
    fn code_cannot_be_left() {
        assert_eq!(code("fs/write_a"), "`fs/write_a`");
        assert_eq!(code("a|`b`"), "<code>a&#124;&#96;b&#96;</code>");
        assert_eq!(code("</code>"), "<code>&#60;/code&#62;</code>");
        assert_eq!(code(""), "<code></code>");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence("a\n"), "```text\na\n```\n");
        assert_eq!(fence("a\n````\nb"), "`````text\na\n````\nb\n`````\n");
    }
}
