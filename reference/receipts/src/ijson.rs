//! Numbers that every JSON reader takes for the same (RFC 7493, section 2.2).

/// The largest integer that a double distinguishes from its neighbours.
pub(crate) const MOST: u64 = (1 << 53) - 1;

/// The magnitude from which the canonical text of a double is no integer.
const EXPONENT: f64 = 1e21;

/// Refuses a JSON text with an integer that some readers round.
pub(crate) fn check(text: &[u8]) -> Result<(), String> {
    inexact(text).map_or(Ok(()), |number| Err(complaint(number)))
}

/// Returns the message about such a number.
pub(crate) fn complaint(number: &str) -> String {
    format!("the number {number} is beyond {MOST}: not every reader takes it for the same")
}

/// The first such number in `text`, which is JSON.
pub(crate) fn inexact(text: &[u8]) -> Option<&str> {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at += string(&text[at..]),
            b'-' | b'0'..=b'9' => {
                let number = number(&text[at..]);
                if !is_exact(number) {
                    return Some(number);
                }
                at += number.len();
            }
            _ => at += 1,
        }
    }
    None
}

/// Returns the length of the string that `text` begins with, quotes included.
fn string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// The number that `text` begins with.
fn number(text: &[u8]) -> &str {
    let of_number = |byte: &u8| matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E' | b'0'..=b'9');
    let length = text.iter().take_while(|byte| of_number(byte)).count();
    std::str::from_utf8(&text[..length]).unwrap_or_default()
}

fn is_exact(number: &str) -> bool {
    let digits = number.trim_start_matches('-');
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.parse::<u64>().is_ok_and(|integer| integer <= MOST);
    }
    let value = number.parse::<f64>().map_or(f64::NAN, f64::abs);
    let is_integer = value.fract() == 0.0 && value < EXPONENT;
    !is_integer || value <= MOST as f64
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("9007199254740991", None)]
    #[case("-9007199254740991", None)]
    #[case("9007199254740992", Some("9007199254740992"))]
    #[case("-9007199254740993", Some("-9007199254740993"))]
    #[case("18446744073709551616", Some("18446744073709551616"))]
    #[case("1000000000000000000000001", Some("1000000000000000000000001"))]
    #[case("9007199254740993.0", Some("9007199254740993.0"))]
    #[case("1e16", Some("1e16"))]
    #[case("1e21", None)]
    #[case("9.5E-7", None)]
    #[case("0.1", None)]
    #[case("-0", None)]
    #[case(r#""9007199254740993""#, None)]
    #[case(r#"{"\"9007199254740993":[1,{"a\\":9007199254740993}]}"#, Some("9007199254740993"))]
    #[case(r#"["\\\"",9007199254740994 , 1]"#, Some("9007199254740994"))]
    fn integers_that_not_every_reader_reads(#[case] text: &str, #[case] found: Option<&str>) {
        assert_eq!(inexact(text.as_bytes()), found);
    }
}
