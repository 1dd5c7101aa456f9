//! Random CF commands against a plain multiset.

use splitbloom_harness::{trials, words, Random, Server};
use std::collections::HashMap;

/// Commands, unless [`trials`] says otherwise.
const COMMANDS: u64 = 30_000;
const KEYS: u64 = 8;
/// Few enough for each to be added several times.
const ITEMS: u64 = 5000;

/// An error rate without false positives: 10^7 commands, which look up some 10^7 items, find one
/// wrongly once in 10^5 runs.
const CREATION: &str = "ERROR 0.000000000001";

/// A command with the reply that it must get.
fn command(random: &mut Random, model: &mut HashMap<u64, HashMap<u64, i64>>) -> (String, String) {
    let key = random.below(KEYS);
    let capacity = match key {
        0 => 40, // does not grow
        _ => 10,
    };
    let is_missing = !model.contains_key(&key);
    if is_missing {
        model.insert(key, HashMap::new());
        let expansion = i32::from(key != 0);
        let line = format!("CF.RESERVE k{key} {capacity} EXPANSION {expansion} {CREATION}");
        return (line, "+OK".to_owned());
    }
    let copies = model.get_mut(&key).expect("a key");
    let mut item = || random.below(if key == 0 { 60 } else { ITEMS });
    let items: Vec<u64> = (0..5).map(|_| item()).collect();
    let line: String = items.iter().map(|item| format!(" {item}")).collect();
    let first = items[0];
    let count = |copies: &HashMap<u64, i64>, item| copies.get(&item).copied().unwrap_or(0);
    let is_full = |copies: &HashMap<u64, i64>| key == 0 && copies.values().sum::<i64>() >= capacity;
    let mut add = |item, absent: bool| {
        if absent && count(copies, item) > 0 {
            0
        } else if is_full(copies) {
            -1
        } else {
            *copies.entry(item).or_default() += 1;
            1
        }
    };
    let one = |added: i64| match added {
        -1 => "-ERR Filter is full".to_owned(),
        added => format!(":{added}"),
    };
    let several = |answers: Vec<i64>| {
        let answers: Vec<String> = answers.iter().map(|answer| format!(":{answer}")).collect();
        format!("[{}]", answers.join(", "))
    };
    match random.below(1000) {
        0 => {
            model.remove(&key);
            (format!("DEL k{key}"), ":1".to_owned())
        }
        1..=149 => (format!("CF.ADD k{key} {first}"), one(add(first, false))),
        150..=249 => (format!("CF.ADDNX k{key} {first}"), one(add(first, true))),
        250..=349 => {
            let answers = items.iter().map(|item| add(*item, false)).collect();
            (format!("CF.INSERT k{key} ITEMS{line}"), several(answers))
        }
        350..=449 => {
            let answers = items.iter().map(|item| add(*item, true)).collect();
            (format!("CF.INSERTNX k{key} ITEMS{line}"), several(answers))
        }
        450..=799 => {
            let left = count(copies, first);
            copies.insert(first, 0.max(left - 1));
            let removed = i64::from(left > 0);
            (format!("CF.DEL k{key} {first}"), format!(":{removed}"))
        }
        800..=899 => {
            let copies = count(copies, first);
            (format!("CF.COUNT k{key} {first}"), format!(":{copies}"))
        }
        _ => {
            let found = items.iter().map(|item| i64::from(count(copies, *item) > 0));
            let found = several(found.collect());
            (format!("CF.MEXISTS k{key}{line}"), found)
        }
    }
}

#[test]
fn random_commands_get_the_replies_of_a_multiset_and_a_replica_holds_the_same() {
    let commands = trials(COMMANDS);
    let (primary, mut db) = Server::start().with_client();
    let replica = primary.replica(&[]);
    let (mut random, mut model) = (Random::seeded(11), HashMap::new());
    let (mut left, mut refused) = (commands, 0);
    while left > 0 {
        let batch = left.min(10_000);
        let cases: Vec<(String, String)> =
            (0..batch).map(|_| command(&mut random, &mut model)).collect();
        let replies = db.pipeline(cases.iter().map(|(line, _)| words(line)));
        for ((line, expected), reply) in cases.iter().zip(replies) {
            assert_eq!(reply.to_string(), *expected, "{line}");
            refused += u64::from(expected.contains("full") || expected.contains(":-1"));
        }
        left -= batch;
    }
    assert!(refused > commands / 100, "the filter that does not grow is often full: {refused}");
    for (key, copies) in &model {
        let info = db.line(&format!("CF.INFO k{key}"));
        let items: i64 = copies.values().sum();
        assert_eq!(info.field("Number of items inserted").integer(), items);
    }
    crate::replication::assert_follows(&primary, &replica);
}
