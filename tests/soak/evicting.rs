//! A server that is too small for what goes in: filters are evicted, each as a whole, and the process is the same to the end.

use crate::harness::{
    count_found, eventually, item, missing_items, resident, stranger, Connection, Random, Reply,
    Server,
};
use crate::model::{Known, RATES};
use crate::rates::Rates;
use crate::tally::Tally;
use crate::Time;
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

/// Memory for filters: some dozens of them.
const ROOM: i64 = 6 << 20;
const KEYS: u64 = 200;
const ITEMS: u64 = 2000;
/// Between two rounds, so that the soak leaves most of the machine to others.
const REST: Duration = Duration::from_millis(150);
/// Rounds between two times that everything is deleted.
const ROUNDS_TO_A_CLEARING: u64 = 1000;
/// What the server may have more of after a clearing than before the first one: its own tables, and caches of the allocator.
const SLACK: i64 = 2 << 20;

pub fn run(seed: u64, time: &Time, tally: &Tally, rates: &Rates) {
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
        make_or_add(&mut db, &mut known, &mut random, &key, numbers, tally);
        let asked = format!("k{}", random.below(KEYS));
        ask(&mut db, &mut known, &asked, tally);
        if let Some(known) = known.get(&key) {
            sample_strangers(&mut db, &mut random, &key, known, rates);
        }
        if random.percent(5) {
            copy_to_another(&mut db, &mut known, &mut random, &key);
        }
        if rounds.is_multiple_of(ROUNDS_TO_A_CLEARING) {
            known.clear();
            clear(&mut db, held, used);
            tally.memory_returned.add(1);
        }
        server.ask_standing_questions();
        sleep(REST);
    }
    tally
        .filters_evicted
        .add(db.info_number("stats", "evicted_keys") as u64);
    clear(&mut db, held, used);
    assert_eq!(server.process(), process, "the same process to the end");
    println!(
        "the server that evicts: resident {} MiB after all was deleted",
        resident(process) >> 20
    );
}

fn make_or_add(
    db: &mut Connection,
    known: &mut BTreeMap<String, Known>,
    random: &mut Random,
    key: &str,
    numbers: std::ops::Range<u64>,
    tally: &Tally,
) {
    if !known.contains_key(key) {
        let rate = *random.pick(&RATES);
        let capacity = *random.pick(&["100", "10000", "200000"]);
        match db
            .ask(&format!("BF.RESERVE {key} {rate} {capacity}"))
            .as_str()
        {
            "+OK" => known.insert(key.to_owned(), Known::new(rate)),
            refusal => return assert!(refusal.starts_with("-OOM "), "{refusal}"),
        };
    }
    let head = ["BF.INSERT", key, "NOCREATE", "ITEMS"].map(|word| word.as_bytes().to_vec());
    tally.commands.add(1);
    match db.call(head.into_iter().chain(numbers.clone().map(item))) {
        Reply::Array(answers) => {
            assert_eq!(answers.len() as u64, ITEMS);
            tally.items.add(ITEMS);
            known
                .get_mut(key)
                .expect("a filter of the model")
                .add(numbers);
        }
        Reply::Error(text) if text == "ERR not found" => drop(known.remove(key)),
        Reply::Error(text) if text.starts_with("OOM ") => {}
        other => panic!("{key}: {other}"),
    }
}

/// Whether a filter is there or not: its items are there all together, or not one of them.
fn ask(db: &mut Connection, known: &mut BTreeMap<String, Known>, key: &str, tally: &Tally) {
    let Some(filter) = known.get(key) else {
        return;
    };
    tally.commands.add(1);
    let missing: u64 = filter
        .ranges()
        .iter()
        .map(|range| missing_items(db, key, range.clone()))
        .sum();
    // Nobody else makes it anew: if it is there now, it was there all the time.
    if is_there(db, key) {
        assert_eq!(missing, 0, "{key} is there and denies items that it has");
        tally.items_asked.add(filter.count());
    } else {
        known.remove(key);
    }
}

fn is_there(db: &mut Connection, key: &str) -> bool {
    db.ask(&format!("EXISTS {key}")) == ":1"
}

fn sample_strangers(
    db: &mut Connection,
    random: &mut Random,
    key: &str,
    known: &Known,
    rates: &Rates,
) {
    const STRANGERS: u64 = 500;
    let first = random.next() >> 1;
    let found = count_found(db, key, first..first + STRANGERS, stranger);
    if is_there(db, key) {
        rates.record(known.rate, STRANGERS, found);
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
    eventually("all memory is back", || {
        db.info_number("bf", "bf_filters") == 0
            && db.info_number("bf", "bf_bytes_held") == held
            && db.info_number("memory", "used_memory") < used + SLACK
    });
}
