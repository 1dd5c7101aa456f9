//! A player: one connection, keys of its own, and a model of them. It plays random commands, and each answer must fit.
//!
//! A reply that never comes leaves its key in doubt: the command may have been done or not. Such keys are deleted once the server
//! is back. Items in doubt are not counted.

use crate::harness::{item, stranger, Connection, Random, Reply};
use crate::model::{Known, Model, RATES};
use crate::rates::Rates;
use crate::tally::Tally;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// The filter that all players add to.
pub const SHARED: &str = "shared";
pub const SHARED_RATE: &str = "0.001";

const KEYS: u64 = 12;
/// A filter with more items is deleted rather than added to, so that a census stays short.
const MANY_ITEMS: u64 = 20_000;
const STRANGERS: u64 = 500;
/// Each player's items have numbers of their own.
const NUMBERS_OF_A_PLAYER: u64 = 1 << 40;
/// Between two attempts to reach a server that is not there.
const PAUSE: Duration = Duration::from_millis(50);

/// The server went away before it answered, or answered that it is still loading.
pub struct Lost;

type Played = Result<(), Lost>;

pub struct Player {
    name: u64,
    port: u16,
    random: Random,
    db: Option<Connection>,
    pub model: Model,
    /// What it has added to the shared filter.
    pub shared: Known,
    in_doubt: Vec<String>,
    next_item: u64,
    tally: Arc<Tally>,
    rates: Arc<Rates>,
}

impl Player {
    pub fn new(name: u64, port: u16, seed: u64, tally: &Arc<Tally>, rates: &Arc<Rates>) -> Player {
        Player {
            name,
            port,
            random: Random::seeded(seed.wrapping_add(name << 32)),
            db: None,
            model: Model::default(),
            shared: Known::new(SHARED_RATE),
            in_doubt: Vec::new(),
            next_item: name * NUMBERS_OF_A_PLAYER,
            tally: tally.clone(),
            rates: rates.clone(),
        }
    }

    /// One random action. Where the server is gone, the next one waits for it.
    pub fn play(&mut self) {
        if self.act().is_err() {
            self.tally.replies_lost.add(1);
            self.db = None;
            sleep(PAUSE);
        }
    }

    /// Forgets all keys; the server has forgotten them already.
    pub fn forget(&mut self) {
        self.model = Model::default();
        self.shared = Known::new(SHARED_RATE);
        self.in_doubt.clear();
    }

    /// Deletes what is in doubt, so that the model is right again.
    pub fn settle(&mut self) -> Played {
        while let Some(key) = self.in_doubt.last().cloned() {
            self.ask(&["DEL", &key])?;
            self.model.keys.remove(&key);
            self.in_doubt.pop();
        }
        Ok(())
    }

    fn act(&mut self) -> Played {
        self.settle()?;
        let chance = self.random.below(100);
        let Some(key) = self.model.any(&mut self.random) else {
            return self.reserve();
        };
        match chance {
            0..=4 => self.reserve(),
            5..=39 => self.add(&key),
            40..=49 => self.add_to_shared(),
            50..=64 => self.ask_for_items(&key),
            65..=74 => self.ask_for_strangers(&key),
            75..=79 => self.add_again(&key),
            80..=82 => self.copy(&key),
            83..=85 => self.rename(&key),
            86..=88 => self.delete(&key),
            89..=90 => self.expire(&key),
            91..=93 => self.dump_and_restore(&key),
            94..=95 => self.dump_and_load(&key),
            _ => self.look_at(&key),
        }
    }

    fn reserve(&mut self) -> Played {
        let key = self.some_name();
        if self.model.keys.contains_key(&key) {
            return Ok(());
        }
        let rate = *self.random.pick(&RATES);
        let capacity = self
            .random
            .pick(&["100", "1000", "5000", "100000"])
            .to_string();
        let options: &[&str] = match self.random.below(4) {
            0 => &["NONSCALING"],
            1 => &["EXPANSION", "1"],
            2 => &["EXPANSION", "4"],
            _ => &[],
        };
        let reply = if self.random.percent(50) {
            let words = [&["BF.RESERVE", &key, rate, &capacity], options].concat();
            self.change(&[&key], &words)?
        } else {
            let numbers = self.new_items(3);
            let head = ["BF.INSERT", &key, "CAPACITY", &capacity, "ERROR", rate];
            let words = [&head, options, &["ITEMS"]].concat();
            let items = numbers.clone().map(item);
            let reply = self.change_with(&[&key], &words, items)?;
            let mut known = Known::new(rate);
            known.add(self.acknowledged(numbers, &reply));
            self.model.keys.insert(key, known);
            return Ok(());
        };
        assert_eq!(reply.to_string(), "+OK", "BF.RESERVE {key}");
        self.model.keys.insert(key, Known::new(rate));
        Ok(())
    }

