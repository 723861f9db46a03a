//! The simple commands of a line with their words and redirections, nested shells unfolded
//! ([`commands`]). Parses only as much of the shell grammar as naming paths requires.

use std::iter::Peekable;
use std::str::Chars;

use boxproof_cases::protocol::Command;

use super::shell_functions;

/// The maximum depth of nested shells that are unfolded.
const DEEPEST: usize = 4;
/// The number of bytes of a line that are parsed.
const LONGEST: usize = 64 * 1024;

/// The operator between a command and the next one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum FollowingOperator {
    /// No operator, or one that ignores the exit status.
    #[default]
    Other,
    /// A pipe to the next one.
    Pipe,
    /// The next one is run if it fails.
    Or,
}

/// The file for discarded output.
pub(super) const NOTHING: &str = "/dev/null";

/// One program with its arguments, and where its streams go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ParsedCommand {
    /// Program first; its directory is left out.
    pub(super) words: Vec<String>,
    pub(super) writes: Vec<String>,
    pub(super) reads: Vec<String>,
    pub(super) then: FollowingOperator,
    /// Its stderr is discarded.
    pub(super) hushed: bool,
    /// Its stderr goes where another stream of it goes.
    pub(super) diverted: bool,
    /// Keywords that stood before it.
    pub(super) led: Vec<String>,
    /// It is a shell whose script was unfolded.
    pub(super) unfolded: bool,
    /// The text of a here-document.
    pub(super) document: Option<String>,
    /// It is the name of a function that the commands behind it make.
    pub(super) defines: bool,
}

impl ParsedCommand {
    /// Returns whether `keyword` precedes it.
    pub(super) fn is_led_by(&self, keyword: &str) -> bool {
        self.led.iter().any(|led| led == keyword)
    }

    /// Returns whether it ends its shell, or itself, with `status`.
    pub(super) fn exits_with(&self, status: i32) -> bool {
        match self.program() {
            "exit" | "return" => self.words.get(1).is_some_and(|word| word.parse() == Ok(status)),
            "false" => status == 1,
            _ => false,
        }
    }

    /// Returns the command as one of a function that is called with `arguments`.
    fn called_with(&self, arguments: &[String], hushed: bool) -> Self {
        let all = |words: &[String]| -> Vec<String> {
            let words = words.iter().flat_map(|word| match shell_functions::is_all(word) {
                true => arguments.to_vec(),
                false => vec![shell_functions::placed(word, arguments)],
            });
            words.collect()
        };
        let (words, writes, reads) = (all(&self.words), all(&self.writes), all(&self.reads));
        Self { words, writes, reads, hushed: self.hushed || hushed, ..self.clone() }
    }

    /// The program's name.
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }

    /// Arguments that are no options.
    pub(super) fn operands(&self) -> impl Iterator<Item = &str> {
        let args = self.words.iter().skip(1).map(String::as_str);
        args.filter(|word| !word.starts_with('-') || *word == "-")
    }

    /// Returns the subcommand of git, behind the options of git itself.
    pub(super) fn git_subcommand(&self) -> Option<&str> {
        let mut args = self.words.iter().skip(1).map(String::as_str);
        while let Some(word) = args.next() {
            match word {
                "-c" | "-C" => drop(args.next()),
                word if word.starts_with('-') => {}
                word => return Some(word),
            }
        }
        None
    }

    /// The word behind single letters of which `letter` is the last: `-so FILE`.
    pub(super) fn bundled(&self, letter: char) -> Option<&str> {
        let ends = |word: &String| {
            let letters = word.strip_prefix('-').filter(|rest| rest.len() > 1);
            letters.is_some_and(|letters| {
                letters.ends_with(letter) && letters.chars().all(|c| c.is_ascii_alphabetic())
            })
        };
        let at = self.words.iter().skip(1).position(ends)?;
        self.words.get(at + 2).map(String::as_str)
    }

    /// Returns the value of option `name`, which is a word of its own or part of the option's word.
    pub(super) fn option(&self, names: &[&str]) -> Option<&str> {
        let mut args = self.words.iter().skip(1);
        while let Some(word) = args.next() {
            for name in names {
                match word.strip_prefix(name) {
                    Some("") => return args.next().map(String::as_str),
                    Some(rest) if name.starts_with("--") => {
                        if let Some(value) = rest.strip_prefix('=') {
                            return Some(value);
                        }
                    }
                    Some(rest) if name.len() == 2 => return Some(rest),
                    _ => {}
                }
            }
        }
        None
    }
}

