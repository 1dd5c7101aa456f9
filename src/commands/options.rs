//! The options of BF.RESERVE and BF.INSERT, parsed once, without a server.

use super::numbers::{parse_error_rate, parse_integer, parse_seed, parse_within};
use super::text::ErrorText;
use crate::filter::hash::Seed;
use crate::filter::scalable::{Growth, Parameters, MAX_EXPANSION};
use crate::filter::sizing::{MAX_CAPACITY, MIN_CAPACITY};

/// What a client said about a filter to be made; what it did not say comes from the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Creation {
    pub error_rate: Option<f64>,
    pub capacity: Option<u64>,
    pub growth: Option<Growth>,
    pub seed: Option<Seed>,
}

impl Creation {
    /// All that decides the bits: what was said, and for the rest `defaults`.
    pub fn parameters(&self, defaults: Parameters) -> Parameters {
        Parameters {
            error_rate: self.error_rate.unwrap_or(defaults.error_rate),
            capacity: self.capacity.unwrap_or(defaults.capacity),
            growth: self.growth.unwrap_or(defaults.growth),
            seed: self.seed.unwrap_or(defaults.seed),
        }
    }
}

fn parse_capacity(word: &[u8]) -> Result<u64, ErrorText> {
    let range = ErrorText::CapacityRange;
    parse_within(
        word,
        MIN_CAPACITY,
        MAX_CAPACITY,
        ErrorText::BadCapacity,
        range,
    )
}

fn parse_expansion(word: &[u8]) -> Result<u32, ErrorText> {
    let (most, range) = (u64::from(MAX_EXPANSION), ErrorText::ExpansionRange);
    parse_within(word, 0, most, ErrorText::BadExpansion, range).map(|value| value as u32)
}

/// Parses the words of BF.RESERVE behind the key:
/// `error_rate capacity [EXPANSION n] [NONSCALING] [SEED hex16]`, the options in any order, the last of a kind wins.
///
/// # Errors
/// What is wrong with the first bad word.
pub fn parse_reserve(words: &[&[u8]]) -> Result<Creation, ErrorText> {
    let [error_rate, capacity, options @ ..] = words else {
        return Err(ErrorText::WrongArity);
    };
    let mut creation = Creation {
        error_rate: Some(parse_error_rate(error_rate)?),
        capacity: Some(parse_capacity(capacity)?),
        ..Creation::default()
    };
    let (mut expansion, mut non_scaling) = (None, false);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        if option.eq_ignore_ascii_case(b"EXPANSION") {
            expansion = Some(parse_expansion(
                options.next().ok_or(ErrorText::NoExpansion)?,
            )?);
        } else if option.eq_ignore_ascii_case(b"NONSCALING") {
            non_scaling = true;
        } else if option.eq_ignore_ascii_case(b"SEED") {
            let seed = options.next().ok_or(ErrorText::BadSeed)?;
            creation.seed = Some(Seed(parse_seed(seed)?));
        } else if parse_integer(option).is_some() {
            // NRedisStack sends the expansion as a bare number, without the word in front.
            expansion = Some(parse_expansion(option)?);
        } else {
            return Err(ErrorText::Syntax);
        }
    }
    if non_scaling && expansion.is_some_and(|factor| factor > 0) {
        return Err(ErrorText::NonScalingExpansion);
    }
    creation.growth = match non_scaling {
        true => Some(Growth::Fixed),
        false => expansion.map(Growth::from_factor),
    };
    Ok(creation)
}

/// What BF.INSERT was told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Insertion {
    /// What to make if the key is missing, or nothing with NOCREATE.
    pub creation: Option<Creation>,
    /// The place of the first item among the words.
    pub first_item: usize,
}