    fn add(&mut self, key: &str) -> Played {
        if self.model.keys[key].count() > MANY_ITEMS {
            return self.delete(key);
        }
        let (words, most): (&[&str], u64) = match self.random.below(3) {
            0 => (&["BF.ADD", key], 1),
            1 => (&["BF.MADD", key], 100),
            _ => (&["BF.INSERT", key, "NOCREATE", "ITEMS"], 1000),
        };
        let count = 1 + self.random.below(most);
        let numbers = self.new_items(count);
        let reply = self.ask_with(words, numbers.clone().map(item))?;
        let acknowledged = self.acknowledged(numbers, &reply);
        self.known(key).add(acknowledged);
        Ok(())
    }

    fn add_to_shared(&mut self) -> Played {
        let numbers = self.new_items(20);
        let reply = self.ask_with(&["BF.MADD", SHARED], numbers.clone().map(item))?;
        let acknowledged = self.acknowledged(numbers, &reply);
        self.shared.add(acknowledged);
        Ok(())
    }

    fn ask_for_items(&mut self, key: &str) -> Played {
        let sample = self.model.keys[key].sample(&mut self.random, 50);
        if sample.is_empty() {
            return Ok(());
        }
        let reply = self.ask_with(&["BF.MEXISTS", key], sample.iter().copied().map(item))?;
        let all_there = reply.elements().iter().all(|answer| answer.integer() == 1);
        assert!(
            all_there,
            "{key} denies an acknowledged item: {sample:?} {reply}"
        );
        self.tally.items_asked.add(sample.len() as u64);
        Ok(())
    }

    fn ask_for_strangers(&mut self, key: &str) -> Played {
        let first = self.random.next() >> 1;
        let strangers = (first..first + STRANGERS).map(stranger);
        let reply = self.ask_with(&["BF.MEXISTS", key], strangers)?;
        let found = reply
            .elements()
            .iter()
            .filter(|answer| answer.integer() == 1);
        self.rates
            .record(self.model.keys[key].rate, STRANGERS, found.count() as u64);
        Ok(())
    }

    /// What is there is no news.
    fn add_again(&mut self, key: &str) -> Played {
        let sample = self.model.keys[key].sample(&mut self.random, 20);
        if sample.is_empty() {
            return Ok(());
        }
        let reply = self.ask_with(&["BF.MADD", key], sample.iter().copied().map(item))?;
        let none_new = reply.elements().iter().all(|answer| answer.integer() == 0);
        assert!(
            none_new,
            "{key} calls an acknowledged item new: {sample:?} {reply}"
        );
        Ok(())
    }

    fn copy(&mut self, key: &str) -> Played {
        let to = self.some_name();
        if to != key {
            let reply = self.change(&[&to], &["COPY", key, &to, "REPLACE"])?;
            assert_eq!(reply.to_string(), ":1", "COPY {key} {to}");
            self.becomes(&to, self.model.keys[key].clone());
        }
        Ok(())
    }

    fn rename(&mut self, key: &str) -> Played {
        let to = self.some_name();
        if to != key {
            let reply = self.change(&[key, &to], &["RENAME", key, &to])?;
            assert_eq!(reply.to_string(), "+OK", "RENAME {key} {to}");
            if let Some(known) = self.model.keys.remove(key) {
                self.becomes(&to, known);
            }
        }
        Ok(())
    }

    fn delete(&mut self, key: &str) -> Played {
        let command = *self.random.pick(&["DEL", "UNLINK"]);
        let reply = self.change(&[key], &[command, key])?;
        assert_eq!(reply.to_string(), ":1", "{command} {key}");
        self.is_gone(key)
    }

    fn expire(&mut self, key: &str) -> Played {
        if self.random.percent(50) {
            // Never in the life of a soak; the value is what it was.
            let reply = self.ask(&["EXPIRE", key, "1000000"])?;
            assert_eq!(reply.to_string(), ":1", "EXPIRE {key}");
            return Ok(());
        }
        self.change(&[key], &["PEXPIRE", key, "1"])?;
        self.in_doubt.push(key.to_owned());
        while self.ask(&["EXISTS", key])?.integer() == 1 {
            sleep(Duration::from_millis(1));
        }
        self.in_doubt.pop();
        self.is_gone(key)
    }

    fn dump_and_restore(&mut self, key: &str) -> Played {
        let to = self.some_name();
        let payload = self.ask(&["DUMP", key])?.bytes().to_vec();
        let replaced = to != key;
        let words = ["RESTORE", &to, "0"].map(|word| word.as_bytes().to_vec());
        self.in_doubt.push(to.clone());
        let reply =
            self.ask_with::<&str>(&[], words.into_iter().chain([payload, b"REPLACE".to_vec()]))?;
        self.in_doubt.pop();
        assert_eq!(reply.to_string(), "+OK", "RESTORE {to}");
        if replaced {
            self.becomes(&to, self.model.keys[key].clone());
        }
        Ok(())
    }

