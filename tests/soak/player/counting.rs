//! The actions of a player on counting filters.

use super::{Played, Player};
use crate::model::{Known, RATES};
use splitbloom_harness::{item, Family};

/// Items deleted at a time, and items that get another copy.
const MOST_DELETED: u64 = 500;
const COPIED: usize = 20;

impl Player {
    pub(super) fn family_of(&self, key: &str) -> Family {
        self.model.keys[key].family
    }

    pub(super) fn reserve_counting(&mut self, key: String) -> Played {
        let rate = *self.random.pick(&RATES);
        let capacity = *self.random.pick(&["1", "100", "5000"]);
        let options: &[&str] = match self.random.below(3) {
            0 => &["EXPANSION", "0"],
            1 => &["BUCKETSIZE", "4", "EXPANSION", "2"],
            _ => &[],
        };
        let words = [&["CF.RESERVE", &key, capacity, "ERROR", rate], options].concat();
        let reply = self.change(&[&key], &words)?;
        assert_eq!(reply.to_string(), "+OK", "CF.RESERVE {key}");
        let known = Known::new(Family::Counting, rate);
        self.model.keys.insert(key, known);
        Ok(())
    }

    /// Adds new items; false positives, and items that find the filter full, are not added.
    pub(super) fn add_counting(&mut self, key: &str) -> Played {
        let sample = self.model.keys[key].sample(&mut self.random, COPIED);
        if !sample.is_empty() && self.random.percent(20) {
            return self.add_copies(key, &sample);
        }
        let (words, most): (&[&str], u64) = match self.random.below(4) {
            0 => (&["CF.ADD", key], 1),
            1 => (&["CF.ADDNX", key], 1),
            2 => (&["CF.INSERT", key, "NOCREATE", "ITEMS"], 1000),
            _ => (&["CF.INSERTNX", key, "NOCREATE", "ITEMS"], 1000),
        };
        let count = 1 + self.random.below(most);
        let numbers = self.new_items(count);
        let reply = self.ask_with(words, numbers.clone().map(item))?;
        let answers: Vec<i64> = match most {
            1 if reply.is_error() => {
                assert_eq!(reply.to_string(), "-ERR Filter is full", "{key}");
                vec![-1]
            }
            1 => vec![reply.integer()],
            _ => reply.elements().iter().map(|one| one.integer()).collect(),
        };
        assert_eq!(answers.len() as u64, count, "{key}: {reply}");
        for (number, answer) in numbers.zip(answers) {
            if answer == 1 {
                self.known(key).add(number..number + 1);
                self.counters.add("items acknowledged", 1);
            }
        }
        Ok(())
    }

    fn add_copies(&mut self, key: &str, sample: &[u64]) -> Played {
        let words = ["CF.INSERT", key, "ITEMS"];
        let reply = self.ask_with(&words, sample.iter().copied().map(item))?;
        for (number, answer) in sample.iter().zip(reply.elements()) {
            if answer.integer() == 1 {
                self.known(key).add_copy(*number);
                self.counters.add("items acknowledged", 1);
            }
        }
        Ok(())
    }

    /// Copies in doubt, and other items that look the same, may count too.
    pub(super) fn count_copies(&mut self, key: &str, sample: &[u64]) -> Played {
        for number in sample.iter().take(COPIED) {
            let reply = self.ask_with(&["CF.COUNT", key], std::iter::once(item(*number)))?;
            let copies = self.model.keys[key].copies_of(*number);
            assert!(
                reply.integer() as u64 >= copies,
                "{key}: {reply} copies of {number}, not {copies}"
            );
        }
        Ok(())
    }

    /// Deletes every copy of some items, which were all there.
    pub(super) fn delete_items(&mut self, key: &str) -> Played {
        if self.family_of(key) == Family::Bloom {
            return Ok(());
        }
        let most = 1 + self.random.below(MOST_DELETED);
        for number in self.known(key).take(most) {
            let reply =
                self.change_with(&[key], &["CF.DEL", key], std::iter::once(item(number)))?;
            assert_eq!(reply.to_string(), ":1", "{key}: {number} was there");
            self.counters.add("copies deleted", 1);
        }
        Ok(())
    }

    pub(super) fn inspect_counting(&mut self, key: &str) -> Played {
        let info = self.ask(&["CF.INFO", key, "FULL"])?;
        let inserted = info.field("Number of items inserted").integer();
        let copies = self.model.keys[key].copies();
        assert!(inserted as u64 >= copies, "{key}: {copies}, {info}");
        let expected = info.field("Expected false positive rate").double();
        let requested = info.field("Error rate").double();
        assert!(expected <= requested, "{key}: {info}");
        let usage = self.ask(&["MEMORY", "USAGE", key])?.integer();
        assert!(usage >= info.field("Size").integer(), "{key}: {usage} {info}");
        assert_eq!(self.ask(&["CF.COMPACT", key])?.to_string(), "+OK");
        Ok(())
    }
}
