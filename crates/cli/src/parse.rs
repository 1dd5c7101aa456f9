//! Words of the command line. A number has one syntax, whatever it counts:
//!
//! ```text
//!   number   digits, possibly with a decimal point and an exponent: 5000, 1.5, 1e6, 1e-6
//!   items    number [k M G T]                        thousands
//!   bytes    number [k M G T] [kB MB GB TB] [KiB …]  thousands, and twice multiples of 1024
//!   rate     number [%]
//!   seconds  number [s m h d w]
//! ```
//!
//! Units are those of the servers' configuration files, in either case.

use splitbloom_filter::bloom::sizing::MAX_CAPACITY;
use splitbloom_filter::filter::window::{MAX_SLICES, MAX_WINDOW_SECONDS, MIN_SLICES};
use splitbloom_filter::Seed;
use splitbloom_grammar::number::{parse_error_rate, parse_seed};
use splitbloom_partition::SLOTS;

type Unit = (&'static str, u64);

const THOUSANDS: [Unit; 4] =
    [("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000), ("t", 1_000_000_000_000)];
const BYTES: [Unit; 9] = [
    ("b", 1),
    ("kb", 1 << 10),
    ("kib", 1 << 10),
    ("mb", 1 << 20),
    ("mib", 1 << 20),
    ("gb", 1 << 30),
    ("gib", 1 << 30),
    ("tb", 1 << 40),
    ("tib", 1 << 40),
];
const SECONDS: [Unit; 5] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800)];
/// Integers up to this one are exact as `f64`.
const MAX_EXACT: f64 = (1_u64 << 53) as f64;

/// A number of items in one key.
pub fn items(word: &str) -> Result<u64, String> {
    items_up_to(MAX_CAPACITY, word)
}

/// A number of items in as many keys as there may be.
pub fn items_of_all(word: &str) -> Result<u64, String> {
    items_up_to(MAX_CAPACITY * u64::from(SLOTS), word)
}

fn items_up_to(most: u64, word: &str) -> Result<u64, String> {
    whole(word, &THOUSANDS)
        .filter(|items| (1..=most).contains(items))
        .ok_or_else(|| format!("not a number from 1 to {most}, such as 5000, 1e6 or 1M"))
}

/// A number of bytes.
pub fn bytes(word: &str) -> Result<u64, String> {
    let bytes = whole(word, &BYTES).or_else(|| whole(word, &THOUSANDS));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "not a number of bytes, such as 500000, 64MiB or 1.5gb".into())
}

/// The seconds of a window.
pub fn seconds(word: &str) -> Result<u32, String> {
    whole(word, &SECONDS)
        .and_then(|seconds| u32::try_from(seconds).ok())
        .filter(|seconds| (1..=MAX_WINDOW_SECONDS).contains(seconds))
        .ok_or_else(|| {
            format!("not a time from 1 to {MAX_WINDOW_SECONDS} seconds, such as 3600, 12h or 7d")
        })
}

/// The slices of a window.
pub fn slices(word: &str) -> Result<u8, String> {
    let slices = word.parse().ok();
    slices
        .filter(|slices| (MIN_SLICES..=MAX_SLICES).contains(slices))
        .ok_or_else(|| format!("not a number from {MIN_SLICES} to {MAX_SLICES}"))
}

/// An error rate.
pub fn error_rate(word: &str) -> Result<f64, String> {
    // By its decimal digits, 0.1% is exactly 0.001: rates are compared for equality.
    let word = match word.strip_suffix('%') {
        Some(percent) => format!("{percent}e-2"),
        None => word.to_owned(),
    };
    parse_error_rate(word.as_bytes())
        .map_err(|_| "not a number above 0 and below 1, such as 0.01, 1% or 1e-6".into())
}

/// A seed: sixteen hexadecimal digits.
pub fn seed(word: &str) -> Result<Seed, String> {
    let seed = parse_seed(word.as_bytes()).map(Seed);
    seed.ok_or_else(|| "not sixteen hexadecimal digits".into())
}

/// Parses a whole number with an optional unit. A fraction of a unit is rounded.
fn whole(word: &str, units: &[Unit]) -> Option<u64> {
    let word = word.to_ascii_lowercase();
    let digits = word.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let unit = match &word[digits.len()..] {
        "" => 1,
        name => units.iter().find(|(other, _)| *other == name)?.1,
    };
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(unit);
    }
    let number = digits.parse::<f64>().ok()? * unit as f64;
    let is_whole = unit > 1 || number.fract() == 0.0;
    (is_whole && (0.0..=MAX_EXACT).contains(&number)).then_some(number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_written_as_people_write_them() {
        for (word, number) in [
            ("6000", 6_000),
            ("1e6", 1_000_000),
            ("1E6", 1_000_000),
            ("1M", 1_000_000),
            ("1.1m", 1_100_000),
            ("2.5k", 2_500),
            ("1G", 1_000_000_000),
            ("1099511627776", MAX_CAPACITY),
        ] {
            assert_eq!(items(word), Ok(number), "{word}");
        }
        for (word, number) in [
            ("100", 100),
            ("100b", 100),
            ("64mb", 64 << 20),
            ("64MiB", 64 << 20),
            ("1.5KB", 1_536),
            ("64M", 64_000_000),
            ("0.3GB", 322_122_547),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(bytes(word), Ok(number), "{word}");
        }
        for (word, number) in [
            ("3600", 3_600),
            ("90s", 90),
            ("30m", 1_800),
            ("1.5h", 5_400),
            ("7d", 604_800),
            ("1W", 604_800),
        ] {
            assert_eq!(seconds(word), Ok(number), "{word}");
        }
        for (word, rate) in
            [("0.01", 0.01), ("1e-9", 1e-9), ("1%", 0.01), ("0.1%", 0.001), ("12.5%", 0.125)]
        {
            assert_eq!(error_rate(word), Ok(rate), "{word}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for word in [
            "", "0", "-1", "x", "k", "1.5", "1e99", "1e-3", "nan", "inf", "1 000", "1,5k", "1kk",
            "1e6e6", "1x", "µ", "1µ",
        ] {
            assert!(items(word).is_err(), "{word}");
            assert!(bytes(word).is_err(), "{word}");
            assert!(seconds(word).is_err(), "{word}");
        }
        for word in ["1kib", "1b", "1d", "1%", "1099511627777"] {
            assert!(items(word).is_err(), "{word}");
        }
        for word in ["1d", "1%", "18446744073709551616", "99999999999999999k"] {
            assert!(bytes(word).is_err(), "{word}");
        }
        for word in ["1k", "1ms", "5e9"] {
            assert!(seconds(word).is_err(), "{word}");
        }
        for word in ["", "%", "0", "0%", "100%", "1", "-1%", "1e-2%%", "1%%", "x"] {
            assert!(error_rate(word).is_err(), "{word}");
        }
        assert!(seed("12345").is_err());
    }
}
