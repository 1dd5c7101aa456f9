//! A dictionary in a Bloom filter: adds the words of a word list, looks up all of them and a
//! million other strings, spell-checks a text, and repeats the lookups after the server has saved
//! and restarted.
//!
//! `make demo` runs it. It starts its own server on a free loopback port from `SPLITBLOOM_SERVER`
//! (an executable) and `SPLITBLOOM_MODULE` (the built module), and uses it like any client.

use redis::{bloom::BloomFilterScalingOptions, Commands, Connection};
use splitbloom_rig::{Outcome, Progress, Server, Setup};
use std::collections::{BTreeSet, HashSet};
use std::{env, fs};

const FILTER: &str = "words";
const SET: &str = "words:set";
const ERROR_RATE: f64 = 0.01;
const NON_WORDS: usize = 1_000_000;
/// Items per command, and commands per round trip: enough to hide the network, small enough that no
/// command blocks the server for long.
const ITEMS_PER_COMMAND: usize = 250;
const COMMANDS_PER_TRIP: usize = 20;
const UNKNOWN_WORDS_SHOWN: usize = 60;
const WORDS_PER_LINE: usize = 5;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [list, text] = arguments.as_slice() else {
        return Err("usage: demo WORDS TEXT".into());
    };
    let (list, prose) = (read(list)?, read(text)?);
    let words: Vec<&str> = list.lines().collect();
    let known: HashSet<&str> = words.iter().copied().collect();
    let non_words = non_words(&known);

    let mut server = Server::start(Setup::ours());
    let mut client = server.connect()?;
    let scaling = BloomFilterScalingOptions::NonScaling;
    client.bf_reserve_options::<_, _, _, ()>(FILTER, ERROR_RATE, words.len(), scaling)?;
    let new = count_set(&mut client, "BF.MADD", "adding the words", &words)?;
    let found = count_set(&mut client, "BF.MEXISTS", "looking up the words", &words)?;
    let false_positives = count_set(&mut client, "BF.MEXISTS", "looking up non-words", &non_words)?;
    spell_check(&mut client, &known, text, &prose)?;
    for trip in words.chunks(ITEMS_PER_COMMAND * COMMANDS_PER_TRIP) {
        client.sadd::<_, _, ()>(SET, trip)?;
    }
    let (filter_bytes, set_bytes) = (memory(&mut client, FILTER)?, memory(&mut client, SET)?);

    redis::cmd("SAVE").query::<()>(&mut client)?;
    server.restart();
    let mut client = server.connect()?;
    let found_again = count_set(&mut client, "BF.MEXISTS", "after a restart", &words)?;

    let count = words.len();
    let (collisions, missing, missing_after_restart) =
        (count - new, count - found, count - found_again);
    let (rate, error) = percentage(false_positives, NON_WORDS);
    let requested = ERROR_RATE * 100.0;
    let per_word = |bytes: f64| bytes / count as f64;
    let (in_filter, in_set, times) =
        (per_word(filter_bytes), per_word(set_bytes), set_bytes / filter_bytes);
    println!(
        "
──────────────────────────────────────────────────────────────
words added                    {count:>9}
  reported as already present  {collisions:>9}
false negatives (must be 0)    {missing:>9}
  after a restart              {missing_after_restart:>9}
false positives                {false_positives:>9} of {NON_WORDS} non-words
  false-positive rate          {rate:>9.3} % ± {error:.3} %
  requested, at capacity       {requested:>9.3} %
memory of the filter           {filter_bytes:>9} bytes, {in_filter:.2} per word
memory of a SET of the words   {set_bytes:>9} bytes, {in_set:.2} per word
  relative to the filter       {times:>9.1}
──────────────────────────────────────────────────────────────"
    );
    match missing + missing_after_restart {
        0 => Ok(()),
        _ => Err("the filter has false negatives".into()),
    }
}

fn read(path: &str) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}").into())
}

/// Bytes of a key, counting all of its elements.
fn memory(client: &mut Connection, key: &str) -> Outcome<f64> {
    let mut command = redis::cmd("MEMORY");
    Ok(command.arg(&["USAGE", key, "SAMPLES", "0"]).query(client)?)
}

