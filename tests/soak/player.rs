//! A player: one connection, keys of its own, and a model of them. It plays random commands, and each answer must fit.
//!
//! A reply that never comes leaves its key in doubt: the command may have been done or not. Such keys are deleted once the server
//! is back. Items in doubt are not counted.

mod moves;

use crate::harness::{Connection, Random, Reply};
use crate::model::{Known, Model};
use crate::rates::Rates;
use crate::tally::Tally;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// The filter that all players add to.
pub const SHARED: &str = "shared";
pub const SHARED_RATE: &str = "0.001";

const KEYS: u64 = 12;
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