/// Returns the simple commands of `command`, and of the lines that it passes to other shells.
pub(super) fn commands(command: &Command) -> Vec<ParsedCommand> {
    let mut found = Vec::new();
    match command {
        Command::Shell(line) => shell(line, 0, &mut found),
        Command::Argv(argv) => {
            unfold(
                ParsedCommand { words: argv.clone(), ..ParsedCommand::default() },
                0,
                &mut found,
            );
        }
    }
    found
}

/// Returns the simple commands of one line.
pub(super) fn of_line(line: &str) -> Vec<ParsedCommand> {
    let mut found = Vec::new();
    shell(line, 0, &mut found);
    found
}

const WRAPPERS: [&str; 13] = [
    "env", "sudo", "time", "nice", "nohup", "command", "exec", "builtin", "timeout", "xargs",
    "stdbuf", "setsid", "doas",
];
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "busybox"];
const KEYWORDS: [&str; 12] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "fi", "done", "}"];

fn unfold(mut simple: ParsedCommand, depth: usize, found: &mut Vec<ParsedCommand>) {
    while let Some(first) = simple.words.first() {
        let assigns = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        });
        let wraps = WRAPPERS.contains(&simple.program()) && simple.words.len() > 1;
        if assigns || KEYWORDS.contains(&first.as_str()) {
            let word = simple.words.remove(0);
            simple.led.extend(Some(word).filter(|_| !assigns));
        } else if wraps {
            let timed = simple.program() == "timeout";
            simple.words.remove(0);
            while simple.words.len() > 1 && simple.words[0].starts_with('-') {
                simple.words.remove(0);
            }
            if timed && simple.words.len() > 1 {
                simple.words.remove(0);
            }
        } else {
            break;
        }
    }
    let script = SHELLS.contains(&simple.program()).then(|| script(&simple.words)).flatten();
    if let Some(script) = script.filter(|_| depth < DEEPEST) {
        shell(&script, depth + 1, found);
        simple.unfolded = true;
        if let Some(last) = found.last_mut() {
            last.then = simple.then;
        }
    }
    found.push(simple);
}

/// Returns the script that a shell is given with `-c`.
fn script(words: &[String]) -> Option<String> {
    let is_c =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = words.iter().position(is_c)?;
    words.get(at + 1).cloned()
}

/// The role of the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordTarget {
    Word,
    Write,
    Read,
    Nothing,
    /// The end of a here-document.
    Document,
}

struct CommandParser<'a> {
    found: &'a mut Vec<ParsedCommand>,
    depth: usize,
    now: ParsedCommand,
    word: Option<String>,
    next: WordTarget,
    /// The current redirection is one of stderr.
    of_stderr: bool,
    /// Words that end here-documents, which begin on the next line.
    ends: Vec<String>,
}

