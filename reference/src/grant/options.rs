//! The options of a program, separated from its operands. An option that is not in its table is not
//! understood: a shortened name, too.

use super::word::{Rest, Word};

/// The options that a program may be given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Options without a value, or with one behind `=`.
    pub(super) flags: &'static str,
    /// Options with a value, in the same word or in the next.
    pub(super) valued: &'static str,
}

/// The parsed arguments of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// Arguments that are no options.
    pub(super) operands: Vec<Word>,
    /// Options with a value: their names without dashes, and the value if it is known.
    pub(super) values: Vec<(String, Option<String>)>,
}

/// The reason why the arguments of a program are not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Odd {
    /// This option is not in the table.
    Option(String),
    /// A word that may be an option is not known.
    Unknown,
}

impl Odd {
    /// Returns the reason why `program` is not granted.
    pub(super) fn because(&self, program: &str) -> String {
        match self {
            Self::Option(name) => format!("{program} {name} is not known to be harmless"),
            Self::Unknown => format!("what {program} is given is not known"),
        }
    }
}

/// The continuation of an option.
enum Taken {
    Flag,
    Attached(String, String),
    Next(String),
}

impl Options {
    /// Parses `words`, if all options among them are in the table.
    pub(super) fn read(self, words: &[Word]) -> Result<Given, Odd> {
        let mut given = Given::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if word.is_operand() {
                given.operands.push(word.clone());
            } else if word.known() == Some("--") {
                given.operands.extend(rest.by_ref().cloned());
            } else {
                match self.option(word)? {
                    Taken::Flag => {}
                    Taken::Attached(name, value) => given.values.push((name, Some(value))),
                    Taken::Next(name) => {
                        let value = rest.next();
                        if value.is_some_and(|value| !value.is_one()) {
                            return Err(Odd::Unknown);
                        }
                        let known = value.and_then(Word::known).map(str::to_owned);
                        given.values.push((name, known));
                    }
                }
            }
        }
        Ok(given)
    }

    fn option(self, word: &Word) -> Result<Taken, Odd> {
        let letters = word.text.strip_prefix('-').ok_or(Odd::Unknown)?;
        match letters.strip_prefix('-') {
            Some(long) => self.long(word, long),
            None if word.rest != Rest::Nothing => Err(Odd::Unknown),
            None => self.short(letters),
        }
    }

    fn long(self, word: &Word, long: &str) -> Result<Taken, Odd> {
        let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
        if word.rest != Rest::Nothing && !(word.is_one() && value.is_some()) {
            return Err(Odd::Unknown);
        }
        match (has(self.flags, name), has(self.valued, name), value) {
            (true, ..) => Ok(Taken::Flag),
            (_, true, Some(value)) => Ok(Taken::Attached(name.to_owned(), value.to_owned())),
            (_, true, None) => Ok(Taken::Next(name.to_owned())),
            _ => Err(Odd::Option(format!("--{name}"))),
        }
    }

    /// Parses the letters behind one dash; the first option with a value takes the rest.
    fn short(self, letters: &str) -> Result<Taken, Odd> {
        for (at, letter) in letters.char_indices() {
            let name = letter.to_string();
            if has(self.valued, &name) {
                let value = &letters[at + letter.len_utf8()..];
                return Ok(match value.is_empty() {
                    true => Taken::Next(name),
                    false => Taken::Attached(name, value.to_owned()),
                });
            }
            if !has(self.flags, &name) {
                return Err(Odd::Option(format!("-{name}")));
            }
        }
        Ok(Taken::Flag)
    }
}

fn has(table: &str, name: &str) -> bool {
    table.split_ascii_whitespace().any(|one| one == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const TABLE: Options = Options { flags: "q quiet soft", valued: "m message" };

    fn words(line: &str) -> Vec<Word> {
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
        let given = TABLE.read(&words(line)).unwrap();
        assert_eq!((given.operands.len(), given.values.len()), (operands, values));
    }

    #[rstest]
    #[case("--hard", "--hard")]
    #[case("--har", "--har")]
    #[case("-qf", "-f")]
    #[case("a --qui", "--qui")]
    fn what_is_not_in_the_table_is_odd(#[case] line: &str, #[case] option: &str) {
        assert_eq!(TABLE.read(&words(line)), Err(Odd::Option(option.to_owned())));
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
        assert_eq!(TABLE.read(&words(line)), Err(Odd::Unknown));
    }
}
