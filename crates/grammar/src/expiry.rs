//! `EX seconds`: when a filter that is created expires, as in the server's SET.

use crate::{number_within, WordsError};
use std::ops::RangeInclusive;

/// A server keeps the time in milliseconds in 63 bits.
const SECONDS: RangeInclusive<u64> = 1..=i64::MAX as u64 / 1_000;

/// Parses how long a key lives, in seconds. Whether that is too long after today, only a clock can
/// say.
///
/// # Errors
/// `BadExpiry` or `ExpiryRange`.
pub(crate) fn parse_expiry(word: &[u8]) -> Result<u64, WordsError> {
    number_within(word, SECONDS, (WordsError::BadExpiry, WordsError::ExpiryRange))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_a_positive_number_of_seconds_that_fits_in_milliseconds() {
        for (word, expiry) in [
            ("1", Ok(1)),
            ("9223372036854775", Ok(9_223_372_036_854_775)),
            ("9223372036854776", Err(WordsError::ExpiryRange)),
            ("9223372036854775807", Err(WordsError::ExpiryRange)),
            ("0", Err(WordsError::ExpiryRange)),
            ("-1", Err(WordsError::ExpiryRange)),
            ("9223372036854775808", Err(WordsError::BadExpiry)),
            ("1.5", Err(WordsError::BadExpiry)),
            ("", Err(WordsError::BadExpiry)),
        ] {
            assert_eq!(parse_expiry(word.as_bytes()), expiry, "{word}");
        }
    }
}
