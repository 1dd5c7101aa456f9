//! The actions of a player, each with the reply that it must get.

use super::{Played, Player, SHARED};
use crate::model::{Known, RATES};
use splitbloom_harness::{absent_item, item, Family};
use std::thread::sleep;
use std::time::Duration;

/// A filter with more items is deleted, so that a census stays short.
const MANY_ITEMS: u64 = 20_000;
const ABSENT_ITEMS: u64 = 500;

impl Player {
    pub(super) fn reserve(&mut self) -> Played {
        let key = self.random_name();
        if self.model.keys.contains_key(&key) {
            return Ok(());
        }
        if self.random.percent(40) {
            return self.reserve_counting(key);
        }
        let rate = *self.random.pick(&RATES);
        let capacity = self.random.pick(&["100", "1000", "5000", "100000"]).to_string();
        let options: &[&str] = match self.random.below(6) {
            // They forget after the test.
            3 => &["WINDOW", "315360000"],
            4 => &["WINDOW", "10000000", "SLICES", "2", "RENEW"],
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
            let head: &[&str] = &["BF.INSERT", &key, "CAPACITY", &capacity, "ERROR", rate];
            // A filter of the default size and rate, which begins with a table.
            let is_default = self.random.percent(50);
            let (words, rate) = match is_default {
                true => (vec!["BF.INSERT", &key, "ITEMS"], "0.01"),
                false => ([head, options, &["ITEMS"]].concat(), rate),
            };
            let items = numbers.clone().map(item);
            let reply = self.change_with(&[&key], &words, items)?;
            let mut known = Known::new(Family::Bloom, rate);
            known.add(self.acknowledged(numbers, &reply));
            self.model.keys.insert(key, known);
            return Ok(());
        };
        assert_eq!(reply.to_string(), "+OK", "BF.RESERVE {key}");
        self.model.keys.insert(key, Known::new(Family::Bloom, rate));
        Ok(())
    }

