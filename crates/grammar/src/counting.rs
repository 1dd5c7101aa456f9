//! The options of CF.RESERVE and CF.INSERT.

use crate::number::parse_seed;
use crate::options::{capacity, error_rate, expansion, expiry};
use crate::{keyword, number_within, WordsError, LONGEST_KEYWORD};
use splitbloom_filter::filter::counting::{CountingParameters, MAX_BUCKET_SIZE};
use splitbloom_filter::hash::Seed;

/// How a client describes a counting filter to be created. `None` means the default of the
/// settings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountingCreation {
    pub capacity: Option<u64>,
    pub bucket_size: Option<u16>,
    pub max_iterations: Option<u16>,
    pub expansion: Option<u16>,
    pub error_rate: Option<f64>,
    pub seed: Option<Seed>,
    /// How long its key lives, in seconds; `None` means until it is deleted.
    pub expiry: Option<u64>,
}

impl CountingCreation {
    /// The parameters of the filter, with `defaults` for what the client left out.
    pub fn parameters(&self, defaults: CountingParameters) -> CountingParameters {
        CountingParameters {
            error_rate: self.error_rate.unwrap_or(defaults.error_rate),
            capacity: self.capacity.unwrap_or(defaults.capacity),
            expansion: self.expansion.unwrap_or(defaults.expansion),
            bucket_size: self.bucket_size.unwrap_or(defaults.bucket_size),
            max_iterations: self.max_iterations.unwrap_or(defaults.max_iterations),
            seed: self.seed.unwrap_or(defaults.seed),
        }
    }
}

/// Parses the words of CF.RESERVE after the key:
/// `capacity [BUCKETSIZE b] [MAXITERATIONS i] [EXPANSION e] [ERROR rate] [EX seconds]
/// [SEED hex16]`.
/// Options may come in any order; the last of a kind wins.
///
/// # Errors
/// What is wrong with the first bad word.
pub fn parse_counting_reserve(words: &[&[u8]]) -> Result<CountingCreation, WordsError> {
    let [first, options @ ..] = words else {
        return Err(WordsError::WrongArity);
    };
    let mut creation =
        CountingCreation { capacity: Some(capacity(first)?), ..CountingCreation::default() };
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let mut value = || options.next().ok_or(WordsError::WrongArity);
        match keyword(option, &mut [0; LONGEST_KEYWORD]) {
            b"BUCKETSIZE" => {
                let errors = (WordsError::BadBucketSize, WordsError::BucketSizeRange);
                let size = number_within(value()?, 1..=MAX_BUCKET_SIZE.into(), errors)?;
                creation.bucket_size = Some(size as u16);
            }
            b"MAXITERATIONS" => {
                let errors = (WordsError::BadMaxIterations, WordsError::MaxIterationsRange);
                let number = number_within(value()?, 1..=u16::MAX.into(), errors)?;
                creation.max_iterations = Some(number as u16);
            }
            b"EXPANSION" => creation.expansion = Some(expansion(value()?)? as u16),
            b"ERROR" => creation.error_rate = Some(error_rate(value()?)?),
            b"SEED" => {
                creation.seed = Some(Seed(parse_seed(value()?).ok_or(WordsError::BadSeed)?));
            }
            b"EX" => creation.expiry = Some(expiry(value()?)?),
            unknown => return Err(error_for(unknown)),
        }
    }
    Ok(creation)
}

/// The error for an unknown option: WINDOW has its own, since BF.RESERVE knows it.
fn error_for(unknown: &[u8]) -> WordsError {
    match unknown {
        b"WINDOW" => WordsError::CountingWindow,
        _ => WordsError::Syntax,
    }
}

/// The words of CF.INSERT and CF.INSERTNX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountingInsertion {
    /// What to create if the key is missing; `None` with NOCREATE.
    pub creation: Option<CountingCreation>,
    /// The index of the first item among the words. The word before it is ITEMS.
    pub first_item: usize,
}

