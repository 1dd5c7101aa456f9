//! A server with too little memory for its filters: each is evicted as a whole, and the process
//! survives to the end.

use crate::counters::{Count, Counters};
use crate::model::{Known, RATES};
use crate::rates::Rates;
use crate::Time;
use splitbloom_harness::{
    absent_item, eventually, item, resident, Connection, Family, Random, Reply, Server,
};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

/// Memory for a few dozen filters.
const ROOM: i64 = 6 << 20;
const KEYS: u64 = 200;
const ITEMS: u64 = 2000;
/// A pause between rounds, to leave most of the machine to others.
const REST: Duration = Duration::from_millis(150);
/// Rounds between two deletions of everything.
const ROUNDS_PER_CLEARING: u64 = 1000;
/// How much more memory the server may use after a clearing than at the start: its own tables, and
/// the allocator's caches.
const SLACK: i64 = 2 << 20;

pub fn run(seed: u64, time: &Time, counters: &Counters, rates: &Rates) {
    let mut server = Server::configured(&["maxmemory-policy allkeys-lru"]);
    let process = server.process();
    let mut db = server.connect();
    let used = db.info_number("memory", "used_memory");
    let held = db.info_number("bf", "bf_bytes_held");
    db.run(&format!("CONFIG SET maxmemory {}", used + ROOM));
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut random = Random::seeded(!seed);
    let mut next_item = 0;
    let mut rounds: u64 = 0;
    while !time.is_over() {
        rounds += 1;
        let key = format!("k{}", random.below(KEYS));
        let numbers = next_item..next_item + ITEMS;
        next_item = numbers.end;
        create_or_add(&mut db, &mut known, &mut random, &key, numbers, counters);
        let asked = format!("k{}", random.below(KEYS));
        look_up(&mut db, &mut known, &asked, counters);
        if let Some(known) = known.get(&key) {
            sample_absent_items(&mut db, &mut random, &key, known, rates);
        }
        if random.percent(5) {
            copy_to_another(&mut db, &mut known, &mut random, &key);
        }
        if rounds.is_multiple_of(ROUNDS_PER_CLEARING) {
            known.clear();
            clear(&mut db, held, used);
            counters.add(Count::MemoryReturned, 1);
        }
        server.check_health();
        sleep(REST);
    }
    counters.add(Count::FiltersEvicted, db.info_number("stats", "evicted_keys") as u64);
    clear(&mut db, held, used);
    assert_eq!(server.process(), process, "the process survives to the end");
    println!(
        "the evicting server: resident {} MiB after everything was deleted",
        resident(process) >> 20
    );
}

fn create_or_add(
    db: &mut Connection,
    known: &mut BTreeMap<String, Known>,
    random: &mut Random,
    key: &str,
    numbers: std::ops::Range<u64>,
    counters: &Counters,
) {
    if !known.contains_key(key) {
        let rate = *random.pick(&RATES);
        let capacity = *random.pick(&["100", "10000", "200000"]);
        let (family, reserve) = match random.percent(50) {
            true => (Family::Bloom, format!("BF.RESERVE {key} {rate} {capacity}")),
            false => (Family::Counting, format!("CF.RESERVE {key} {capacity} ERROR {rate}")),
        };
        match db.ask(&reserve).as_str() {
            "+OK" => known.insert(key.to_owned(), Known::new(family, rate)),
            refusal => return assert!(refusal.starts_with("-OOM "), "{refusal}"),
        };
    }
    let insert = known[key].family.command("INSERT");
    let head = [&insert, key, "NOCREATE", "ITEMS"].map(|word| word.as_bytes().to_vec());
    counters.add(Count::Commands, 1);
    match db.call(head.into_iter().chain(numbers.clone().map(item))) {
        Reply::Array(answers) => {
            assert_eq!(answers.len() as u64, ITEMS);
            counters.add(Count::Items, ITEMS);
            known.get_mut(key).expect("a filter of the model").add(numbers);
        }
        Reply::Error(text) if text == "ERR not found" => drop(known.remove(key)),
        Reply::Error(text) if text.starts_with("OOM ") => {}
        other => panic!("{key}: {other}"),
    }
}

/// Either the filter is present with all of its items, or it is gone with all of them.
fn look_up(
    db: &mut Connection,
    known: &mut BTreeMap<String, Known>,
    key: &str,
    counters: &Counters,
) {
    let Some(filter) = known.get(key) else {
        return;
    };
    counters.add(Count::Commands, 1);
    let missing: u64 = filter
        .ranges()
        .iter()
        .map(|range| filter.family.missing_items(db, key, range.clone()))
        .sum();
    // Nobody else creates it: if it is present now, it was present all the time.
    if is_present(db, key) {
        assert_eq!(missing, 0, "{key} is present and has false negatives");
        counters.add(Count::ItemsAsked, filter.count());
    } else {
        known.remove(key);
    }
}

fn is_present(db: &mut Connection, key: &str) -> bool {
    db.ask(&format!("EXISTS {key}")) == ":1"
}

fn sample_absent_items(
    db: &mut Connection,
    random: &mut Random,
    key: &str,
    known: &Known,
    rates: &Rates,
) {
    const ABSENT_ITEMS: u64 = 500;
    let first = random.number() >> 1;
    let numbers = first..first + ABSENT_ITEMS;
    let found = known.family.count_found(db, key, numbers, absent_item);
    if is_present(db, key) {
        rates.record(known.rate, ABSENT_ITEMS, found);
    }
}

fn copy_to_another(
    db: &mut Connection,
    known: &mut BTreeMap<String, Known>,
    random: &mut Random,
    key: &str,
) {
    let to = format!("k{}", random.below(KEYS));
    let Some(filter) = known.get(key).filter(|_| to != key).cloned() else {
        return;
    };
    match db.ask(&format!("COPY {key} {to} REPLACE")).as_str() {
        ":1" => drop(known.insert(to, filter)),
        ":0" => drop(known.remove(key)),
        refusal => assert!(refusal.starts_with("-OOM "), "{refusal}"),
    }
}

fn clear(db: &mut Connection, held: i64, used: i64) {
    db.run("FLUSHALL");
    eventually("all memory is returned", || {
        db.info_number("bf", "bf_filters") == 0
            && db.info_number("bf", "bf_bytes_held") == held
            && db.info_number("memory", "used_memory") < used + SLACK
    });
}
