//! Random commands on filters that are followed, and the items that they acknowledge.

use splitbloom_harness::{layers, load_chunks, scan_dump, Connection, Random};
use std::collections::HashMap;
use std::time::Instant;

pub const KEYS: [&str; 3] = ["f", "g", "h"];

/// Items, and when they were acknowledged.
pub type Items = HashMap<u64, Instant>;

#[derive(Default)]
pub struct Model {
    /// The items of each key that exists.
    filters: HashMap<&'static str, Items>,
    /// A dump, and what is in it.
    dump: Option<(Vec<u8>, Items)>,
}

impl Model {
    pub fn items(&self, key: &str) -> Option<&Items> {
        self.filters.get(key)
    }

    /// The key has these items. They count as new: they may be in another filter than before.
    fn put(&mut self, key: &'static str, mut items: Items) {
        items.values_mut().for_each(|since| *since = Instant::now());
        self.filters.insert(key, items);
    }

    fn add(&mut self, db: &mut Connection, random: &mut Random, key: &'static str) {
        let (first, many) = (random.below(1 << 14), 1 + random.below(40));
        let numbers = first..first + if random.percent(50) { many } else { 1 };
        let words: String = numbers.clone().map(|number| format!(" item:{number}")).collect();
        let command = match random.below(3) {
            0 if numbers.end == first + 1 => format!("BF.ADD {key}{words}"),
            1 => format!("BF.INSERT {key} ITEMS{words}"),
            _ => format!("BF.MADD {key}{words}"),
        };
        db.run(&command);
        let items = self.filters.entry(key).or_default();
        for number in numbers {
            items.entry(number).or_insert_with(Instant::now);
        }
    }

    /// Runs one random command: of `calm` commands, some twenty are not adds. The filters have this
    /// shape, and one seed, so that they may be merged.
    pub fn step(&mut self, db: &mut Connection, random: &mut Random, shape: &str, calm: u64) {
        let (key, other) = (*random.pick(&KEYS), *random.pick(&KEYS));
        let items = self.filters.get(key).cloned();
        match (random.below(calm), items) {
            (0, _) => {
                db.run("FLUSHALL");
                self.filters.clear();
            }
            (1..4, _) => {
                db.run(&format!("{} {key}", random.pick(&["DEL", "UNLINK"])));
                self.filters.remove(key);
            }
            (4..7, Some(items)) if key != other => {
                db.run(&format!("RENAME {key} {other}"));
                self.filters.remove(key);
                self.put(other, items);
            }
            (7..9, Some(items)) if key != other => {
                db.run(&format!("COPY {key} {other} REPLACE"));
                self.put(other, items);
            }
            (9..11, Some(mut items)) if self.filters.contains_key(other) => {
                // RedisBloom's layers have no union.
                if db.ask(&format!("BF.MERGE {key} 1 {other} FORCE")) == "+OK" {
                    items.extend(&self.filters[other]);
                    self.put(key, items);
                }
            }
            (11..13, Some(items)) => {
                self.dump = Some((db.dump(key), items));
            }
            (13..15, _) => {
                if let Some((dump, items)) = self.dump.clone() {
                    assert_eq!(db.restore(key, &dump), "+OK");
                    self.put(key, items);
                }
            }
            (15..17, _) => drop(db.run("DEBUG RELOAD")),
            (17..20, Some(items)) if key != other => {
                let chunks = scan_dump(db, key);
                db.run(&format!("DEL {other}"));
                load_chunks(db, other, &chunks);
                self.put(other, items);
            }
            (20..22, Some(_)) => drop(db.ask(&format!("BF.SHRINK {key}"))),
            (22..24, _) => {
                db.run(&format!("DEL {key}"));
                load_chunks(db, key, &layers(4));
                self.put(key, Items::new());
            }
            (_, None) => {
                db.run(&format!("BF.RESERVE {key} {shape} SEED 00000000000000aa"));
                self.filters.insert(key, Items::new());
            }
            (_, Some(_)) => self.add(db, random, key),
        }
    }
}
