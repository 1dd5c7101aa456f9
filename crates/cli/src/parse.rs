//! Words of the command line, read as the server reads those of its commands.

use splitbloom_filter::Seed;
use splitbloom_grammar::number::{parse_error_rate, parse_seed};

/// An error rate.
pub fn error_rate(word: &str) -> Result<f64, String> {
    parse_error_rate(word.as_bytes()).map_err(|_| "not above 0 and below 1".into())
}

/// A seed: sixteen hexadecimal digits.
pub fn seed(word: &str) -> Result<Seed, String> {
    let seed = parse_seed(word.as_bytes()).map(Seed);
    seed.ok_or_else(|| "not sixteen hexadecimal digits".into())
}
