//! A dictionary in a Bloom filter: the words of a word list go in, all of them and a million other
//! strings are asked for, a text is spell-checked, and the server saves, restarts and is asked again.
//!
//! `make demo` runs it. It starts a server of its own on a free loopback port, with `SPLITBLOOM_SERVER`
//! (an executable) and `SPLITBLOOM_MODULE` (the built module), and talks to it as any client would.

mod progress;
#[allow(dead_code)] // a part of it serves the benchmarks
#[path = "../../benches/rig/server.rs"]
mod server;

use std::collections::{BTreeSet, HashSet};
use std::error::Error;
use std::{env, fs};

use redis::{bloom::BloomFilterScalingOptions, Commands, Connection};

use progress::Progress;
use server::{Server, Setup};

type Outcome<T> = Result<T, Box<dyn Error>>;

const FILTER: &str = "words";
const SET: &str = "words:set";
const ERROR_RATE: f64 = 0.01;
const STRANGERS: usize = 1_000_000;
/// Items in one command, and commands in one round trip: enough to make the network disappear, small
/// enough that no single command holds the server up for long.
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
    let strangers = strangers(&known);

    let mut server = Server::start(Setup::ours()?)?;
    let mut client = server.connect()?;
    let scaling = BloomFilterScalingOptions::NonScaling;
    client.bf_reserve_options::<_, _, _, ()>(FILTER, ERROR_RATE, words.len(), scaling)?;
    let new = ask(&mut client, "BF.MADD", "adding the words", &words)?;
    let found = ask(&mut client, "BF.MEXISTS", "asking for the words", &words)?;
    let mistaken = ask(&mut client, "BF.MEXISTS", "asking strangers", &strangers)?;
    spell_check(&mut client, &known, text, &prose)?;
    for trip in words.chunks(ITEMS_PER_COMMAND * COMMANDS_PER_TRIP) {
        client.sadd::<_, _, ()>(SET, trip)?;
    }
    let (filter_bytes, set_bytes) = (memory(&mut client, FILTER)?, memory(&mut client, SET)?);

    redis::cmd("SAVE").query::<()>(&mut client)?;
    server.restart()?;
    let mut client = server.connect()?;
    let found_again = ask(&mut client, "BF.MEXISTS", "asking after a restart", &words)?;

    let count = words.len();
    let (seen, denied, denied_again) = (count - new, count - found, count - found_again);
    let (rate, error) = percentage(mistaken, STRANGERS);
    let asked_for = ERROR_RATE * 100.0;
    let a_word = |bytes: f64| bytes / count as f64;
    let (in_filter, in_set, times) = (
        a_word(filter_bytes),
        a_word(set_bytes),
        set_bytes / filter_bytes,
    );
    println!(
        "
──────────────────────────────────────────────────────────────
words added                    {count:>9}
  taken for one seen before    {seen:>9}
words denied (none may be)     {denied:>9}
words denied after a restart   {denied_again:>9}
strangers taken for words      {mistaken:>9} of {STRANGERS}
  false-positive rate          {rate:>9.3} % ± {error:.3} %
  asked for, at capacity       {asked_for:>9.3} %
memory of the filter           {filter_bytes:>9} bytes, {in_filter:.2} a word
memory of a SET of the words   {set_bytes:>9} bytes, {in_set:.2} a word
  times the filter's           {times:>9.1}
──────────────────────────────────────────────────────────────"
    );
    match denied + denied_again {
        0 => Ok(()),
        _ => Err("the filter denies words that were added".into()),
    }
}

fn read(path: &str) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}").into())
}

/// The bytes a key takes, every element of it counted.
fn memory(client: &mut Connection, key: &str) -> Outcome<f64> {
    let mut command = redis::cmd("MEMORY");
    Ok(command.arg(&["USAGE", key, "SAMPLES", "0"]).query(client)?)
}

/// Sends all items in pipelined commands that answer a flag an item, and counts the flags that are set.
fn ask<T>(client: &mut Connection, command: &str, label: &str, items: &[T]) -> Outcome<usize>
where
    T: AsRef<str>,
{
    let mut progress = Progress::start(label, items.len());
    let mut set = 0;
    for trip in items.chunks(ITEMS_PER_COMMAND * COMMANDS_PER_TRIP) {
        let mut pipeline = redis::pipe();
        for batch in trip.chunks(ITEMS_PER_COMMAND) {
            let batch: Vec<&str> = batch.iter().map(AsRef::as_ref).collect();
            pipeline.cmd(command).arg(FILTER).arg(batch);
        }
        let replies: Vec<Vec<bool>> = pipeline.query(client)?;
        set += replies.iter().flatten().filter(|&&flag| flag).count();
        progress.advance(trip.len());
    }
    progress.finish();
    Ok(set)
}

/// A million strings of 8 to 15 letters that are no words, the same in every run.
fn strangers(known: &HashSet<&str>) -> Vec<String> {
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
    let mut strangers = Vec::with_capacity(STRANGERS);
    while strangers.len() < STRANGERS {
        let string = letters();
        if !known.contains(string.as_str()) {
            strangers.push(string);
        }
    }
    strangers
}

/// A share in per cent, and its standard error √(p(1−p)/n): each stranger is one independent trial.
fn percentage(part: usize, whole: usize) -> (f64, f64) {
    let share = part as f64 / whole as f64;
    (
        100.0 * share,
        100.0 * (share * (1.0 - share) / whole as f64).sqrt(),
    )
}

/// Prints the words of a text that the filter does not know, and what it let pass by mistake.
fn spell_check(
    client: &mut Connection,
    known: &HashSet<&str>,
    name: &str,
    text: &str,
) -> Outcome<()> {
    let words = words_of(text);
    let (mut unknown, mut passed) = (Vec::new(), 0);
    for word in &words {
        let spellings = spellings(word);
        let flags: Vec<bool> = client.bf_mexists(FILTER, &spellings)?;
        let in_list = spellings.iter().any(|word| known.contains(word.as_str()));
        match flags.contains(&true) {
            false => unknown.push(word.as_str()),
            true => passed += usize::from(!in_list),
        }
    }
    let (all, some) = (words.len(), unknown.len());
    println!("\n{name}: {all} different words, of which the filter does not know {some}:");
    for line in unknown[..some.min(UNKNOWN_WORDS_SHOWN)].chunks(WORDS_PER_LINE) {
        let line: String = line.iter().map(|word| format!("{word:<16}")).collect();
        println!("    {}", line.trim_end());
    }
    if some > UNKNOWN_WORDS_SHOWN {
        println!("    … and {} more", some - UNKNOWN_WORDS_SHOWN);
    }
    println!("({passed} more it let pass that are not in the list: its false positives)\n");
    Ok(())
}

/// The different words of a text. Code (between backticks, as in Markdown) and whatever has a digit or
/// a symbol inside (numbers, paths, addresses) is no word; hyphens part words.
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

/// The ways a list may hold a word: as it stands, in lower case, and both without a possessive.
fn spellings(word: &str) -> Vec<String> {
    let mut spellings = vec![word.to_owned(), word.to_lowercase()];
    if let Some(owner) = word.strip_suffix("'s") {
        spellings.extend([owner.to_owned(), owner.to_lowercase()]);
    }
    spellings.dedup();
    spellings
}