impl CommandParser<'_> {
    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.next, WordTarget::Word) {
            WordTarget::Word => self.now.words.push(word),
            WordTarget::Write => {
                self.now.hushed |= self.of_stderr;
                self.now.writes.push(word);
            }
            WordTarget::Read => self.now.reads.push(word),
            WordTarget::Document => {
                self.ends.push(word);
                self.now.document = Some(String::new());
            }
            WordTarget::Nothing => {
                let along = self.now.writes.iter().any(|to| to == NOTHING);
                self.now.hushed |= self.of_stderr && along;
                self.now.diverted |= self.of_stderr;
            }
        }
    }

    fn end_command(&mut self, then: FollowingOperator) {
        self.end_word();
        let mut now = std::mem::take(&mut self.now);
        if now != ParsedCommand::default() {
            now.then = then;
            unfold(now, self.depth, self.found);
        } else if let Some(last) =
            self.found.last_mut().filter(|_| then != FollowingOperator::Other)
        {
            // An operator behind brackets applies to the commands inside them.
            last.then = then;
        }
    }

    /// Gives `text` to the first command that waits for a here-document; a shell runs it.
    fn keep_document(&mut self, text: &str) {
        let waits = |one: &ParsedCommand| one.document.as_ref().is_some_and(String::is_empty);
        let Some(at) = self.found.iter().position(waits) else { return };
        let one = &mut self.found[at];
        one.document = Some(text.to_owned());
        let reads = one.words.iter().skip(1).all(|word| word.starts_with('-'));
        if SHELLS.contains(&one.program()) && reads && self.depth < DEEPEST {
            one.unfolded = true;
            shell(text, self.depth + 1, self.found);
        }
    }

    fn add(&mut self, ch: char) {
        self.word.get_or_insert_default().push(ch);
    }

    /// Reads a redirection sign; the word before it may be a descriptor.
    fn redirect(&mut self, next: WordTarget) {
        let number =
            self.word.as_ref().is_some_and(|w| w.chars().all(|c| c.is_ascii_digit() || c == '&'));
        let of_stderr = self.word.as_deref() == Some("2");
        if number {
            self.word = None;
        }
        self.end_word();
        self.of_stderr = of_stderr;
        self.next = next;
    }

    /// Reads what follows a `>`.
    fn redirect_output(&mut self, chars: &mut Peekable<Chars<'_>>) {
        self.redirect(WordTarget::Write);
        while chars.next_if(|c| matches!(c, '>' | '|')).is_some() {}
        if chars.next_if_eq(&'&').is_some() {
            let copied = chars.peek().is_some_and(|c| c.is_ascii_digit() || *c == '-');
            self.next = if copied { WordTarget::Nothing } else { WordTarget::Write };
        }
    }

    /// Reads what follows a `<`.
    fn redirect_input(&mut self, chars: &mut Peekable<Chars<'_>>) {
        self.redirect(WordTarget::Read);
        if chars.peek() == Some(&'(') {
            // A process substitution: a line follows.
            self.next = WordTarget::Word;
        } else if chars.next_if_eq(&'&').is_some() {
            self.next = WordTarget::Nothing;
            chars.next_if_eq(&'-');
        } else if chars.next_if_eq(&'<').is_some() {
            let is_word = chars.next_if_eq(&'<').is_some();
            self.next = if is_word { WordTarget::Nothing } else { WordTarget::Document };
            chars.next_if_eq(&'-');
        }
    }
}

/// Takes the text up to a line that is `end`.
fn document(chars: &mut impl Iterator<Item = char>, end: &str) -> String {
    let mut text = String::new();
    loop {
        let mut ended = false;
        let line: String = chars
            .by_ref()
            .take_while(|c| {
                ended = *c == '\n';
                !ended
            })
            .collect();
        if line.trim() == end || line.is_empty() && !ended {
            return text;
        }
        text.push_str(&line);
        text.push('\n');
    }
}

fn shell(line: &str, depth: usize, found: &mut Vec<ParsedCommand>) {
    let begin = found.len();
    split(line, depth, found);
    hush_groups(&mut found[begin..]);
    note_failures(&mut found[begin..]);
    if found[begin..].iter().any(|one| one.defines) {
        call_functions(found, begin);
    }
}

