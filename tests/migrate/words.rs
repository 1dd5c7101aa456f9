//! Commands as clients of RedisBloom send them, good and bad ones, and what it acknowledged.

use splitbloom_harness::{Random, Reply};
use std::collections::{BTreeMap, BTreeSet};

/// Keys of each family.
const KEYS: u64 = 30;
/// Items that commands choose from, a key.
const ITEMS: u64 = 3000;
/// Items of a command with several.
const BATCH: u64 = 8;

/// A cuckoo filter from which items are deleted has one layer: with several, RedisBloom may delete
/// the copy of another item.
const LARGE: u64 = 1 << 17;

/// Commands that come first.
pub fn first_commands() -> impl Iterator<Item = String> {
    let keys = (0..KEYS).step_by(2);
    keys.map(|key| format!("CF.RESERVE cuckoo:{key} {LARGE}"))
}

/// What the primary acknowledged: what must be there in the end.
#[derive(Default)]
pub struct Acknowledged {
    /// Items of each Bloom filter that replies called new or present.
    bloom: BTreeMap<String, BTreeSet<Vec<u8>>>,
    /// Copies of each item that CF.ADD or CF.INSERT added and CF.DEL has not taken away. (What
    /// CF.ADDNX adds may be found by mistake on either server, and is not deleted.)
    copies: BTreeMap<String, BTreeMap<Vec<u8>, i64>>,
}

/// A command, and what to make of its reply.
pub struct Command {
    pub words: Vec<Vec<u8>>,
    effect: Effect,
}

enum Effect {
    None,
    Gone,
    Bloom(Vec<Vec<u8>>),
    Copies(Vec<Vec<u8>>),
    Delete(Vec<u8>),
}

fn command(line: &str, effect: Effect) -> Command {
    let words = line.split_whitespace().map(|word| word.as_bytes().to_vec());
    Command { words: words.collect(), effect }
}

fn with_items(line: &str, items: Vec<Vec<u8>>, effect: fn(Vec<Vec<u8>>) -> Effect) -> Command {
    let mut command = command(line, Effect::None);
    command.words.extend(items.iter().cloned());
    command.effect = effect(items);
    command
}

fn some_items(random: &mut Random, most: u64) -> Vec<Vec<u8>> {
    let items = 1 + random.below(most);
    (0..items).map(|_| format!("item:{}", random.below(ITEMS)).into_bytes()).collect()
}

impl Acknowledged {
    /// The next command. Some fail, and some change nothing.
    pub fn next(&self, random: &mut Random) -> Command {
        if random.percent(50) {
            bloom(random)
        } else {
            self.cuckoo(random)
        }
    }

    fn cuckoo(&self, random: &mut Random) -> Command {
        let number = random.below(KEYS);
        let (key, deletes) = (format!("cuckoo:{number}"), number.is_multiple_of(2));
        match random.below(100) {
            0..=2 if deletes => command(&format!("CF.RESERVE {key} {LARGE}"), Effect::None),
            0 => command(&format!("DEL {key}"), Effect::Gone),
            1..=2 => {
                let capacity = 1 << (3 + random.below(8));
                let expansion = random.below(3);
                let line = format!("CF.RESERVE {key} {capacity} EXPANSION {expansion} FOO");
                command(&line, Effect::None)
            }
            3 => command(&format!("CF.RESERVE {key} 10 BUCKETSIZE 0"), Effect::None),
            4..=5 => command(&format!("CF.COMPACT {key}"), Effect::None),
            6..=15 => {
                with_items(&format!("CF.ADDNX {key}"), some_items(random, 1), |_| Effect::None)
            }
            16..=20 => with_items(
                &format!("CF.INSERT {key} nocreate items"),
                some_items(random, BATCH),
                Effect::Copies,
            ),
            21..=40 => with_items(
                &format!("CF.INSERT {key} CAPACITY 500 ITEMS"),
                some_items(random, BATCH),
                Effect::Copies,
            ),
            41..=70 => with_items(&format!("CF.ADD {key}"), some_items(random, 1), Effect::Copies),
            _ if !deletes => command(&format!("CF.DEL nothing:{key} item"), Effect::None),
            _ => {
                let copies = self.copies.get(&key).into_iter().flatten();
                let present: Vec<_> = copies.filter(|(_, copies)| **copies > 0).collect();
                if present.is_empty() {
                    return command(&format!("CF.DEL nothing:{key} item"), Effect::None);
                }
                let (item, _) = random.pick(&present);
                let mut delete = command(&format!("CF.DEL {key}"), Effect::None);
                delete.words.push((*item).clone());
                delete.effect = Effect::Delete((*item).clone());
                delete
            }
        }
    }

