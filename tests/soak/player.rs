//! A player: one connection, keys of its own, and a model of them. It runs random commands, and
//! every reply must agree with the model.
//!
//! A reply that never arrives leaves its key in doubt: the command may or may not have run. Such
//! keys are deleted once the server is back. Items in doubt are not counted.

mod counting;
mod moves;

use crate::counters::Counters;
use crate::model::{Known, Model};
use crate::rates::Rates;
use splitbloom_harness::{Connection, Family, Random, Reply};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// The filter that all players share.
pub const SHARED: &str = "shared";
pub const SHARED_RATE: &str = "0.001";

const KEYS: u64 = 12;
/// Each player has its own range of item numbers.
const NUMBERS_OF_A_PLAYER: u64 = 1 << 40;
/// Between two attempts to reach a server that is down.
const PAUSE: Duration = Duration::from_millis(50);

/// The server went down before it replied, or is still loading.
pub struct Lost;

type Played = Result<(), Lost>;

pub struct Player {
    name: u64,
    port: u16,
    random: Random,
    db: Option<Connection>,
    pub model: Model,
    /// The player's items in the shared filter.
    pub shared: Known,
    in_doubt: Vec<String>,
    next_item: u64,
    counters: Arc<Counters>,
    rates: Arc<Rates>,
}

impl Player {
    pub fn new(
        name: u64,
        port: u16,
        seed: u64,
        counters: &Arc<Counters>,
        rates: &Arc<Rates>,
    ) -> Player {
        Player {
            name,
            port,
            random: Random::seeded(seed.wrapping_add(name << 32)),
            db: None,
            model: Model::default(),
            shared: Known::new(Family::Bloom, SHARED_RATE),
            in_doubt: Vec::new(),
            next_item: name * NUMBERS_OF_A_PLAYER,
            counters: counters.clone(),
            rates: rates.clone(),
        }
    }

    /// Runs one random action. If the server is down, the next one waits for it.
    pub fn play(&mut self) {
        if self.act().is_err() {
            self.counters.add("replies lost", 1);
            self.db = None;
            sleep(PAUSE);
        }
    }

    /// Forgets all keys, which the server has deleted.
    pub fn forget(&mut self) {
        self.model = Model::default();
        self.shared = Known::new(Family::Bloom, SHARED_RATE);
        self.in_doubt.clear();
    }

    /// Deletes keys in doubt, so that the model is correct again.
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
        let Some(key) = self.model.random_key(&mut self.random) else {
            return self.reserve();
        };
        match chance {
            0..=4 => self.reserve(),
            5..=34 => self.add(&key),
            35..=39 => self.delete_items(&key),
            40..=49 => self.add_to_shared(),
            50..=64 => self.look_up_items(&key),
            65..=74 => self.look_up_absent_items(&key),
            75..=79 => self.add_again(&key),
            80..=82 => self.copy(&key),
            83..=85 => self.rename(&key),
            86..=88 => self.delete(&key),
            89..=90 => self.expire(&key),
            91..=93 => self.dump_and_restore(&key),
            94..=95 => self.dump_and_load(&key),
            _ => self.inspect(&key),
        }
    }

    fn random_name(&mut self) -> String {
        format!("player{}:{}", self.name, self.random.below(KEYS))
    }

    fn new_items(&mut self, count: u64) -> std::ops::Range<u64> {
        let first = self.next_item;
        self.next_item += count;
        first..self.next_item
    }

    /// The acknowledged numbers: all, or those before the one that a full filter refused.
    fn acknowledged(&self, numbers: std::ops::Range<u64>, reply: &Reply) -> std::ops::Range<u64> {
        let answers = match reply {
            Reply::Array(answers) => answers.as_slice(),
            one => std::slice::from_ref(one),
        };
        let good = answers.iter().take_while(|answer| !answer.is_error()).count() as u64;
        if let Some(refusal) = answers.get(good as usize) {
            assert_eq!(refusal.to_string(), "-ERR non scaling filter is full");
        } else {
            assert_eq!(good, numbers.end - numbers.start, "{reply}");
        }
        self.counters.add("items acknowledged", good);
        numbers.start..numbers.start + good
    }

    fn known(&mut self, key: &str) -> &mut Known {
        self.model.keys.get_mut(key).expect("a key in the model")
    }

    fn replace(&mut self, key: &str, known: Known) {
        if self.model.keys.insert(key.to_owned(), known).is_some() {
            self.counters.add("keys deleted, expired or overwritten", 1);
        }
    }

    fn check_deleted(&mut self, key: &str) -> Played {
        self.model.keys.remove(key);
        self.counters.add("keys deleted, expired or overwritten", 1);
        assert_eq!(self.ask(&["EXISTS", key])?.to_string(), ":0", "{key} was deleted");
        let sample = self.ask(&["BF.EXISTS", key, "a"])?;
        assert_eq!(sample.to_string(), ":0", "{key} was deleted");
        Ok(())
    }

    /// Runs a command that leaves its keys in doubt if no reply arrives.
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
                self.counters.add("commands answered", 1);
                Ok(reply)
            }
            Err(_) => {
                self.db = None;
                Err(Lost)
            }
        }
    }
}