fn split(line: &str, depth: usize, found: &mut Vec<ParsedCommand>) {
    let mut chars = line.get(..line.len().min(LONGEST)).unwrap_or(line).chars().peekable();
    let mut parser = CommandParser {
        found,
        depth,
        now: ParsedCommand::default(),
        word: None,
        next: WordTarget::Word,
        of_stderr: false,
        ends: Vec::new(),
    };
    while let Some(ch) = chars.next() {
        match ch {
            '\'' => {
                parser.word.get_or_insert_default();
                chars.by_ref().take_while(|c| *c != '\'').for_each(|c| parser.add(c));
            }
            '"' => {
                parser.word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    let escaped = if c == '\\' { chars.next() } else { None };
                    parser.add(escaped.unwrap_or(c));
                }
            }
            '\\' => chars.next().into_iter().for_each(|c| parser.add(c)),
            '#' if parser.word.is_none() => {
                chars.by_ref().take_while(|c| *c != '\n').for_each(drop);
                parser.end_command(FollowingOperator::Other);
            }
            '>' => parser.redirect_output(&mut chars),
            '<' => parser.redirect_input(&mut chars),
            '&' if chars.peek() == Some(&'>') => {
                parser.end_word();
                parser.word = Some("2".to_owned());
            }
            '|' => {
                let is_or = chars.next_if_eq(&'|').is_some();
                parser.now.diverted |= chars.next_if_eq(&'&').is_some();
                let pipe = FollowingOperator::Pipe;
                parser.end_command(if is_or { FollowingOperator::Or } else { pipe });
            }
            '\n' if !parser.ends.is_empty() || parser.next == WordTarget::Document => {
                parser.end_command(FollowingOperator::Other);
                for end in std::mem::take(&mut parser.ends) {
                    let text = document(&mut chars, &end);
                    parser.keep_document(&text);
                }
            }
            '(' if chars.peek() == Some(&')') => {
                parser.now.defines = true;
                parser.end_command(FollowingOperator::Other);
            }
            ';' | '&' | '\n' | '(' | ')' | '`' => parser.end_command(FollowingOperator::Other),
            '$' if chars.peek() == Some(&'(') => parser.end_word(),
            c if c.is_whitespace() => parser.end_word(),
            c => parser.add(c),
        }
    }
    parser.end_command(FollowingOperator::Other);
}

/// Puts the commands of functions in the place of calls, from `begin` on, with the arguments that these give.
fn call_functions(found: &mut Vec<ParsedCommand>, begin: usize) {
    let mut known: Vec<(String, Vec<ParsedCommand>)> = Vec::new();
    let all = found.split_off(begin);
    let calls = all.iter().filter(|one| !one.defines).map(|one| one.program().to_owned());
    let calls: Vec<String> = calls.collect();
    let mut rest = all.into_iter().peekable();
    while let Some(one) = rest.next() {
        let (name, arguments) = (one.program().to_owned(), one.words.get(1..).unwrap_or_default());
        if one.defines && rest.peek().is_some_and(|next| next.is_led_by("{")) {
            let mut body = Vec::new();
            let mut depth = 0;
            for inner in rest.by_ref() {
                let led = |word| inner.led.iter().filter(|led| *led == word).count();
                depth += led("{");
                depth = depth.saturating_sub(led("}"));
                body.push(inner);
                if depth == 0 {
                    break;
                }
            }
            if !calls.contains(&name) {
                found.extend(body.iter().cloned());
            }
            known.push((name, body));
        } else if let Some((_, body)) = known.iter().rev().find(|(known, _)| *known == name) {
            let hushed = one.hushed;
            let mut called: Vec<ParsedCommand> =
                body.iter().map(|inner| inner.called_with(arguments, hushed)).collect();
            if let Some(last) = called.last_mut() {
                last.then = one.then;
            }
            found.extend(called);
        } else {
            found.push(one);
        }
    }
}

