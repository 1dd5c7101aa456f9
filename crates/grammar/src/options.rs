//! The options of BF.RESERVE and BF.INSERT.

use crate::number::{parse_error_rate, parse_integer, parse_seed};
use crate::window::{parse_time, WindowOptions};
use crate::{keyword, number_within, WordsError, LONGEST_KEYWORD};
use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::filter::{Growth, Parameters, Window, MAX_EXPANSION};
use splitbloom_filter::hash::Seed;
use std::ops::RangeInclusive;

/// How long a key may live: a server keeps the time of its end in milliseconds in 63 bits.
const SECONDS: RangeInclusive<u64> = 1..=i64::MAX as u64 / 1_000;

/// How a client describes a filter to be created. `None` means the default of the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Creation {
    pub error_rate: Option<f64>,
    pub capacity: Option<u64>,
    pub growth: Option<Growth>,
    pub seed: Option<Seed>,
    /// How long it remembers items; `None` means forever.
    pub window: Option<Window>,
    /// How long its key lives, in seconds; `None` means until it is deleted.
    pub expiry: Option<u64>,
}

impl Creation {
    /// The parameters of the filter, with `defaults` for what the client left out.
    pub fn parameters(&self, defaults: Parameters) -> Parameters {
        Parameters {
            error_rate: self.error_rate.unwrap_or(defaults.error_rate),
            capacity: self.capacity.unwrap_or(defaults.capacity),
            growth: self.growth.unwrap_or(defaults.growth),
            seed: self.seed.unwrap_or(defaults.seed),
        }
    }
}

/// Parses a capacity, in items.
///
/// # Errors
/// `BadCapacity` or `CapacityRange`.
pub fn capacity(word: &[u8]) -> Result<u64, WordsError> {
    let errors = (WordsError::BadCapacity, WordsError::CapacityRange);
    number_within(word, MIN_CAPACITY..=MAX_CAPACITY, errors)
}

pub(crate) fn error_rate(word: &[u8]) -> Result<f64, WordsError> {
    parse_error_rate(word)
        .map_err(|error| error.either(WordsError::BadErrorRate, WordsError::ErrorRateRange))
}

/// Parses a growth factor, at most 32768.
pub(crate) fn expansion(word: &[u8]) -> Result<u32, WordsError> {
    let errors = (WordsError::BadExpansion, WordsError::ExpansionRange);
    number_within(word, 0..=MAX_EXPANSION.into(), errors).map(|factor| factor as u32)
}

/// Parses how long a key lives, in seconds. Whether that is too long after today, only a clock can
/// say.
pub(crate) fn expiry(word: &[u8]) -> Result<u64, WordsError> {
    number_within(word, SECONDS, (WordsError::BadExpiry, WordsError::ExpiryRange))
}

/// Parses a ratio of error rates. It has no effect.
fn tightening(word: &[u8]) -> Result<f64, WordsError> {
    parse_error_rate(word)
        .map_err(|error| error.either(WordsError::BadTightening, WordsError::TighteningRange))
}

/// Parses a seed: sixteen hexadecimal digits, or the 32 bytes of valkey-bloom's, of which our
/// filters keep a hash. Equal words lead to equal filters.
fn seed(word: &[u8]) -> Option<Seed> {
    const BYTES_OF_VALKEY_BLOOM: usize = 32;
    match word.len() {
        BYTES_OF_VALKEY_BLOOM => Some(Seed::from_bytes(word)),
        _ => parse_seed(word).map(Seed),
    }
}

/// Parses the words of BF.RESERVE after the key:
/// `error_rate capacity [EXPANSION n] [NONSCALING] [WINDOW seconds [SLICES n] [RENEW]]
/// [EX seconds] [SEED seed]`.
/// Options may come in any order; the last of a kind wins.
///
/// # Errors
/// What is wrong with the first bad word.
pub fn parse_reserve(words: &[&[u8]]) -> Result<Creation, WordsError> {
    let [error_rate, capacity, options @ ..] = words else {
        return Err(WordsError::WrongArity);
    };
    let mut creation = Creation {
        error_rate: Some(self::error_rate(error_rate)?),
        capacity: Some(self::capacity(capacity)?),
        ..Creation::default()
    };
    let (mut factor, mut non_scaling) = (None, false);
    let mut window = WindowOptions::default();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let mut value = |missing| options.next().ok_or(missing);
        match keyword(option, &mut [0; LONGEST_KEYWORD]) {
            b"EXPANSION" => factor = Some(expansion(value(WordsError::NoExpansion)?)?),
            b"NONSCALING" => non_scaling = true,
            b"SEED" => {
                let seed = seed(value(WordsError::BadSeed)?);
                creation.seed = Some(seed.ok_or(WordsError::BadSeed)?);
            }
            b"EX" => creation.expiry = Some(expiry(value(WordsError::WrongArity)?)?),
            // NRedisStack sends the expansion as a bare number.
            _ if parse_integer(option).is_some() => factor = Some(expansion(option)?),
            other if window.take(other, &mut options)? => {}
            _ => return Err(WordsError::Syntax),
        }
    }
    if non_scaling && factor.is_some_and(|factor| factor > 0) {
        return Err(WordsError::NonScalingExpansion);
    }
    creation.growth =
        if non_scaling { Some(Growth::Fixed) } else { factor.map(Growth::from_factor) };
    creation.window = window.window()?;
    Ok(creation)
}

