//! The words after the file's name in `loadmodule libsplitbloom.so …`.

use crate::number::{parse_error_rate, parse_within};
use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::filter::MAX_EXPANSION;

/// The default error rate, unless a load argument or setting changes it. All defaults are
/// RedisBloom's.
pub const ERROR_RATE: f64 = 0.01;
/// The default capacity, in items.
pub const INITIAL_SIZE: i64 = 100;
/// The default growth factor.
pub const EXPANSION: i64 = 2;
/// How many sub-filters RedisBloom adds to a cuckoo filter by default, at most.
pub const MAX_EXPANSIONS: i64 = 32;
/// The largest number of them that RedisBloom accepts.
pub const MOST_EXPANSIONS: u64 = 65_536;

/// The load arguments, each with its value or its default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadArguments {
    pub error_rate: f64,
    pub initial_size: i64,
    pub expansion: i64,
    /// No effect here, since counting filters grow without sub-filters.
    pub max_expansions: i64,
}

impl LoadArguments {
    /// Parses `ERROR_RATE e INITIAL_SIZE n EXPANSION n CF_MAX_EXPANSIONS n`, in any order and case.
    ///
    /// # Errors
    /// What is wrong, for the server's log.
    pub fn parse(words: &[&[u8]]) -> Result<Self, String> {
        let mut parsed = Self {
            error_rate: ERROR_RATE,
            initial_size: INITIAL_SIZE,
            expansion: EXPANSION,
            max_expansions: MAX_EXPANSIONS,
        };
        for pair in words.chunks(2) {
            let name = String::from_utf8_lossy(pair[0]).to_uppercase();
            let value = pair.get(1).copied(); // may be missing after the last name
            let must_be = |what: String| match value.map(String::from_utf8_lossy) {
                Some(value) => format!("the load argument {name} must be {what}, not {value:?}"),
                None => format!("the load argument {name} must be {what}, and has no value"),
            };
            let integer = |min, max| {
                let integer = value.and_then(|value| parse_within(value, min..=max).ok());
                let integer = integer.map(|integer| integer as i64); // no maximum is larger
                integer.ok_or_else(|| must_be(format!("a whole number from {min} to {max}")))
            };
            match name.as_str() {
                "ERROR_RATE" => {
                    let rate = value.and_then(|value| parse_error_rate(value).ok());
                    let rate = rate.ok_or_else(|| must_be("a number above 0 and below 1".into()));
                    parsed.error_rate = rate?;
                }
                "INITIAL_SIZE" => parsed.initial_size = integer(MIN_CAPACITY, MAX_CAPACITY)?,
                "EXPANSION" => parsed.expansion = integer(0, MAX_EXPANSION.into())?,
                "CF_MAX_EXPANSIONS" => parsed.max_expansions = integer(1, MOST_EXPANSIONS)?,
                _ => {
                    return Err(format!(
                        "unknown load argument {name:?}; there are ERROR_RATE, INITIAL_SIZE, \
                         EXPANSION and CF_MAX_EXPANSIONS"
                    ))
                }
            }
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_arguments_come_in_any_order_and_case() {
        let words = "expansion 4 Cf_Max_Expansions 65536 Error_Rate 0.001";
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        let expected = LoadArguments {
            error_rate: 0.001,
            initial_size: 100,
            expansion: 4,
            max_expansions: 65_536,
        };
        assert_eq!(LoadArguments::parse(&words), Ok(expected));
    }

    #[test]
    fn an_error_names_the_value_and_the_range() {
        let rate = "the load argument ERROR_RATE must be a number above 0 and below 1";
        let size = "the load argument INITIAL_SIZE must be a whole number from 1 to 1099511627776";
        let expansion = "the load argument EXPANSION must be a whole number from 0 to 32768";
        let expansions =
            "the load argument CF_MAX_EXPANSIONS must be a whole number from 1 to 65536";
        let unknown =
            "unknown load argument \"CF_SIZE\"; there are ERROR_RATE, INITIAL_SIZE, EXPANSION \
                       and CF_MAX_EXPANSIONS";
        for (words, told) in [
            ("ERROR_RATE 1", format!("{rate}, not \"1\"")),
            ("error_rate 0x1", format!("{rate}, not \"0x1\"")),
            ("ERROR_RATE", format!("{rate}, and has no value")),
            ("INITIAL_SIZE 0", format!("{size}, not \"0\"")),
            ("INITIAL_SIZE 1.5", format!("{size}, not \"1.5\"")),
            ("EXPANSION 32769", format!("{expansion}, not \"32769\"")),
            ("EXPANSION -1", format!("{expansion}, not \"-1\"")),
            ("EXPANSION 4 INITIAL_SIZE", format!("{size}, and has no value")),
            ("CF_MAX_EXPANSIONS 65537", format!("{expansions}, not \"65537\"")),
            ("cf_max_expansions 0", format!("{expansions}, not \"0\"")),
            ("CF_SIZE 1", unknown.to_owned()),
        ] {
            let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
            assert_eq!(LoadArguments::parse(&words), Err(told));
        }
    }
}
