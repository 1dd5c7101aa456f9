//! The words of BF.RESERVE, BF.INSERT, CF.RESERVE, CF.INSERT and loadmodule, separated by blanks.

use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::filter::counting::{
    MAX_BUCKET_SIZE, MAX_EXPANSION as MAX_COUNTING_EXPANSION,
};
use splitbloom_filter::filter::window::MAX_TIME;
use splitbloom_filter::filter::{Growth, MAX_EXPANSION};
use splitbloom_filter::hash::Seed;
use splitbloom_grammar::counting::{
    parse_counting_insert, parse_counting_reserve, CountingCreation,
};
use splitbloom_grammar::load_arguments::LoadArguments;
use splitbloom_grammar::number::{parse_error_rate, parse_integer, parse_seed};
use splitbloom_grammar::options::{parse_insert, parse_reserve, Creation};
use splitbloom_grammar::window::parse_time;
use std::fmt::Display;

/// The parsers return. What they accept is in range, and means the same when it is written out.
pub fn options(bytes: &[u8]) {
    let words: Vec<&[u8]> = bytes.split(|byte| *byte == b' ').collect();
    words.iter().for_each(|word| numbers(word));

    if let Ok(creation) = parse_reserve(&words) {
        assert_good(&creation);
        assert!(creation.error_rate.is_some() && creation.capacity.is_some());
        assert_eq!(parse_reserve(&as_words(&as_reserve(&creation))), Ok(creation));
    }
    if let Ok(insertion) = parse_insert(&words) {
        if let Some(first) = insertion.first_item {
            assert!(first < words.len(), "there is an item");
            assert!(words[first - 1].eq_ignore_ascii_case(b"ITEMS"));
        }
        let mut written = match &insertion.creation {
            Some(creation) => {
                assert_good(creation);
                as_insert(creation)
            }
            None => "NOCREATE ITEMS i".to_owned(),
        };
        if let Some(at) = insertion.at {
            assert!(at <= MAX_TIME);
            written = format!("AT {at} {}", written.trim_start());
        }
        let again = parse_insert(&as_words(&written)).unwrap();
        assert_eq!((again.creation, again.at), (insertion.creation, insertion.at));
    }
    if let Ok(creation) = parse_counting_reserve(&words) {
        assert_good_counting(&creation);
        let written = as_counting_reserve(&creation);
        assert_eq!(parse_counting_reserve(&as_words(&written)), Ok(creation));
    }
    if let Ok(insertion) = parse_counting_insert(&words) {
        assert!(insertion.first_item < words.len(), "there is an item");
        assert!(words[insertion.first_item - 1].eq_ignore_ascii_case(b"ITEMS"));
        let written = match &insertion.creation {
            Some(creation) => {
                assert_good_counting(creation);
                let CountingCreation { capacity, expiry, .. } = *creation;
                let others = CountingCreation { capacity, expiry, ..CountingCreation::default() };
                assert_eq!(*creation, others, "CF.INSERT has no other words");
                option("CAPACITY", capacity) + &option("EX", expiry) + " ITEMS i"
            }
            None => "NOCREATE ITEMS i".to_owned(),
        };
        let again = parse_counting_insert(&as_words(&written)).unwrap();
        assert_eq!(again.creation, insertion.creation);
    }
    if let Ok(read) = LoadArguments::parse(&words) {
        let written = format!(
            "ERROR_RATE {} INITIAL_SIZE {} EXPANSION {} CF_MAX_EXPANSIONS {}",
            read.error_rate, read.initial_size, read.expansion, read.max_expansions
        );
        assert!(is_error_rate(read.error_rate));
        assert!((MIN_CAPACITY..=MAX_CAPACITY).contains(&(read.initial_size as u64)));
        assert!((0..=i64::from(MAX_EXPANSION)).contains(&read.expansion));
        assert_eq!(LoadArguments::parse(&as_words(&written)), Ok(read));
    }
}