/// The words of BF.INSERT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Insertion {
    /// What to create if the key is missing; `None` with NOCREATE.
    pub creation: Option<Creation>,
    /// When the items came, in milliseconds since 1970; `None` means now.
    pub at: Option<u64>,
    /// The index of the first item among the words; `None` if there are no items.
    pub first_item: Option<usize>,
}

/// Parses the words of BF.INSERT after the key:
/// `[CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE] [NONSCALING]
/// [WINDOW seconds [SLICES n] [RENEW]] [AT milliseconds] [EX seconds] [SEED seed]
/// [TIGHTENING ratio] ITEMS item…`.
/// Options may come in any order; the last of a kind wins, and NONSCALING overrides EXPANSION.
///
/// valkey-bloom replicates a creation with SEED and TIGHTENING, and without ITEMS. The ratio has no
/// effect here: a filter that grows does not exceed its error rate.
///
/// # Errors
/// What is wrong with the first bad word.
pub fn parse_insert(words: &[&[u8]]) -> Result<Insertion, WordsError> {
    let mut creation = Creation::default();
    let (mut no_create, mut non_scaling) = (false, false);
    let (mut window, mut at) = (WindowOptions::default(), None);
    let mut has_ratio = false;
    let mut rest = words.iter();
    let first_item = loop {
        let Some(option) = rest.next() else {
            // Without ITEMS, the command creates the filter and adds nothing.
            let is_of_valkey_bloom = creation.seed.is_some() && has_ratio && !no_create;
            if is_of_valkey_bloom {
                break None;
            }
            return Err(WordsError::WrongArity);
        };
        let mut value = || rest.next().ok_or(WordsError::WrongArity);
        match keyword(option, &mut [0; LONGEST_KEYWORD]) {
            b"ITEMS" => break Some(words.len() - rest.len()),
            b"CAPACITY" => creation.capacity = Some(capacity(value()?)?),
            b"ERROR" => creation.error_rate = Some(error_rate(value()?)?),
            b"EXPANSION" => creation.growth = Some(Growth::from_factor(expansion(value()?)?)),
            b"NOCREATE" => no_create = true,
            b"NONSCALING" => non_scaling = true,
            b"AT" => at = Some(parse_time(value()?)?),
            b"EX" => creation.expiry = Some(expiry(value()?)?),
            b"SEED" => creation.seed = Some(seed(value()?).ok_or(WordsError::BadSeed)?),
            b"TIGHTENING" => {
                tightening(value()?)?;
                has_ratio = true;
            }
            b"VALIDATESCALETO" => return Err(WordsError::ScaleTo),
            other if window.take(other, &mut rest)? => {}
            _ => return Err(WordsError::Syntax),
        }
    };
    creation.window = window.window()?;
    if first_item.is_some_and(|first| first >= words.len()) {
        return Err(WordsError::WrongArity);
    }
    if non_scaling {
        creation.growth = Some(Growth::Fixed);
    }
    Ok(Insertion { creation: (!no_create).then_some(creation), at, first_item })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;
    use proptest::prelude::*;

    fn reserve(line: &str) -> Result<Creation, WordsError> {
        parse_reserve(&words(line))
    }

    fn insert(line: &str) -> Result<Insertion, WordsError> {
        parse_insert(&words(line))
    }

    #[test]
    fn reserve_takes_its_options_in_any_order_and_case() {
        let growth = |line| reserve(line).unwrap().growth;
        assert_eq!(growth("0.1 9"), None);
        assert_eq!(growth("0.1 9 expansion 4"), Some(Growth::Times(4)));
        assert_eq!(growth("0.1 9 EXPANSION 0"), Some(Growth::Fixed));
        assert_eq!(growth("0.1 9 NonScaling"), Some(Growth::Fixed));
        assert_eq!(growth("0.1 9 NONSCALING EXPANSION 0"), Some(Growth::Fixed));
        assert_eq!(growth("0.1 9 3"), Some(Growth::Times(3)));
        assert_eq!(growth("0.1 9 EXPANSION 3 EXPANSION 5"), Some(Growth::Times(5)));
        let seeded = reserve("0.1 9 SEED 00000000000000ff EXPANSION 1").unwrap();
        assert_eq!(seeded.seed, Some(Seed(255)));
        assert_eq!((seeded.error_rate, seeded.capacity), (Some(0.1), Some(9)));
    }

    #[test]
    fn a_window_goes_with_every_other_option() {
        let minute = Window::new(60, 8, true);
        let both = reserve("0.1 9 window 60 3 RENEW SEED 00000000000000ff").unwrap();
        assert_eq!(both.window, minute);
        assert_eq!(both.growth, Some(Growth::Times(3)));
        let fixed = reserve("0.1 9 NONSCALING WINDOW 60 SLICES 2").unwrap();
        assert_eq!(fixed.growth, Some(Growth::Fixed));
        assert_eq!(fixed.window, Window::new(60, 2, false));
        let insertion = insert("RENEW CAPACITY 9 at 5 WINDOW 60 ITEMS AT").unwrap();
        assert_eq!((insertion.at, insertion.first_item), (Some(5), Some(8)));
        assert_eq!(insertion.creation.unwrap().window, minute);
        let later = insert("NOCREATE AT 7 ITEMS a").unwrap();
        assert_eq!((later.at, later.creation), (Some(7), None));
    }

    #[test]
    fn an_expiry_goes_with_every_other_option() {
        let both = reserve("0.1 9 ex 60 3 EX 70 WINDOW 60").unwrap();
        assert_eq!((both.expiry, both.growth), (Some(70), Some(Growth::Times(3))));
        assert!(both.window.is_some());
        let insertion = insert("EXPANSION 3 Ex 5 ITEMS EX").unwrap();
        let creation = insertion.creation.unwrap();
        assert_eq!((creation.expiry, creation.growth), (Some(5), Some(Growth::Times(3))));
        assert_eq!(insertion.first_item, Some(5));
        assert_eq!(insert("ITEMS EX 5").unwrap().creation.unwrap().expiry, None);
    }

    #[test]
    fn reserve_names_what_is_wrong() {
        for (line, error) in [
            ("0.1", WordsError::WrongArity),
            ("x 9", WordsError::BadErrorRate),
            ("1 9", WordsError::ErrorRateRange),
            ("0.1 x", WordsError::BadCapacity),
            ("0.1 0", WordsError::CapacityRange),
            ("0.1 -1", WordsError::CapacityRange),
            ("0.1 1099511627777", WordsError::CapacityRange),
            ("0.1 9 EXPANSION", WordsError::NoExpansion),
            ("0.1 9 EXPANSION x", WordsError::BadExpansion),
            ("0.1 9 EXPANSION -1", WordsError::ExpansionRange),
            ("0.1 9 EXPANSION 32769", WordsError::ExpansionRange),
            ("0.1 9 -2", WordsError::ExpansionRange),
            ("0.1 9 NONSCALING EXPANSION 1", WordsError::NonScalingExpansion),
            ("0.1 9 2 NONSCALING", WordsError::NonScalingExpansion),
            ("0.1 9 NONSCALING 2", WordsError::NonScalingExpansion),
            ("0.1 9 NONSCALINGX", WordsError::Syntax),
            ("0.1 9 EXP 2", WordsError::Syntax),
            ("0.1 9 SEED 1", WordsError::BadSeed),
            ("0.1 9 SEED", WordsError::BadSeed),
            ("0.1 9 WINDOW", WordsError::WrongArity),
            ("0.1 9 WINDOW 0", WordsError::WindowRange),
            ("0.1 9 SLICES 4", WordsError::WindowMissing),
            ("0.1 9 WINDOW 9 AT 5", WordsError::Syntax),
            ("0.1 9 EX", WordsError::WrongArity),
            ("0.1 9 EX x", WordsError::BadExpiry),
            ("0.1 9 EX 0", WordsError::ExpiryRange),
            ("0.1 9 PX 5", WordsError::Syntax),
        ] {
            assert_eq!(reserve(line), Err(error), "{line}");
        }
    }

    #[test]
    fn insert_takes_everything_after_items_as_data() {
        let plain = insert("ITEMS a b").unwrap();
        assert_eq!((plain.creation, plain.first_item), (Some(Creation::default()), Some(1)));
        let full = insert("capacity 5 error 0.5 expansion 3 items NOCREATE ITEMS").unwrap();
        let creation = full.creation.unwrap();
        assert_eq!(full.first_item, Some(7));
        assert_eq!(creation.growth, Some(Growth::Times(3)));
        assert_eq!((creation.error_rate, creation.capacity), (Some(0.5), Some(5)));
        assert_eq!(insert("NOCREATE ITEMS a").unwrap().creation, None);
        let beaten = insert("NONSCALING EXPANSION 3 ITEMS a").unwrap().creation.unwrap();
        assert_eq!(beaten.growth, Some(Growth::Fixed));
    }

    #[test]
    fn insert_takes_what_valkey_bloom_tells_its_replicas() {
        let seed = "0123456789abcdef0123456789abcdef";
        let line = format!("CAPACITY 9 ERROR 0.1 TIGHTENING 0.5 SEED {seed} EXPANSION 2");
        let insertion = insert(&line).unwrap();
        let creation = insertion.creation.unwrap();
        assert_eq!(insertion.first_item, None);
        assert_eq!(creation.seed, Some(Seed::from_bytes(seed.as_bytes())));
        assert_eq!(creation.growth, Some(Growth::Times(2)));
        let items = insert(&(line.clone() + " ITEMS a")).unwrap();
        assert_eq!((items.creation, items.first_item), (insertion.creation, Some(11)));
        let nothing = insert(&(line + " NOCREATE"));
        assert_eq!(nothing, Err(WordsError::WrongArity));
        let ours = insert("SEED 00000000000000ff ITEMS a").unwrap();
        assert_eq!(ours.creation.unwrap().seed, Some(Seed(255)));
    }

    #[test]
    fn insert_names_what_is_wrong() {
        for (line, error) in [
            ("", WordsError::WrongArity),
            ("ITEMS", WordsError::WrongArity),
            ("CAPACITY", WordsError::WrongArity),
            ("NOCREATE", WordsError::WrongArity),
            ("CAPACITY x ITEMS a", WordsError::BadCapacity),
            ("CAPACITY ITEMS a", WordsError::BadCapacity),
            ("ERROR x ITEMS a", WordsError::BadErrorRate),
            ("ERROR 1 ITEMS a", WordsError::ErrorRateRange),
            ("EXPANSION x ITEMS a", WordsError::BadExpansion),
            ("AT ITEMS a", WordsError::BadTime),
            ("WINDOW 9 AT", WordsError::WrongArity),
            ("WINDOW ITEMS a", WordsError::BadWindow),
            ("RENEW AT 5 ITEMS a", WordsError::WindowMissing),
            ("SEED 1 ITEMS a", WordsError::BadSeed),
            ("SEED", WordsError::WrongArity),
            ("SEED 00000000000000ff", WordsError::WrongArity),
            ("TIGHTENING 0.5", WordsError::WrongArity),
            ("TIGHTENING x ITEMS a", WordsError::BadTightening),
            ("TIGHTENING 1 ITEMS a", WordsError::TighteningRange),
            ("VALIDATESCALETO 9 ITEMS a", WordsError::ScaleTo),
            ("NOCREATE SLICES 4 ITEMS a", WordsError::WindowMissing),
            ("ITEMSX a", WordsError::Syntax),
            ("a b", WordsError::Syntax),
        ] {
            assert_eq!(insert(line), Err(error), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_words_make_the_parsers_panic(
            words in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(vec![
                        "ITEMS", "CAPACITY", "ERROR", "EXPANSION", "NOCREATE", "NONSCALING",
                        "SEED", "WINDOW", "SLICES", "RENEW", "AT", "TIGHTENING",
                        "00000000000000ff", "0.1", "7",
                    ])
                        .prop_map(|w| w.as_bytes().to_vec()),
                    prop::collection::vec(any::<u8>(), 0..20),
                ],
                0..12,
            )
        ) {
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            let _ = parse_reserve(&words);
            if let Ok(insertion) = parse_insert(&words) {
                if let Some(first) = insertion.first_item {
                    prop_assert!(first < words.len());
                    prop_assert!(words[first - 1].eq_ignore_ascii_case(b"ITEMS"));
                }
            }
        }
    }

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
            assert_eq!(super::expiry(word.as_bytes()), expiry, "{word}");
        }
    }
}
