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
    /// The number of digits of the largest integer: any 19 digits fit 64 bits without a sign.
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

/// Parses an error rate: a decimal or hexadecimal number above 0 and below 1.
///
/// # Errors
/// `Malformed` if the word is not a number, else `OutOfRange`.
pub fn parse_error_rate(word: &[u8]) -> Result<f64, NumberError> {
    let rate = parse_real(word).ok_or(NumberError::Malformed)?;
    if rate > 0.0 && rate < 1.0 {
        Ok(rate)
    } else {
        Err(NumberError::OutOfRange)
    }
}

/// Parses a double: a decimal or hexadecimal number, or `inf` or `infinity`, optionally after a
/// sign. `None` for one that is too large, or so small that it would become 0, and for `nan`.
pub fn parse_double(word: &[u8]) -> Option<f64> {
    let value = parse_real(word)?;
    let mut digits = word.iter().take_while(|byte| !matches!(byte, b'e' | b'E' | b'p' | b'P'));
    let is_sound = if value.is_infinite() {
        !digits.any(u8::is_ascii_digit)
    } else {
        value != 0.0 || !digits.any(|byte| (b'1'..=b'9').contains(byte))
    };
    is_sound.then_some(value)
}

/// Parses a number as C's `strtod` does, which servers use: decimal, hexadecimal, or infinite.
/// `None` for `nan`.
fn parse_real(word: &[u8]) -> Option<f64> {
    let (is_negative, digits) = match word {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if let [b'0', b'x' | b'X', digits @ ..] = digits {
        let value = parse_hexadecimal(digits)?;
        return Some(if is_negative { -value } else { value });
    }
    let value: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (!value.is_nan()).then_some(value)
}

/// Larger exponents count as this one. Those of doubles reach some 1 100; the rest allows for zeros
/// before the first digit.
const MOST_EXPONENT: i64 = 1_000_000;

/// Parses what follows `0x`, as in `1.8p3`, which is 12. `None` if it is malformed, too large, or
/// so small that it would become 0.
fn parse_hexadecimal(word: &[u8]) -> Option<f64> {
    let (digits, mut exponent) = match word.iter().position(|byte| matches!(byte, b'p' | b'P')) {
        Some(end) => (&word[..end], parse_exponent(&word[end + 1..])?),
        None => (word, 0),
    };
    let (mut mantissa, mut count, mut is_fraction) = (0u64, 0, false);
    for byte in digits {
        if *byte == b'.' && !is_fraction {
            is_fraction = true;
            continue;
        }
        let digit = char::from(*byte).to_digit(16)?;
        count += 1;
        exponent -= if is_fraction { 4 } else { 0 };
        if mantissa < 1 << 59 {
            mantissa = mantissa * 16 + u64::from(digit);
        } else {
            // Of the digits beyond 60 bits, only whether they are all 0 changes the rounding.
            exponent += 4;
            mantissa |= u64::from(digit != 0);
        }
    }
    let value = (count > 0).then(|| scaled(mantissa, exponent))?;
    (value.is_finite() && (value != 0.0 || mantissa == 0)).then_some(value)
}

/// Parses decimal digits, optionally after a sign. More than [`MOST_EXPONENT`] counts as that.
fn parse_exponent(word: &[u8]) -> Option<i64> {
    let (sign, digits) = match word {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] | digits => (1, digits),
    };
    let exponent = digits.iter().try_fold(0, |exponent: i64, digit| {
        let digit = i64::from(char::from(*digit).to_digit(10)?);
        Some((exponent * 10 + digit).min(MOST_EXPONENT))
    })?;
    (!digits.is_empty()).then_some(sign * exponent)
}

/// The double closest to `mantissa` · 2^`exponent`, with an even last bit if two are equally close.
/// (`mantissa as f64` times a power would be rounded twice if the result has fewer than 53 bits.)
fn scaled(mantissa: u64, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let top = exponent + i64::from(mantissa.ilog2());
    // The weight of the last bit kept: 53 bits, but none below that of the smallest double.
    let last = (top - 52).max(-1074);
    if top > 1023 || last - exponent >= 64 {
        return if top > 0 { f64::INFINITY } else { 0.0 };
    }
    let rounded = match u32::try_from(last - exponent) {
        Err(_) | Ok(0) => mantissa << (exponent - last),
        Ok(dropped) => {
            let (kept, half) = (mantissa >> dropped, 1 << (dropped - 1));
            let rest = mantissa & (2 * half - 1);
            kept + u64::from(rest > half || rest == half && kept % 2 == 1)
        }
    };
    // Both factors, and their product, are doubles.
    let power = match last {
        ..-1022 => f64::from_bits(1 << (last + 1074)),
        _ => f64::from_bits(((last + 1023) as u64) << 52),
    };
    rounded as f64 * power
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
    fn error_rates_are_finite_numbers_between_zero_and_one() {
        for (word, rate) in [
            ("0.01", 0.01),
            (".5", 0.5),
            ("1e-9", 1e-9),
            ("5e-324", 5e-324),
            ("0x1p-7", 0.007_812_5),
            ("0.9999999999999999", 0.9999999999999999),
        ] {
            assert_eq!(parse_error_rate(word.as_bytes()), Ok(rate));
        }
        for word in ["", "nan", "NaN", "-nan", "0.01x", " 0.01", "0,01", "0x", "1e", "\u{bd}"] {
            assert_eq!(parse_error_rate(word.as_bytes()), Err(NumberError::Malformed), "{word:?}");
        }
        for word in ["0", "0.0", "-0.1", "1", "1.0", "inf", "-inf", "1e400", "1e-400"] {
            assert_eq!(parse_error_rate(word.as_bytes()), Err(NumberError::OutOfRange), "{word:?}");
        }
    }

    #[test]
    fn doubles_are_numbers_in_range_or_infinite() {
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

    /// The values are what a Redis server with RedisBloom read.
    #[test]
    fn hexadecimal_doubles_are_those_of_servers() {
        for (word, value) in [
            ("0x10", 16.0),
            ("0X1P-2", 0.25),
            ("-0x1.8p3", -12.0),
            ("+0x.8", 0.5),
            ("0x1.", 1.0),
            ("0x1p+2", 4.0),
            ("0xfE", 254.0),
            ("-0x0", -0.0),
            ("0x0p-99999", 0.0),
            ("0x1p00000000000000000000003", 8.0),
            ("0x00000000000000000000000001", 1.0),
            ("0x1.fffffffffffff8p0", 2.0),
            ("0x1.00000000000008p0", 1.0),
            ("0x1.000000000000080000000001p0", 1.000_000_000_000_000_2),
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x.fffffffffffff8p1024", f64::MAX),
            ("0x1p-1022", f64::MIN_POSITIVE),
            ("0x1p-1074", 5e-324),
            ("0x1.8p-1075", 5e-324),
            ("0x10000000000000000p-1138", 5e-324),
        ] {
            let parsed = parse_double(word.as_bytes()).map(f64::to_bits);
            assert_eq!(parsed, Some(value.to_bits()), "{word}");
        }
        for word in [
            "0x",
            "0x.",
            "0x1p",
            "0x1p+",
            "0x1g",
            "00x1",
            "0x 1",
            "0x-1",
            "0x1.2.3",
            "0x1p1p",
            "0x1p1.0",
            "0x1p1024",
            "0x1.fffffffffffff8p1023",
            "0x1p99999999999999999999",
            "0x1p-1075",
            "0x1p-1080",
            "0x1p-99999999999999999999",
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
