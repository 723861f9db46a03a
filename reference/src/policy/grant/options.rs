//! The options of a program, separated from its operands. An option that is not in its table is not
//! understood: a shortened name, too.

use super::word::{ShellWord, WordExpansion};

/// The options that a program may be given.
#[derive(Debug, Clone, Copy)]
pub(super) struct OptionTable {
    /// Options without a value, or with one behind `=`.
    pub(super) flags: &'static str,
    /// Options with a value, in the same word or in the next.
    pub(super) valued: &'static str,
}

/// The parsed arguments of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ParsedArguments {
    /// Arguments that are no options.
    pub(super) operands: Vec<ShellWord>,
    /// Options with a value: their names without dashes, and the value if it is known.
    pub(super) values: Vec<(String, Option<String>)>,
}

/// The reason why the arguments of a program are not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OptionError {
    /// This option is not in the table.
    Option(String),
    /// A word that may be an option is not known.
    Unknown,
}

impl OptionError {
    /// Returns the reason why `program` is not granted.
    pub(super) fn because(&self, program: &str) -> String {
        match self {
            Self::Option(name) => format!("{program} {name} is not known to be harmless"),
            Self::Unknown => format!("what {program} is given is not known"),
        }
    }
}

/// The continuation of an option.
enum OptionForm {
    Flag,
    Attached(String, String),
    Next(String),
}

impl OptionTable {
    /// Parses `words`, if all options among them are in the table.
    pub(super) fn read(self, words: &[ShellWord]) -> Result<ParsedArguments, OptionError> {
        let mut given = ParsedArguments::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if word.is_operand() {
                given.operands.push(word.clone());
            } else if word.known() == Some("--") {
                given.operands.extend(rest.by_ref().cloned());
            } else {
                match self.option(word)? {
                    OptionForm::Flag => {}
                    OptionForm::Attached(name, value) => given.values.push((name, Some(value))),
                    OptionForm::Next(name) => {
                        let value = rest.next();
                        if value.is_some_and(|value| !value.is_one()) {
                            return Err(OptionError::Unknown);
                        }
                        let known = value.and_then(ShellWord::known).map(str::to_owned);
                        given.values.push((name, known));
                    }
                }
            }
        }
        Ok(given)
    }

    fn option(self, word: &ShellWord) -> Result<OptionForm, OptionError> {
        let letters = word.text.strip_prefix('-').ok_or(OptionError::Unknown)?;
        match letters.strip_prefix('-') {
            Some(long) => self.long(word, long),
            None if word.rest != WordExpansion::Nothing => Err(OptionError::Unknown),
            None => self.short(letters),
        }
    }

    fn long(self, word: &ShellWord, long: &str) -> Result<OptionForm, OptionError> {
        let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
        if word.rest != WordExpansion::Nothing && !(word.is_one() && value.is_some()) {
            return Err(OptionError::Unknown);
        }
        match (has(self.flags, name), has(self.valued, name), value) {
            (true, ..) => Ok(OptionForm::Flag),
            (_, true, Some(value)) => Ok(OptionForm::Attached(name.to_owned(), value.to_owned())),
            (_, true, None) => Ok(OptionForm::Next(name.to_owned())),
            _ if fault!("grants.unknown-options") => Ok(OptionForm::Flag),
            _ => Err(OptionError::Option(format!("--{name}"))),
        }
    }

    /// Parses the letters behind one dash; the first option with a value takes the rest.
    fn short(self, letters: &str) -> Result<OptionForm, OptionError> {
        for (at, letter) in letters.char_indices() {
            let name = letter.to_string();
            if has(self.valued, &name) {
                let value = &letters[at + letter.len_utf8()..];
                return Ok(match value.is_empty() {
                    true => OptionForm::Next(name),
                    false => OptionForm::Attached(name, value.to_owned()),
                });
            }
            if !has(self.flags, &name) {
                return Err(OptionError::Option(format!("-{name}")));
            }
        }
        Ok(OptionForm::Flag)
    }
}

fn has(table: &str, name: &str) -> bool {
    table.split_ascii_whitespace().any(|one| one == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const TABLE: OptionTable = OptionTable { flags: "q quiet soft", valued: "m message" };

    fn parsed_words(line: &str) -> Vec<ShellWord> {
        super::super::parse::parse(line).unwrap().remove(0).words
    }

    #[rstest]
    #[case("-q a b", 2, 0)]
    #[case("-m --hard a", 1, 1)]
    #[case("-qm x", 0, 1)]
    #[case("-mx -q", 0, 1)]
    #[case("--message=\"$x\"", 0, 1)]
    #[case("--message \"$x\" a", 1, 1)]
    #[case("--quiet -- --hard $x", 2, 0)]
    fn options_are_told_from_operands(
        #[case] line: &str,
        #[case] operands: usize,
        #[case] values: usize,
    ) {
        let given = TABLE.read(&parsed_words(line)).unwrap();
        assert_eq!((given.operands.len(), given.values.len()), (operands, values));
    }

    #[rstest]
    #[case("--hard", "--hard")]
    #[case("--har", "--har")]
    #[case("-qf", "-f")]
    #[case("a --qui", "--qui")]
    fn what_is_not_in_the_table_is_odd(#[case] line: &str, #[case] option: &str) {
        assert_eq!(TABLE.read(&parsed_words(line)), Err(OptionError::Option(option.to_owned())));
    }

    #[rstest]
    #[case("$x")]
    #[case("\"$x\"")]
    #[case("*")]
    #[case("-m $x")]
    #[case("-m *")]
    #[case("--message=$x")]
    #[case("-m\"$x\"")]
    #[case("-$x")]
    fn a_word_that_may_be_an_option_is_odd(#[case] line: &str) {
        assert_eq!(TABLE.read(&parsed_words(line)), Err(OptionError::Unknown));
    }
}
