//! Scripts of `sed` that only show lines or replace texts: other orders write files of their own, or
//! run programs.

use super::git_paths;
use super::options::OptionTable;
use super::word::ShellWord;

/// Judges whether `sed words` leaves repositories alone.
pub(super) fn judge(words: &[ShellWord]) -> Result<(), String> {
    let in_place = words.first().is_some_and(|word| word.known() == Some("-i"));
    let words = if in_place { &words[1..] } else { words };
    let given = OptionTable { flags: "n E r s u z", valued: "" }.read(words);
    let given = given.map_err(|odd| odd.because("sed"))?;
    let Some((script, files)) = given.operands.split_first() else {
        return Err("what sed does is not known".to_owned());
    };
    if !script.known().is_some_and(is_plain) {
        return Err("what a script of sed does is not known".to_owned());
    }
    match in_place {
        true => files.iter().try_for_each(git_paths::written),
        false => Ok(()),
    }
}

/// Returns whether `script` has only orders like `1,3p`, `/text/d` and `s/text/other/g`.
fn is_plain(script: &str) -> bool {
    let mut rest = script.trim();
    loop {
        let Some(after) = order(rest) else { return false };
        match after.trim_start().strip_prefix(';') {
            Some(more) if !more.trim().is_empty() => rest = more.trim_start(),
            Some(_) => return true,
            None => return after.trim().is_empty(),
        }
    }
}

/// Returns the rest behind the first order of `script`.
fn order(script: &str) -> Option<&str> {
    let line = |text: &str| text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '$').len();
    let mut rest = &script[script.len() - line(script)..];
    if let Some(second) = rest.strip_prefix(',').filter(|_| rest.len() < script.len()) {
        rest = &second[second.len() - line(second)..];
    } else if let Some(text) = script.strip_prefix('/') {
        rest = text_to(text, '/')?;
    }
    let mut signs = rest.chars();
    match signs.next()? {
        'p' | 'd' | 'q' => Some(signs.as_str()),
        's' => {
            let mark = signs.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
            let other = text_to(signs.as_str(), mark)?;
            let flags = text_to(other, mark)?;
            Some(flags.trim_start_matches(|c: char| c.is_ascii_digit() || "giIp".contains(c)))
        }
        _ => None,
    }
}

/// Returns the rest behind the `mark` that ends a text.
fn text_to(text: &str, mark: char) -> Option<&str> {
    let mut signs = text.chars();
    loop {
        match signs.next()? {
            '\n' => return None,
            '\\' => _ = signs.next()?,
            c if c == mark => return Some(signs.as_str()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("s/a/b/", true)]
    #[case("s/a/b/g", true)]
    #[case("s|a/b|c|", true)]
    #[case("s/a\\/b/c/; s/x/y/2", true)]
    #[case("1,5p", true)]
    #[case("$d", true)]
    #[case("3q", true)]
    #[case("/^#/d", true)]
    #[case("s/a/b/e", false)]
    #[case("s/a/b/w .git/HEAD", false)]
    #[case("s/a/b/;w .git/HEAD", false)]
    #[case("w .git/HEAD", false)]
    #[case("1w .git/HEAD", false)]
    #[case("e rm -rf .git", false)]
    #[case("1e", false)]
    #[case("s/a/b", false)]
    #[case("r f", false)]
    #[case("1{w x\n}", false)]
    #[case("s/a/b/\nw x", false)]
    #[case("/a/w x", false)]
    #[case("", false)]
    #[case("s/a/b/;", true)]
    #[case(",3p", false)]
    #[case("sxaxbx", false)]
    #[case("s/a\nb/c/", false)]
    fn scripts(#[case] script: &str, #[case] plain: bool) {
        assert_eq!(super::is_plain(script), plain);
    }
}
