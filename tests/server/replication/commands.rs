//! Random commands, whose arguments are often invalid.

use splitbloom_harness::{packed, words, Family, Random};

const KEYS: u64 = 24;

/// The chunks of a filter.
pub type Chunks = Vec<(i64, Vec<u8>)>;

/// A random command, whose arguments are often invalid.
pub fn random_command(random: &mut Random, donated: &[(Family, Chunks)]) -> Vec<Vec<u8>> {
    let key = format!("k{}", random.below(KEYS));
    let item = |random: &mut Random| format!("item:{}", random.below(3000));
    let items = |random: &mut Random| {
        (0..1 + random.below(12)).map(|_| item(random) + " ").collect::<String>()
    };
    let line = match random.below(100) {
        0..=7 => format!("BF.RESERVE {key} {}", reserve_words(random)),
        8..=11 => return pack_command(random, &key),
        12..=13 => {
            let from = format!("k{}", random.below(KEYS));
            let line = one_of(random, CHANGES_OF_THE_WHOLE);
            line.replace("KEY", &key).replace("FROM", &from)
        }
        14..=27 => format!("BF.ADD {key} {}", item(random)),
        28..=39 => format!("BF.MADD {key} {}", items(random)),
        40..=47 => {
            format!("BF.INSERT {key} {} ITEMS {}", one_of(random, INSERT_WORDS), items(random))
        }
        48..=50 => format!("CF.RESERVE {key} {}", one_of(random, COUNTING_RESERVE_WORDS)),
        51..=58 => format!("CF.ADD {key} {}", item(random)),
        59..=64 => format!("CF.ADDNX {key} {}", item(random)),
        65..=72 => format!(
            "{} {key} {} ITEMS {}",
            random.pick(&["CF.INSERT", "CF.INSERTNX"]),
            one_of(random, COUNTING_INSERT_WORDS),
            items(random)
        ),
        73..=84 => format!("CF.DEL {key} {}", item(random)),
        85..=88 => format!("DEL {key}"),
        89 => format!("SET {key} text"),
        90 => format!("COPY {key} k{} REPLACE", random.below(KEYS)),
        91 => format!("RENAME {key} k{}", random.below(KEYS)),
        92 => format!("EXPIRE {key} 100000"),
        93..=94 => format!(
            "{} {key} {}",
            random.pick(&["BF.INFO", "CF.INFO"]),
            random.pick(&["FULL", "SIZE", "NONSENSE"])
        ),
        95 if random.percent(50) => {
            format!("BF.FORGET {key} {}", random.pick(&["5", "1700000000000", "9007199254740991"]))
        }
        95 => format!(
            "{} {key} {}",
            random.pick(&["BF.SCANDUMP", "CF.SCANDUMP"]),
            random.pick(&["0", "1", "abc"])
        ),
        _ => return load_command(random, key, donated),
    };
    words(&line)
}

/// One of these, which are separated by commas.
fn one_of<'a>(random: &mut Random, choices: &'a str) -> &'a str {
    let choices: Vec<&str> = choices.split(',').map(str::trim).collect();
    choices[random.index(choices.len())]
}

fn reserve_words(random: &mut Random) -> String {
    let rate = one_of(random, "0.01, 0.001, 0.1, 0.5, 0.000001, 0.9, nan, 1, abc");
    let capacity = one_of(random, "1, 2, 10, 50, 100, 500, 1000, 0, 1099511627777, 1.5, 90000");
    // A window of three years, so that no timer sweeps while digests are compared.
    let options = match random.percent(60) {
        true => {
            ",, EXPANSION 1, EXPANSION 3, NONSCALING, 2, EXPANSION, EXPANSION abc, \
             WINDOW 100000000, WINDOW 100000000 SLICES 2 RENEW"
        }
        false => {
            "EXPANSION 40000, NONSCALING EXPANSION 2, NONSENSE, SEED 00000000000000ff, \
             EXPANSION 0, NONSCALING WINDOW 100000000, SLICES 4, WINDOW 0"
        }
    };
    format!("{rate} {capacity} {}", one_of(random, options))
}

const CHANGES_OF_THE_WHOLE: &str =
    "BF.MERGE KEY 1 FROM FORCE, BF.MERGE KEY 2 KEY FROM, BF.SHRINK KEY, BF.CLEAR KEY, CF.CLEAR KEY";

const INSERT_WORDS: &str = ",, WINDOW 100000000 CAPACITY 9, \
    WINDOW 100000000 NONSCALING CAPACITY 8 AT 1000000000005, NOCREATE AT 1000000000005, \
    NOCREATE AT 1700000000000, AT x, RENEW, NOCREATE, CAPACITY 5, \
    CAPACITY 50 ERROR 0.001 EXPANSION 1, NONSCALING CAPACITY 8, ERROR 0.5 NONSCALING, \
    CAPACITY abc, ERROR nan, EXPANSION abc, CAPACITY 1000000, NONSENSE";

const COUNTING_RESERVE_WORDS: &str = "2 EXPANSION 0, 8 EXPANSION 0 BUCKETSIZE 4, 100, \
    1000 ERROR 0.0001, 20 ERROR 0.5 MAXITERATIONS 3 EXPANSION 7, 0, abc, 100 BUCKETSIZE 256, \
    100 MAXITERATIONS x, 100 SEED 00000000000000ff";

const COUNTING_INSERT_WORDS: &str = ",, NOCREATE, CAPACITY 5, CAPACITY abc, NOCREATE CAPACITY 0";

/// Adds, deletes or looks up packed items, of which the last may be cut.
fn pack_command(random: &mut Random, key: &str) -> Vec<Vec<u8>> {
    let name = one_of(random, "BF.PACKADD, BF.PACKADD, CF.PACKADD, CF.PACKDEL, BF.PACKEXISTS");
    let layout = one_of(random, "LINES, PREFIXED, FIXED 9");
    let width = if layout == "FIXED 9" { 4 } else { 0 };
    let item = |random: &mut Random| format!("item:{:0>width$}", random.below(3000));
    let items: Vec<Vec<u8>> =
        (0..1 + random.below(60)).map(|_| item(random).into_bytes()).collect();
    let mut bytes = packed(layout, &items);
    if random.percent(5) {
        bytes.pop();
    }
    words(&format!("{name} {key} {layout}")).into_iter().chain([bytes]).collect()
}

/// Loads a valid or a damaged chunk into any key.
fn load_command(random: &mut Random, key: String, donated: &[(Family, Chunks)]) -> Vec<Vec<u8>> {
    let (family, chunks) = random.pick(donated);
    let (iterator, mut bytes) = random.pick(chunks).clone();
    let mut iterator = iterator.to_string();
    match random.below(4) {
        0 => iterator = "abc".to_owned(),
        1 => bytes.truncate(random.index(bytes.len())),
        _ => {}
    }
    vec![family.command("LOADCHUNK").into_bytes(), key.into_bytes(), iterator.into_bytes(), bytes]
}