/// Takes the `||` from commands whose failure a variable notes: it is told later.
fn note_failures(found: &mut [ParsedCommand]) {
    for at in 1..found.len() {
        let next = &found[at];
        let notes = next.words.is_empty() && next.led.is_empty() && next.writes.is_empty();
        if notes && found[at - 1].then == FollowingOperator::Or {
            found[at - 1].then = FollowingOperator::Other;
        }
    }
}

/// Hushes the commands of brackets that are, and those behind an `exec` without a program that is. Where
/// the brackets begin is not known: commands before them that are not hushed would have been heard.
fn hush_groups(found: &mut [ParsedCommand]) {
    let closes = |one: &ParsedCommand| one.words.is_empty();
    if let Some(end) = found.iter().rposition(|one| one.hushed && closes(one)) {
        found[..end].iter_mut().for_each(|one| one.hushed = true);
    }
    if let Some(end) = found.iter().rposition(|one| one.diverted && closes(one)) {
        found[..end].iter_mut().for_each(|one| one.diverted = true);
    }
    let is_exec = |one: &ParsedCommand| one.words.len() == 1 && one.program() == "exec";
    if let Some(at) = found.iter().position(|one| one.hushed && is_exec(one)) {
        found[at..].iter_mut().for_each(|one| one.hushed = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("echo x > /etc/x 2>&1", "echo x|/etc/x|")]
    #[case("a 'b c' \"d\\\"e\" f\\ g", "a b c d\"e f g||")]
    #[case("cat < in >> out && b", "cat|out|in;b||")]
    #[case("X=1 sudo -n timeout 5 rm a", "rm a||")]
    #[case("bash -lc 'rm -rf x; ls'", "rm -rf x||;ls||;bash -lc rm -rf x; ls||")]
    #[case("a $(b c) | d # e > f", "a||;b c||;d||")]
    #[case("a &> f", "a|f|")]
    #[case("a <<E > f\nb c\nE\nd", "a|f|;d||")]
    #[case("a <<'E'; b\nc\nE", "a||;b||")]
    #[case("sh <<E\nb > f\nE\nd", "sh||;b|f|;d||")]
    #[case("a 2>/dev/null || exit 3", "a|/dev/null|;exit 3||")]
    fn lines_are_taken_apart(#[case] line: &str, #[case] due: &str) {
        let found = of_line(line)
            .into_iter()
            .map(|one| [one.words, one.writes, one.reads].map(|list| list.join(" ")).join("|"));
        assert_eq!(found.collect::<Vec<_>>().join(";"), due);
    }

    #[rstest]
    #[case("a | b", "a pipe,b")]
    #[case("a || b; c && d", "a or,b,c,d")]
    #[case("x=$(a) || b", "a or,b")]
    #[case("(a | b) || c", "a pipe,b or,c")]
    #[case("if ! a; then b; fi", "a if !,b then")]
    #[case("a 2>/dev/null", "a hushed")]
    #[case("a &>/dev/null", "a hushed")]
    #[case("a >/dev/null 2>&1", "a hushed")]
    #[case("a >/dev/null", "a")]
    #[case("a 2>f", "a hushed")]
    #[case("f() { a; }; b", "a {,b")]
    #[case("f() { a; }; f || b", "a {,b")]
    #[case("sh -c 'a | b' || c", "a pipe,b or,sh or,c")]
    fn what_stands_between_commands_is_kept(#[case] line: &str, #[case] due: &str) {
        let shown = |one: ParsedCommand| {
            let then = match one.then {
                FollowingOperator::Other => "",
                FollowingOperator::Pipe => " pipe",
                FollowingOperator::Or => " or",
            };
            let hushed = if one.hushed { " hushed" } else { "" };
            let led: String = one.led.iter().map(|word| format!(" {word}")).collect();
            format!("{}{then}{hushed}{led}", one.program())
        };
        let found = of_line(line).into_iter().filter(|one| !one.program().is_empty()).map(shown);
        assert_eq!(found.collect::<Vec<_>>().join(","), due);
    }
}