/// Parses the words of BF.INSERT behind the key:
/// `[CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE] [NONSCALING] ITEMS item…`, the options in any order, the last of a kind
/// wins, NONSCALING beats EXPANSION.
///
/// # Errors
/// What is wrong with the first bad word.
pub fn parse_insert(words: &[&[u8]]) -> Result<Insertion, ErrorText> {
    let mut creation = Creation::default();
    let (mut no_create, mut non_scaling) = (false, false);
    let mut place = 0;
    loop {
        let option = words.get(place).ok_or(ErrorText::WrongArity)?;
        let value = || words.get(place + 1).ok_or(ErrorText::WrongArity);
        if option.eq_ignore_ascii_case(b"ITEMS") {
            break;
        } else if option.eq_ignore_ascii_case(b"CAPACITY") {
            creation.capacity = Some(parse_capacity(value()?)?);
            place += 2;
        } else if option.eq_ignore_ascii_case(b"ERROR") {
            creation.error_rate = Some(parse_error_rate(value()?)?);
            place += 2;
        } else if option.eq_ignore_ascii_case(b"EXPANSION") {
            creation.growth = Some(Growth::from_factor(parse_expansion(value()?)?));
            place += 2;
        } else if option.eq_ignore_ascii_case(b"NOCREATE") {
            no_create = true;
            place += 1;
        } else if option.eq_ignore_ascii_case(b"NONSCALING") {
            non_scaling = true;
            place += 1;
        } else {
            return Err(ErrorText::Syntax);
        }
    }
    let first_item = place + 1;
    if first_item >= words.len() {
        return Err(ErrorText::WrongArity);
    }
    if non_scaling {
        creation.growth = Some(Growth::Fixed);
    }
    Ok(Insertion {
        creation: (!no_create).then_some(creation),
        first_item,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(line: &str) -> Vec<&[u8]> {
        line.split(' ')
            .filter(|w| !w.is_empty())
            .map(str::as_bytes)
            .collect()
    }

    fn reserve(line: &str) -> Result<Creation, ErrorText> {
        parse_reserve(&words(line))
    }

    fn insert(line: &str) -> Result<Insertion, ErrorText> {
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
        assert_eq!(
            growth("0.1 9 EXPANSION 3 EXPANSION 5"),
            Some(Growth::Times(5))
        );
        let seeded = reserve("0.1 9 SEED 00000000000000ff EXPANSION 1").unwrap();
        assert_eq!(seeded.seed, Some(Seed(255)));
        assert_eq!((seeded.error_rate, seeded.capacity), (Some(0.1), Some(9)));
    }

    #[test]
    fn reserve_names_what_is_wrong() {
        for (line, error) in [
            ("0.1", ErrorText::WrongArity),
            ("x 9", ErrorText::BadErrorRate),
            ("1 9", ErrorText::ErrorRateRange),
            ("0.1 x", ErrorText::BadCapacity),
            ("0.1 0", ErrorText::CapacityRange),
            ("0.1 -1", ErrorText::CapacityRange),
            ("0.1 1099511627777", ErrorText::CapacityRange),
            ("0.1 9 EXPANSION", ErrorText::NoExpansion),
            ("0.1 9 EXPANSION x", ErrorText::BadExpansion),
            ("0.1 9 EXPANSION -1", ErrorText::ExpansionRange),
            ("0.1 9 EXPANSION 32769", ErrorText::ExpansionRange),
            ("0.1 9 -2", ErrorText::ExpansionRange),
            (
                "0.1 9 NONSCALING EXPANSION 1",
                ErrorText::NonScalingExpansion,
            ),
            ("0.1 9 2 NONSCALING", ErrorText::NonScalingExpansion),
            ("0.1 9 NONSCALING 2", ErrorText::NonScalingExpansion),
            ("0.1 9 NONSCALINGX", ErrorText::Syntax),
            ("0.1 9 EXP 2", ErrorText::Syntax),
            ("0.1 9 SEED 1", ErrorText::BadSeed),
            ("0.1 9 SEED", ErrorText::BadSeed),
        ] {
            assert_eq!(reserve(line), Err(error), "{line}");
        }
    }

    #[test]
    fn insert_takes_everything_behind_items_as_data() {
        let plain = insert("ITEMS a b").unwrap();
        assert_eq!(
            (plain.creation, plain.first_item),
            (Some(Creation::default()), 1)
        );
        let full = insert("capacity 5 error 0.5 expansion 3 items NOCREATE ITEMS").unwrap();
        let creation = full.creation.unwrap();
        assert_eq!(full.first_item, 7);
        assert_eq!(creation.growth, Some(Growth::Times(3)));
        assert_eq!(
            (creation.error_rate, creation.capacity),
            (Some(0.5), Some(5))
        );
        assert_eq!(insert("NOCREATE ITEMS a").unwrap().creation, None);
        let beaten = insert("NONSCALING EXPANSION 3 ITEMS a")
            .unwrap()
            .creation
            .unwrap();
        assert_eq!(beaten.growth, Some(Growth::Fixed));
    }

    #[test]
    fn insert_names_what_is_wrong() {
        for (line, error) in [
            ("", ErrorText::WrongArity),
            ("ITEMS", ErrorText::WrongArity),
            ("CAPACITY", ErrorText::WrongArity),
            ("NOCREATE", ErrorText::WrongArity),
            ("CAPACITY x ITEMS a", ErrorText::BadCapacity),
            ("CAPACITY ITEMS a", ErrorText::BadCapacity),
            ("ERROR x ITEMS a", ErrorText::BadErrorRate),
            ("ERROR 1 ITEMS a", ErrorText::ErrorRateRange),
            ("EXPANSION x ITEMS a", ErrorText::BadExpansion),
            ("ITEMSX a", ErrorText::Syntax),
            ("a b", ErrorText::Syntax),
        ] {
            assert_eq!(insert(line), Err(error), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_words_make_the_parsers_panic(
            words in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(vec!["ITEMS", "CAPACITY", "ERROR", "EXPANSION", "NOCREATE", "NONSCALING", "SEED", "0.1", "7"])
                        .prop_map(|w| w.as_bytes().to_vec()),
                    prop::collection::vec(any::<u8>(), 0..20),
                ],
                0..12,
            )
        ) {
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            let _ = parse_reserve(&words);
            if let Ok(insertion) = parse_insert(&words) {
                prop_assert!(insertion.first_item < words.len());
                prop_assert!(words[insertion.first_item - 1].eq_ignore_ascii_case(b"ITEMS"));
            }
        }
    }
}
