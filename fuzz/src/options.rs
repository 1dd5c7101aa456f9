//! The words of BF.RESERVE, BF.INSERT, CF.RESERVE, CF.INSERT and loadmodule, separated by blanks.

use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::filter::counting::{
    MAX_BUCKET_SIZE, MAX_EXPANSION as MAX_COUNTING_EXPANSION,
};
use splitbloom_filter::filter::window::{Window, MAX_TIME};
use splitbloom_filter::filter::{Growth, MAX_EXPANSION};
use splitbloom_filter::hash::Seed;
use splitbloom_grammar::counting::{
    parse_counting_insert, parse_counting_reserve, CountingCreation,
};
use splitbloom_grammar::load_arguments::LoadArguments;
use splitbloom_grammar::number::{parse_error_rate, parse_integer, parse_seed};
use splitbloom_grammar::options::{parse_insert, parse_reserve, Creation};
use splitbloom_grammar::window::parse_time;

/// The parsers return. What they accept is in range, and means the same when it is written out.
pub fn options(bytes: &[u8]) {
    let words: Vec<&[u8]> = bytes.split(|byte| *byte == b' ').collect();
    words.iter().for_each(|word| numbers(word));

    if let Ok(creation) = parse_reserve(&words) {
        assert_in_range(&creation);
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
                assert_in_range(creation);
                as_insert(creation)
            }
            None => "NOCREATE ITEMS i".to_owned(),
        };
        if let Some(at) = insertion.at {
            assert!(at <= MAX_TIME);
            written = format!("AT {at} {written}");
        }
        let again = parse_insert(&as_words(&written)).unwrap();
        assert_eq!((again.creation, again.at), (insertion.creation, insertion.at));
    }
    if let Ok(creation) = parse_counting_reserve(&words) {
        assert_counting_in_range(&creation);
        let written = as_counting_reserve(&creation);
        assert_eq!(parse_counting_reserve(&as_words(&written)), Ok(creation));
    }
    if let Ok(insertion) = parse_counting_insert(&words) {
        assert!(insertion.first_item < words.len(), "there is an item");
        assert!(words[insertion.first_item - 1].eq_ignore_ascii_case(b"ITEMS"));
        let written = match &insertion.creation {
            Some(creation) => {
                assert_counting_in_range(creation);
                let CountingCreation { capacity, expiry, .. } = *creation;
                let others = CountingCreation { capacity, expiry, ..CountingCreation::default() };
                assert_eq!(*creation, others, "CF.INSERT has no other words");
                let capacity = capacity.map_or(String::new(), |n| format!(" CAPACITY {n}"));
                let line = format!("{capacity}{} ITEMS i", expiry_in_words(expiry));
                line.trim_start().to_owned()
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

fn assert_in_range(creation: &Creation) {
    assert!(creation.error_rate.is_none_or(is_error_rate));
    let capacities = MIN_CAPACITY..=MAX_CAPACITY;
    assert!(creation.capacity.is_none_or(|c| capacities.contains(&c)));
    match creation.growth {
        None | Some(Growth::Fixed) => {}
        Some(Growth::Times(factor)) => assert!((1..=MAX_EXPANSION).contains(&factor)),
    }
}

fn assert_counting_in_range(creation: &CountingCreation) {
    assert!(creation.error_rate.is_none_or(is_error_rate));
    let capacities = MIN_CAPACITY..=MAX_CAPACITY;
    assert!(creation.capacity.is_none_or(|c| capacities.contains(&c)));
    let bucket_sizes = 1..=MAX_BUCKET_SIZE;
    assert!(creation.bucket_size.is_none_or(|size| bucket_sizes.contains(&size)));
    assert_ne!(creation.max_iterations, Some(0));
    assert!(creation.expansion.is_none_or(|expansion| expansion <= MAX_COUNTING_EXPANSION));
}

fn as_words(line: &str) -> Vec<&[u8]> {
    line.split(' ').map(str::as_bytes).collect()
}

fn growth_in_words(growth: Option<Growth>) -> String {
    match growth {
        None => String::new(),
        Some(Growth::Fixed) => " NONSCALING".to_owned(),
        Some(Growth::Times(factor)) => format!(" EXPANSION {factor}"),
    }
}

fn window_in_words(window: Option<Window>) -> String {
    window.map_or(String::new(), |window| {
        let (seconds, slices) = (window.seconds(), window.slices());
        let renew = if window.renews() { " RENEW" } else { "" };
        format!(" WINDOW {seconds} SLICES {slices}{renew}")
    })
}

fn seed_in_words(seed: Option<Seed>) -> String {
    seed.map_or(String::new(), |seed| format!(" SEED {:016x}", seed.0))
}

fn expiry_in_words(expiry: Option<u64>) -> String {
    expiry.map_or(String::new(), |seconds| format!(" EX {seconds}"))
}

fn as_reserve(creation: &Creation) -> String {
    let (rate, capacity) = (creation.error_rate.unwrap(), creation.capacity.unwrap());
    format!(
        "{rate} {capacity}{}{}{}{}",
        growth_in_words(creation.growth),
        window_in_words(creation.window),
        seed_in_words(creation.seed),
        expiry_in_words(creation.expiry)
    )
}

fn as_insert(creation: &Creation) -> String {
    let mut line = growth_in_words(creation.growth)
        + &window_in_words(creation.window)
        + &seed_in_words(creation.seed)
        + &expiry_in_words(creation.expiry);
    if let Some(rate) = creation.error_rate {
        line += &format!(" ERROR {rate}");
    }
    if let Some(capacity) = creation.capacity {
        line += &format!(" CAPACITY {capacity}");
    }
    format!("{line} ITEMS i").trim_start().to_owned()
}

fn as_counting_reserve(creation: &CountingCreation) -> String {
    let mut line = creation.capacity.unwrap().to_string();
    let mut write = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            line += &format!(" {name} {value}");
        }
    };
    write("BUCKETSIZE", creation.bucket_size.map(|n| n.to_string()));
    let iterations = creation.max_iterations;
    write("MAXITERATIONS", iterations.map(|n| n.to_string()));
    write("EXPANSION", creation.expansion.map(|n| n.to_string()));
    write("ERROR", creation.error_rate.map(|n| n.to_string()));
    write("SEED", creation.seed.map(|seed| format!("{:016x}", seed.0)));
    write("EX", creation.expiry.map(|seconds| seconds.to_string()));
    line
}
