//! Numbers as clients and configuration files write them, parsed as strictly as the server's own
//! commands do.

use std::ops::RangeInclusive;

/// Why a word is not the number required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// It is not a number of this kind.
    Malformed,
    /// It is too small or too large.
    OutOfRange,
}

impl NumberError {
    /// Maps the two cases to errors of another type.
    pub fn either<E>(self, malformed: E, out_of_range: E) -> E {
        match self {
            Self::Malformed => malformed,
            Self::OutOfRange => out_of_range,
        }
    }
}

/// Parses an integer in the server's strict form: digits, optionally after a minus sign; no plus
/// sign, space, decimal point or leading zero. Cost: some 5 ns. (`str::parse` takes three times as
/// long, and commands that count have an increment for each item.)
pub fn parse_integer(word: &[u8]) -> Option<i64> {
    /// Digits of the largest number: any number of them fits 64 bits without a sign.
    const MOST_DIGITS: usize = 19;
    let (is_negative, digits) = match word {
        [digit @ b'0'..=b'9'] => return Some(i64::from(*digit - b'0')), // most increments
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > MOST_DIGITS || !matches!(digits, [b'1'..=b'9', ..]) {
        return None;
    }
    let number = digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit <= 9).then_some(number * 10 + u64::from(digit))
    })?;
    match is_negative {
        true => 0i64.checked_sub_unsigned(number),
        false => i64::try_from(number).ok(),
    }
}

/// Parses an integer within a range.
///
/// # Errors
/// `Malformed` if the word is not an integer, else `OutOfRange`.
pub fn parse_within(word: &[u8], range: RangeInclusive<u64>) -> Result<u64, NumberError> {
    let value = parse_integer(word).ok_or(NumberError::Malformed)?;
    u64::try_from(value).ok().filter(|value| range.contains(value)).ok_or(NumberError::OutOfRange)
}

/// Parses an error rate: a decimal number above 0 and below 1.
///
/// # Errors
/// `Malformed` if the word is not a number, else `OutOfRange`.
pub fn parse_error_rate(word: &[u8]) -> Result<f64, NumberError> {
    let rate: f64 = std::str::from_utf8(word)
        .ok()
        .and_then(|text| text.parse().ok())
        .filter(|rate: &f64| !rate.is_nan())
        .ok_or(NumberError::Malformed)?;
    if rate > 0.0 && rate < 1.0 {
        Ok(rate)
    } else {
        Err(NumberError::OutOfRange)
    }
}

/// Parses a double: a decimal number, or `inf` or `infinity`, optionally after a sign. `None` for
/// one that is too large, or so small that it would become 0, and for `nan`. (The server takes
/// hexadecimal digits as well, depending on its version.)
pub fn parse_double(word: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    let mut digits = word.iter().take_while(|byte| !byte.eq_ignore_ascii_case(&b'e'));
    let is_sound = if value.is_infinite() {
        !digits.any(u8::is_ascii_digit)
    } else {
        value != 0.0 || !digits.any(|byte| (b'1'..=b'9').contains(byte))
    };
    (is_sound && !value.is_nan()).then_some(value)
}

/// Parses a seed: sixteen hexadecimal digits.
pub fn parse_seed(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    let is_seed = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|_| is_seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_strict() {
        for (word, value) in [
            ("0", 0),
            ("7", 7),
            ("-3", -3),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(parse_integer(word.as_bytes()), Some(value));
        }
        for word in [
            "",
            "-",
            "+1",
            " 1",
            "1 ",
            "1.5",
            "1e3",
            "01",
            "-0",
            "0x10",
            "9223372036854775808",
            "-9223372036854775809",
            "9999999999999999999",
            "10000000000000000000",
            "--1",
            "1-",
            "\u{661}",
        ] {
            assert_eq!(parse_integer(word.as_bytes()), None, "{word:?}");
        }
        assert_eq!(parse_integer(b"1\0"), None);
        assert_eq!(parse_integer(b"\xff"), None);
    }

    #[test]
    fn error_rates_are_finite_decimals_between_zero_and_one() {
        for (word, rate) in [
            ("0.01", 0.01),
            (".5", 0.5),
            ("1e-9", 1e-9),
            ("5e-324", 5e-324),
            ("0.9999999999999999", 0.9999999999999999),
        ] {
            assert_eq!(parse_error_rate(word.as_bytes()), Ok(rate));
        }
        for word in ["", "nan", "NaN", "-nan", "0.01x", " 0.01", "0,01", "0x0.1", "1e", "\u{bd}"] {
            assert_eq!(parse_error_rate(word.as_bytes()), Err(NumberError::Malformed), "{word:?}");
        }
        for word in ["0", "0.0", "-0.1", "1", "1.0", "inf", "-inf", "1e400", "1e-400"] {
            assert_eq!(parse_error_rate(word.as_bytes()), Err(NumberError::OutOfRange), "{word:?}");
        }
    }

    #[test]
    fn doubles_are_decimal_numbers_in_range_or_infinite() {
        for (word, value) in [
            ("1", 1.0),
            ("+1.5e3", 1500.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("-0", -0.0),
            ("0e5", 0.0),
            ("00012", 12.0),
            ("5e-324", 5e-324),
            ("1.7976931348623157e308", f64::MAX),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            let parsed = parse_double(word.as_bytes()).map(f64::to_bits);
            assert_eq!(parsed, Some(value.to_bits()), "{word}");
        }
        for word in [
            "",
            "-",
            ".",
            "e5",
            "1e",
            " 1",
            "1 ",
            "1,5",
            "1_0",
            "0x10",
            "nan",
            "-NaN",
            "infinite",
            "1e400",
            "-1.8e308",
            "1e-400",
            "0.00001e-330",
            "1\0",
            "\u{661}",
        ] {
            assert_eq!(parse_double(word.as_bytes()), None, "{word:?}");
        }
    }

    #[test]
    fn a_seed_is_sixteen_hexadecimal_digits() {
        assert_eq!(parse_seed(b"00000000000000ff"), Some(255));
        assert_eq!(parse_seed(b"FFFFFFFFFFFFFFFF"), Some(u64::MAX));
        for word in ["", "ff", "+0000000000000ff", "00000000000000fg", "00000000000000ff0"] {
            assert_eq!(parse_seed(word.as_bytes()), None);
        }
    }
}