/// A number has one spelling, except error rates and the case of hexadecimal digits.
fn numbers(word: &[u8]) {
    if let Some(value) = parse_integer(word) {
        assert_eq!(value.to_string().as_bytes(), word);
    }
    if let Ok(time) = parse_time(word) {
        assert_eq!(parse_integer(word), i64::try_from(time).ok());
    }
    if let Some(seed) = parse_seed(word) {
        assert!(format!("{seed:016x}").as_bytes().eq_ignore_ascii_case(word));
    }
    if let Ok(rate) = parse_error_rate(word) {
        assert!(is_error_rate(rate));
        assert_eq!(parse_error_rate(rate.to_string().as_bytes()), Ok(rate));
        assert_eq!(parse_error_rate(format!("{rate:e}").as_bytes()), Ok(rate));
    }
}

fn is_error_rate(rate: f64) -> bool {
    rate > 0.0 && rate < 1.0
}

fn assert_in_range(error_rate: Option<f64>, capacity: Option<u64>) {
    assert!(error_rate.is_none_or(is_error_rate));
    assert!(capacity.is_none_or(|capacity| (MIN_CAPACITY..=MAX_CAPACITY).contains(&capacity)));
}

fn assert_good(creation: &Creation) {
    assert_in_range(creation.error_rate, creation.capacity);
    if let Some(Growth::Times(factor)) = creation.growth {
        assert!((1..=MAX_EXPANSION).contains(&factor));
    }
}

fn assert_good_counting(creation: &CountingCreation) {
    assert_in_range(creation.error_rate, creation.capacity);
    assert!(creation.bucket_size.is_none_or(|size| (1..=MAX_BUCKET_SIZE).contains(&size)));
    assert_ne!(creation.max_iterations, Some(0));
    assert!(creation.expansion.is_none_or(|expansion| expansion <= MAX_COUNTING_EXPANSION));
}

fn as_words(line: &str) -> Vec<&[u8]> {
    line.trim_start().split(' ').map(str::as_bytes).collect()
}

/// The word and the value after it, if there is one.
fn option(name: &str, value: Option<impl Display>) -> String {
    value.map_or(String::new(), |value| format!(" {name} {value}"))
}

fn in_hexadecimal(seed: Seed) -> String {
    format!("{:016x}", seed.0)
}

/// What BF.RESERVE and BF.INSERT have in common.
fn common_words(creation: &Creation) -> String {
    let growth = match creation.growth {
        None => String::new(),
        Some(Growth::Fixed) => " NONSCALING".to_owned(),
        Some(Growth::Times(factor)) => format!(" EXPANSION {factor}"),
    };
    let window = creation.window;
    [
        growth,
        option("WINDOW", window.map(|window| window.seconds())),
        option("SLICES", window.map(|window| window.slices())),
        window.filter(|window| window.renews()).map_or(String::new(), |_| " RENEW".to_owned()),
        option("SEED", creation.seed.map(in_hexadecimal)),
        option("EX", creation.expiry),
    ]
    .concat()
}

fn as_reserve(creation: &Creation) -> String {
    let (rate, capacity) = (creation.error_rate.unwrap(), creation.capacity.unwrap());
    format!("{rate} {capacity}{}", common_words(creation))
}

fn as_insert(creation: &Creation) -> String {
    let rate = option("ERROR", creation.error_rate);
    common_words(creation) + &rate + &option("CAPACITY", creation.capacity) + " ITEMS i"
}

fn as_counting_reserve(creation: &CountingCreation) -> String {
    [
        creation.capacity.unwrap().to_string(),
        option("BUCKETSIZE", creation.bucket_size),
        option("MAXITERATIONS", creation.max_iterations),
        option("EXPANSION", creation.expansion),
        option("ERROR", creation.error_rate),
        option("SEED", creation.seed.map(in_hexadecimal)),
        option("EX", creation.expiry),
    ]
    .concat()
}