    /// Notes what the primary replied.
    pub fn note(&mut self, Command { words, effect }: Command, reply: &Reply) {
        let key = String::from_utf8_lossy(&words[1]).into_owned();
        let replies = match reply {
            Reply::Array(replies) => replies.as_slice(),
            reply => std::slice::from_ref(reply),
        };
        match effect {
            Effect::None => {}
            Effect::Gone => {
                self.bloom.remove(&key);
                self.copies.remove(&key);
            }
            Effect::Bloom(items) => {
                let taken = items.into_iter().zip(replies);
                let taken = taken.filter(|(_, reply)| !reply.is_error());
                self.bloom.entry(key).or_default().extend(taken.map(|(item, _)| item));
            }
            Effect::Copies(items) => {
                let copies = self.copies.entry(key).or_default();
                for (item, reply) in items.into_iter().zip(replies) {
                    let is_added = !reply.is_error() && reply.integer() == 1;
                    *copies.entry(item).or_default() += i64::from(is_added);
                }
            }
            Effect::Delete(item) => {
                let copies = self.copies.entry(key).or_default().entry(item);
                if !reply.is_error() && reply.integer() == 1 {
                    *copies.or_default() -= 1;
                }
            }
        }
    }

    /// Commands whose replies must all be ones, and how many items they look up.
    pub fn questions(&self) -> (Vec<Vec<Vec<u8>>>, usize) {
        let bloom = self.bloom.iter().map(|(key, items)| {
            let items: Vec<Vec<u8>> = items.iter().cloned().collect();
            ("BF.MEXISTS", key, items)
        });
        let copies = self.copies.iter().map(|(key, copies)| {
            let present = copies.iter().filter(|(_, copies)| **copies > 0);
            let items: Vec<Vec<u8>> = present.map(|(item, _)| item.clone()).collect();
            ("CF.MEXISTS", key, items)
        });
        let asked = bloom.chain(copies).filter(|(.., items)| !items.is_empty());
        let mut total = 0;
        let questions = asked.map(|(name, key, items)| {
            total += items.len();
            let head = [name.as_bytes().to_vec(), key.clone().into_bytes()];
            head.into_iter().chain(items).collect()
        });
        (questions.collect(), total)
    }
}

fn bloom(random: &mut Random) -> Command {
    let key = format!("bloom:{}", random.below(KEYS));
    match random.below(100) {
        0 => command(&format!("DEL {key}"), Effect::Gone),
        1..=3 => {
            let capacity = 1 + random.below(200);
            let growth = *random.pick(&["", "NONSCALING", "EXPANSION 1", "EXPANSION 4", "FOO"]);
            let rate = *random.pick(&["0.01", "0.2", "0.5", "0.0001"]);
            let line = format!("BF.RESERVE {key} {rate} {capacity} {growth}");
            command(&line, Effect::None)
        }
        4 => command(&format!("BF.RESERVE {key} 2 100"), Effect::None),
        5 => command(&format!("BF.LOADCHUNK {key} 1 nonsense"), Effect::None),
        6..=15 => with_items(
            &format!("BF.INSERT {key} nocreate items"),
            some_items(random, BATCH),
            Effect::Bloom,
        ),
        16..=25 => with_items(
            &format!("BF.INSERT {key} cap 20 nonscaling items"),
            some_items(random, BATCH),
            Effect::Bloom,
        ),
        26..=60 => with_items(&format!("BF.MADD {key}"), some_items(random, BATCH), Effect::Bloom),
        _ => with_items(&format!("BF.ADD {key}"), some_items(random, 1), Effect::Bloom),
    }
}