    fn dump_and_load(&mut self, key: &str) -> Played {
        let to = self.some_name();
        if to == key {
            return Ok(());
        }
        let mut pieces = Vec::new();
        let mut iterator = 0;
        loop {
            let reply = self.ask(&["BF.SCANDUMP", key, &iterator.to_string()])?;
            iterator = reply.elements()[0].integer();
            if iterator == 0 {
                break;
            }
            pieces.push((iterator, reply.elements()[1].bytes().to_vec()));
        }
        self.change(&[&to], &["DEL", &to])?;
        self.model.keys.remove(&to);
        self.in_doubt.push(to.clone());
        for (iterator, bytes) in pieces {
            let words = ["BF.LOADCHUNK", &to, &iterator.to_string()].map(String::from);
            let reply = self.ask_with(&words, [bytes].into_iter())?;
            assert_eq!(reply.to_string(), "+OK", "BF.LOADCHUNK {to}");
        }
        // A time to live is part of the server's digest of a key, and no part of the pieces.
        self.ask(&["PERSIST", key])?;
        let here = self.ask(&["DEBUG", "DIGEST-VALUE", key])?;
        let there = self.ask(&["DEBUG", "DIGEST-VALUE", &to])?;
        self.in_doubt.pop();
        assert_eq!(here, there, "{key} was loaded as {to}");
        self.becomes(&to, self.model.keys[key].clone());
        Ok(())
    }

    /// Counts may be lower than the model's by items taken for present, and higher by items in doubt.
    fn look_at(&mut self, key: &str) -> Played {
        let info = self.ask(&["BF.INFO", key, "FULL"])?;
        let inserted = info.field("Number of items inserted").integer();
        assert!(
            inserted <= info.field("Capacity").integer(),
            "{key}: {info}"
        );
        let cardinality = self.ask(&["BF.CARD", key])?.integer();
        assert_eq!(cardinality, inserted, "{key}");
        let usage = self.ask(&["MEMORY", "USAGE", key])?.integer();
        assert!(
            usage >= info.field("Size").integer(),
            "{key}: {usage} {info}"
        );
        Ok(())
    }

    fn some_name(&mut self) -> String {
        format!("player{}:{}", self.name, self.random.below(KEYS))
    }

    fn new_items(&mut self, count: u64) -> std::ops::Range<u64> {
        let first = self.next_item;
        self.next_item += count;
        first..self.next_item
    }

    /// The numbers that were acknowledged: all, or those before the one that a full filter refused.
    fn acknowledged(&self, numbers: std::ops::Range<u64>, reply: &Reply) -> std::ops::Range<u64> {
        let answers = match reply {
            Reply::Array(answers) => answers.as_slice(),
            one => std::slice::from_ref(one),
        };
        let good = answers
            .iter()
            .take_while(|answer| !answer.is_error())
            .count() as u64;
        if let Some(refusal) = answers.get(good as usize) {
            assert_eq!(refusal.to_string(), "-ERR non scaling filter is full");
        } else {
            assert_eq!(good, numbers.end - numbers.start, "{reply}");
        }
        self.tally.items.add(good);
        numbers.start..numbers.start + good
    }

    fn known(&mut self, key: &str) -> &mut Known {
        self.model.keys.get_mut(key).expect("a key of the model")
    }

    fn becomes(&mut self, key: &str, known: Known) {
        if self.model.keys.insert(key.to_owned(), known).is_some() {
            self.tally.keys_deleted.add(1);
        }
    }

    fn is_gone(&mut self, key: &str) -> Played {
        self.model.keys.remove(key);
        self.tally.keys_deleted.add(1);
        assert_eq!(
            self.ask(&["EXISTS", key])?.to_string(),
            ":0",
            "{key} was deleted"
        );
        let sample = self.ask(&["BF.EXISTS", key, "a"])?;
        assert_eq!(sample.to_string(), ":0", "{key} was deleted");
        Ok(())
    }

    /// A command whose keys are in doubt where the reply does not come.
    fn change(&mut self, keys: &[&str], words: &[&str]) -> Result<Reply, Lost> {
        self.change_with(keys, words, std::iter::empty())
    }

    fn change_with(
        &mut self,
        keys: &[&str],
        words: &[&str],
        rest: impl Iterator<Item = Vec<u8>>,
    ) -> Result<Reply, Lost> {
        let reply = self.ask_with(words, rest);
        if reply.is_err() {
            self.in_doubt.extend(keys.iter().map(|key| key.to_string()));
        }
        reply
    }

    fn ask(&mut self, words: &[&str]) -> Result<Reply, Lost> {
        self.ask_with(words, std::iter::empty())
    }

    fn ask_with<W: AsRef<str>>(
        &mut self,
        words: &[W],
        rest: impl Iterator<Item = Vec<u8>>,
    ) -> Result<Reply, Lost> {
        if self.db.is_none() {
            self.db = Connection::open(self.port).ok();
        }
        let words = words.iter().map(|word| word.as_ref().as_bytes().to_vec());
        let db = self.db.as_mut().ok_or(Lost)?;
        match db.try_call(words.chain(rest)) {
            Ok(Reply::Error(text)) if text.starts_with("LOADING ") => Err(Lost),
            Ok(reply) => {
                self.tally.commands.add(1);
                Ok(reply)
            }
            Err(_) => {
                self.db = None;
                Err(Lost)
            }
        }
    }
}