/// Parses the words of CF.INSERT after the key: `[CAPACITY n] [EX seconds] [NOCREATE] ITEMS item…`.
/// Options may come in any order; the last of a kind wins.
///
/// # Errors
/// What is wrong with the first bad word.
pub fn parse_counting_insert(words: &[&[u8]]) -> Result<CountingInsertion, WordsError> {
    let (mut creation, mut no_create) = (CountingCreation::default(), false);
    let mut rest = words.iter();
    loop {
        let mut next = || rest.next().ok_or(WordsError::WrongArity);
        match keyword(next()?, &mut [0; LONGEST_KEYWORD]) {
            b"ITEMS" => break,
            b"CAPACITY" => creation.capacity = Some(capacity(next()?)?),
            b"EX" => creation.expiry = Some(expiry(next()?)?),
            b"NOCREATE" => no_create = true,
            unknown => return Err(error_for(unknown)),
        }
    }
    let first_item = words.len() - rest.len();
    if first_item == words.len() {
        return Err(WordsError::WrongArity);
    }
    Ok(CountingInsertion { creation: (!no_create).then_some(creation), first_item })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;
    use proptest::prelude::*;

    fn reserve(line: &str) -> Result<CountingCreation, WordsError> {
        parse_counting_reserve(&words(line))
    }

    fn insert(line: &str) -> Result<CountingInsertion, WordsError> {
        parse_counting_insert(&words(line))
    }

    #[test]
    fn reserve_takes_its_options_in_any_order_and_case() {
        let plain = reserve("9").unwrap();
        let nine = CountingCreation { capacity: Some(9), ..CountingCreation::default() };
        assert_eq!(plain, nine);
        let all = CountingCreation {
            capacity: Some(9),
            bucket_size: Some(4),
            max_iterations: Some(500),
            expansion: Some(0),
            error_rate: Some(0.001),
            seed: Some(Seed(255)),
            expiry: Some(60),
        };
        for line in [
            "9 BUCKETSIZE 4 MAXITERATIONS 500 EXPANSION 0 ERROR 0.001 SEED 00000000000000ff EX 60",
            "9 ex 60 seed 00000000000000FF error 1e-3 Expansion 0 maxiterations 500 bucketsize 4",
            "9 EXPANSION 2 BUCKETSIZE 1 EXPANSION 0 SEED 00000000000000ff BUCKETSIZE 4 ERROR .001 \
             MAXITERATIONS 500 EX 5 EX 60",
        ] {
            assert_eq!(reserve(line), Ok(all), "{line}");
        }
        let largest = reserve("1099511627776 BUCKETSIZE 255 MAXITERATIONS 65535 EXPANSION 32768");
        let largest = largest.unwrap();
        assert_eq!(largest.bucket_size, Some(255));
        assert_eq!(largest.max_iterations, Some(65_535));
        assert_eq!(largest.expansion, Some(32_768));
    }

    #[test]
    fn reserve_names_what_is_wrong() {
        for (line, error) in [
            ("", WordsError::WrongArity),
            ("x", WordsError::BadCapacity),
            ("1.5", WordsError::BadCapacity),
            ("0", WordsError::CapacityRange),
            ("-1", WordsError::CapacityRange),
            ("1099511627777", WordsError::CapacityRange),
            ("9 BUCKETSIZE", WordsError::WrongArity),
            ("9 BUCKETSIZE x", WordsError::BadBucketSize),
            ("9 BUCKETSIZE 0", WordsError::BucketSizeRange),
            ("9 BUCKETSIZE 256", WordsError::BucketSizeRange),
            ("9 MAXITERATIONS", WordsError::WrongArity),
            ("9 MAXITERATIONS x", WordsError::BadMaxIterations),
            ("9 MAXITERATIONS 0", WordsError::MaxIterationsRange),
            ("9 MAXITERATIONS 65536", WordsError::MaxIterationsRange),
            ("9 EXPANSION", WordsError::WrongArity),
            ("9 EXPANSION x", WordsError::BadExpansion),
            ("9 EXPANSION -1", WordsError::ExpansionRange),
            ("9 EXPANSION 32769", WordsError::ExpansionRange),
            ("9 ERROR", WordsError::WrongArity),
            ("9 ERROR x", WordsError::BadErrorRate),
            ("9 ERROR 1", WordsError::ErrorRateRange),
            ("9 SEED", WordsError::WrongArity),
            ("9 SEED 1", WordsError::BadSeed),
            ("9 EX", WordsError::WrongArity),
            ("9 EX 1.5", WordsError::BadExpiry),
            ("9 EX 0", WordsError::ExpiryRange),
            ("9 4", WordsError::Syntax),
            ("9 BUCKETSIZ 4", WordsError::Syntax),
            ("9 BUCKETSIZEX 4", WordsError::Syntax),
            ("9 NONSCALING", WordsError::Syntax),
            ("9 window 60", WordsError::CountingWindow),
        ] {
            assert_eq!(reserve(line), Err(error), "{line}");
        }
    }

    #[test]
    fn insert_takes_everything_after_items_as_data() {
        let plain = insert("ITEMS a b").unwrap();
        let with_defaults = Some(CountingCreation::default());
        assert_eq!((plain.creation, plain.first_item), (with_defaults, 1));
        let full = insert("capacity 5 capacity 7 items NOCREATE ITEMS").unwrap();
        assert_eq!(full.creation.unwrap().capacity, Some(7));
        assert_eq!(full.first_item, 5);
        assert_eq!(insert("NOCREATE ITEMS a").unwrap().creation, None);
        let brief = insert("EX 5 ITEMS EX 6").unwrap();
        assert_eq!((brief.creation.unwrap().expiry, brief.first_item), (Some(5), 3));
        let neither = insert("CAPACITY 5 NoCreate ITEMS a").unwrap();
        assert_eq!((neither.creation, neither.first_item), (None, 4));
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
            ("CAPACITY 0 ITEMS a", WordsError::CapacityRange),
            ("EX", WordsError::WrongArity),
            ("EX ITEMS a", WordsError::BadExpiry),
            ("EX -5 ITEMS a", WordsError::ExpiryRange),
            ("ERROR 0.1 ITEMS a", WordsError::Syntax),
            ("ITEMSX a", WordsError::Syntax),
            ("WINDOW 60 ITEMS a", WordsError::CountingWindow),
            ("a b", WordsError::Syntax),
        ] {
            assert_eq!(insert(line), Err(error), "{line}");
        }
    }

    const WORDS: [&str; 12] = [
        "ITEMS",
        "CAPACITY",
        "NOCREATE",
        "BUCKETSIZE",
        "MAXITERATIONS",
        "EXPANSION",
        "ERROR",
        "SEED",
        "EX",
        "0.1",
        "7",
        "00000000000000ff",
    ];

    proptest! {
        #[test]
        fn no_words_make_the_parsers_panic(
            words in prop::collection::vec(
                prop_oneof![
                    4 => prop::sample::select(&WORDS[..]).prop_map(|w| w.as_bytes().to_vec()),
                    1 => prop::collection::vec(any::<u8>(), 0..20),
                ],
                0..12,
            )
        ) {
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            if let Ok(creation) = parse_counting_reserve(&words) {
                prop_assert!(words.len() % 2 == 1 && creation.capacity.is_some());
            }
            if let Ok(insertion) = parse_counting_insert(&words) {
                prop_assert!(insertion.first_item < words.len());
                prop_assert!(words[insertion.first_item - 1].eq_ignore_ascii_case(b"ITEMS"));
            }
        }
    }
}