/// Sends all items in pipelined commands that return one flag per item, and counts the flags that
/// are set.
fn count_set<T>(client: &mut Connection, command: &str, label: &str, items: &[T]) -> Outcome<usize>
where
    T: AsRef<str>,
{
    let mut progress = Progress::start(label, items.len() as u64);
    let mut set = 0;
    for trip in items.chunks(ITEMS_PER_COMMAND * COMMANDS_PER_TRIP) {
        let mut pipeline = redis::pipe();
        for batch in trip.chunks(ITEMS_PER_COMMAND) {
            let batch: Vec<&str> = batch.iter().map(AsRef::as_ref).collect();
            pipeline.cmd(command).arg(FILTER).arg(batch);
        }
        let replies: Vec<Vec<bool>> = pipeline.query(client)?;
        set += replies.iter().flatten().filter(|&&flag| flag).count();
        progress.advance(trip.len() as u64);
    }
    progress.report();
    Ok(set)
}

/// A million strings of 8 to 15 letters that are not words, the same in every run.
fn non_words(known: &HashSet<&str>) -> Vec<String> {
    let mut state = 0_u64;
    // SplitMix64 (Steele, Lea, Flood 2014): the shortest generator whose letters show no pattern.
    let mut random = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    let mut letters = || -> String {
        let length = 8 + random() % 8;
        let letter = |_| char::from(b'a' + (random() % 26) as u8);
        (0..length).map(letter).collect()
    };
    let mut non_words = Vec::with_capacity(NON_WORDS);
    while non_words.len() < NON_WORDS {
        let string = letters();
        if !known.contains(string.as_str()) {
            non_words.push(string);
        }
    }
    non_words
}

/// A proportion in per cent and its standard error √(p(1−p)/n): each non-word is an independent
/// trial.
fn percentage(part: usize, whole: usize) -> (f64, f64) {
    let share = part as f64 / whole as f64;
    (100.0 * share, 100.0 * (share * (1.0 - share) / whole as f64).sqrt())
}

/// Prints the words of a text that the filter does not know, and counts its false positives.
fn spell_check(
    client: &mut Connection,
    known: &HashSet<&str>,
    name: &str,
    text: &str,
) -> Outcome<()> {
    let words = words_of(text);
    let (mut unknown, mut false_positives) = (Vec::new(), 0);
    for word in &words {
        let spellings = spellings(word);
        let flags: Vec<bool> = client.bf_mexists(FILTER, &spellings)?;
        let in_list = spellings.iter().any(|word| known.contains(word.as_str()));
        match flags.contains(&true) {
            false => unknown.push(word.as_str()),
            true => false_positives += usize::from(!in_list),
        }
    }
    let (all, some) = (words.len(), unknown.len());
    println!("\n{name}: {all} distinct words, {some} of them not in the filter:");
    for line in unknown[..some.min(UNKNOWN_WORDS_SHOWN)].chunks(WORDS_PER_LINE) {
        let line: String = line.iter().map(|word| format!("{word:<16}")).collect();
        println!("    {}", line.trim_end());
    }
    if some > UNKNOWN_WORDS_SHOWN {
        println!("    … and {} more", some - UNKNOWN_WORDS_SHOWN);
    }
    println!("({false_positives} more are not in the list: false positives)\n");
    Ok(())
}

/// The distinct words of a text. Code (between backticks, as in Markdown) and tokens with a digit
/// or symbol inside (numbers, paths, addresses) are skipped; hyphens separate words.
fn words_of(text: &str) -> BTreeSet<String> {
    let prose: String = text.replace("```", "`").split('`').step_by(2).collect();
    let is_letter = |letter: char| letter.is_alphabetic() || letter == '\'';
    prose
        .replace('’', "'")
        .split(|letter: char| letter.is_whitespace() || "-–—".contains(letter))
        .map(|token| token.trim_matches(|letter: char| !letter.is_alphanumeric()))
        .filter(|token| token.chars().count() > 1 && token.chars().all(is_letter))
        .map(str::to_owned)
        .collect()
}

/// The spellings a list may have: as written, in lower case, and both without a possessive.
fn spellings(word: &str) -> Vec<String> {
    let mut spellings = vec![word.to_owned(), word.to_lowercase()];
    if let Some(owner) = word.strip_suffix("'s") {
        spellings.extend([owner.to_owned(), owner.to_lowercase()]);
    }
    spellings.dedup();
    spellings
}