    pub(super) fn add(&mut self, key: &str) -> Played {
        if self.model.keys[key].count() > MANY_ITEMS {
            return self.delete(key);
        }
        if self.family_of(key) == Family::Counting {
            return self.add_counting(key);
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

    pub(super) fn add_to_shared(&mut self) -> Played {
        let numbers = self.new_items(20);
        let reply = self.ask_with(&["BF.MADD", SHARED], numbers.clone().map(item))?;
        let acknowledged = self.acknowledged(numbers, &reply);
        self.shared.add(acknowledged);
        Ok(())
    }

    pub(super) fn look_up_items(&mut self, key: &str) -> Played {
        let sample = self.model.keys[key].sample(&mut self.random, 50);
        if sample.is_empty() {
            return Ok(());
        }
        let look_up = self.family_of(key).command("MEXISTS");
        let reply = self.ask_with(&[&look_up, key], sample.iter().copied().map(item))?;
        let all_present = reply.elements().iter().all(|answer| answer.integer() == 1);
        assert!(all_present, "{key}: a false negative: {sample:?} {reply}");
        self.counters.add("items looked up by the players", sample.len() as u64);
        match self.family_of(key) {
            Family::Bloom => Ok(()),
            Family::Counting => self.count_copies(key, &sample),
        }
    }

    pub(super) fn look_up_absent_items(&mut self, key: &str) -> Played {
        let first = self.random.number() >> 1;
        let absent_items = (first..first + ABSENT_ITEMS).map(absent_item);
        let look_up = self.family_of(key).command("MEXISTS");
        let reply = self.ask_with(&[&look_up, key], absent_items)?;
        let found = reply.elements().iter().filter(|answer| answer.integer() == 1);
        self.rates.record(self.model.keys[key].rate, ABSENT_ITEMS, found.count() as u64);
        Ok(())
    }

    /// Present items are never new.
    pub(super) fn add_again(&mut self, key: &str) -> Played {
        let sample = self.model.keys[key].sample(&mut self.random, 20);
        if sample.is_empty() {
            return Ok(());
        }
        let words: &[&str] = match self.family_of(key) {
            Family::Bloom => &["BF.MADD", key],
            Family::Counting => &["CF.INSERTNX", key, "ITEMS"],
        };
        let reply = self.ask_with(words, sample.iter().copied().map(item))?;
        let none_new = reply.elements().iter().all(|answer| answer.integer() == 0);
        assert!(none_new, "{key}: an acknowledged item is new: {sample:?} {reply}");
        Ok(())
    }

    pub(super) fn copy(&mut self, key: &str) -> Played {
        let to = self.random_name();
        if to != key {
            let reply = self.change(&[&to], &["COPY", key, &to, "REPLACE"])?;
            assert_eq!(reply.to_string(), ":1", "COPY {key} {to}");
            self.replace(&to, self.model.keys[key].clone());
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, key: &str) -> Played {
        let to = self.random_name();
        if to != key {
            let reply = self.change(&[key, &to], &["RENAME", key, &to])?;
            assert_eq!(reply.to_string(), "+OK", "RENAME {key} {to}");
            if let Some(known) = self.model.keys.remove(key) {
                self.replace(&to, known);
            }
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, key: &str) -> Played {
        let command = *self.random.pick(&["DEL", "UNLINK"]);
        let reply = self.change(&[key], &[command, key])?;
        assert_eq!(reply.to_string(), ":1", "{command} {key}");
        self.check_deleted(key)
    }

    pub(super) fn expire(&mut self, key: &str) -> Played {
        if self.random.percent(50) {
            // Longer than any soak; the value does not change.
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
        self.check_deleted(key)
    }

    pub(super) fn dump_and_restore(&mut self, key: &str) -> Played {
        let to = self.random_name();
        let payload = self.ask(&["DUMP", key])?.bytes().to_vec();
        let rest = [payload, b"REPLACE".to_vec()].into_iter();
        let reply = self.change_with(&[&to], &["RESTORE", &to, "0"], rest)?;
        assert_eq!(reply.to_string(), "+OK", "RESTORE {to}");
        if to != key {
            self.replace(&to, self.model.keys[key].clone());
        }
        Ok(())
    }

    pub(super) fn dump_and_load(&mut self, key: &str) -> Played {
        let to = self.random_name();
        if to == key {
            return Ok(());
        }
        let family = self.family_of(key);
        let [dump, load] = ["SCANDUMP", "LOADCHUNK"].map(|name| family.command(name));
        let mut chunks = Vec::new();
        let mut iterator = 0;
        loop {
            let reply = self.ask(&[&dump, key, &iterator.to_string()])?;
            iterator = reply.elements()[0].integer();
            if iterator == 0 {
                break;
            }
            chunks.push((iterator, reply.elements()[1].bytes().to_vec()));
        }
        self.change(&[&to], &["DEL", &to])?;
        self.model.keys.remove(&to);
        self.in_doubt.push(to.clone());
        for (iterator, bytes) in chunks {
            let words = [&load, &to, &iterator.to_string()].map(String::from);
            let reply = self.ask_with(&words, [bytes].into_iter())?;
            assert_eq!(reply.to_string(), "+OK", "{load} {to}");
        }
        // The server's digest of a key covers the time to live; the chunks do not.
        self.ask(&["PERSIST", key])?;
        let here = self.ask(&["DEBUG", "DIGEST-VALUE", key])?;
        let there = self.ask(&["DEBUG", "DIGEST-VALUE", &to])?;
        self.in_doubt.pop();
        assert_eq!(here, there, "{key} was loaded as {to}");
        self.replace(&to, self.model.keys[key].clone());
        Ok(())
    }

    /// Counts can be lower than the model's because of false positives, and higher because of items
    /// in doubt.
    pub(super) fn inspect(&mut self, key: &str) -> Played {
        if self.family_of(key) == Family::Counting {
            return self.inspect_counting(key);
        }
        let info = self.ask(&["BF.INFO", key, "FULL"])?;
        let inserted = info.field("Number of items inserted").integer();
        assert!(inserted <= info.field("Capacity").integer(), "{key}: {info}");
        let cardinality = self.ask(&["BF.CARD", key])?.integer();
        assert_eq!(cardinality, inserted, "{key}");
        let usage = self.ask(&["MEMORY", "USAGE", key])?.integer();
        assert!(usage >= info.field("Size").integer(), "{key}: {usage} {info}");
        Ok(())
    }
}
