//! Every kind of chunk, header and value that loads a filter: ours, RedisBloom's, valkey-bloom's;
//! and the same with one bit changed.

use crate::samples::{dumped, loads, ALL};
use crate::{layers, Connection, Family, Server};
use std::ops::Range;

/// How often each kind is damaged.
pub const PLACES: usize = 100;

/// The place of the first layer's hash keys in a BF.LOAD: after the fields of the whole filter, and
/// the layer's length, version, number of bits and number of hashes.
const KEYS_OF_THE_ONE_LAYER: Range<usize> = 30 + 21..30 + 21 + 32;

/// The words of a command.
pub type Command = Vec<Vec<u8>>;

/// A filter, and the commands that load it.
pub struct Kind {
    pub name: String,
    family: Family,
    items: u64,
    commands: Vec<Command>,
    /// The most false negatives after an unnoticed change of one bit: none where there is a
    /// checksum. Filters of other modules have none, and a bit of a Bloom filter may belong to a
    /// few items.
    tolerance: u64,
    /// Bytes that no reader can check, so they are not damaged: in a valkey-bloom filter of one
    /// layer, the random keys of its hash.
    unknowable: Range<usize>,
}

impl Kind {
    /// The filter under `key` on this server, as our chunks.
    fn ours(db: &mut Connection, family: Family, key: &str, items: u64) -> Kind {
        let chunks = family.scan_dump(db, key);
        let commands = chunks.iter().map(|(end, bytes)| family.loading(key, *end, bytes));
        let (name, commands) = (key.to_owned(), commands.collect());
        Kind { name, family, items, commands, tolerance: 0, unknowable: 0..0 }
    }

    /// The commands that load it under another key.
    pub fn under(&self, key: &[u8]) -> Vec<Command> {
        let mut commands = self.commands.clone();
        for command in &mut commands {
            command[1] = key.to_vec();
        }
        commands
    }

    /// The same with one bit changed, in the data or now and then in the iterator.
    pub fn damaged(&self, place: usize, key: &[u8]) -> Vec<Command> {
        let mut commands = self.under(key);
        let index = place % commands.len();
        let command = &mut commands[index];
        let last = command.len() - 1;
        let word = match place % 10 {
            9 if last == 3 => 2,
            _ => last,
        };
        let bytes = &mut command[word];
        let bit = place * bytes.len() * 8 / PLACES;
        let byte = match self.unknowable.contains(&(bit / 8)) {
            true => self.unknowable.end,
            false => bit / 8,
        };
        bytes[byte] ^= 1 << (bit % 8);
        commands
    }

    /// Checks that the filter under `key` has no more false negatives than its tolerance.
    pub fn assert_is_under(&self, db: &mut Connection, key: &str) {
        let missing = self.family.missing_items(db, key, 0..self.items);
        assert!(missing <= self.tolerance, "{key}: {missing} items");
    }

    /// Checks that a log names almost all changes where there is a checksum, and some elsewhere.
    pub fn assert_enough_are_named(&self, named: usize) {
        println!("{}: {named} of {PLACES} refused", self.name);
        let least = match self.tolerance {
            0 => PLACES * 9 / 10,
            _ => 1,
        };
        assert!(named >= least, "{}: {named}", self.name);
    }
}

/// Every kind of chunk, header and value: ours, RedisBloom's, valkey-bloom's.
pub fn kinds() -> Vec<Kind> {
    let server = Server::start();
    let mut db = server.connect();
    let mut kinds = Vec::new();
    for (family, key, parameters, items) in [
        (Family::Bloom, "table", "0.01 100", 60),
        (Family::Bloom, "bloom", "0.01 1000 NONSCALING", 500),
        (Family::Bloom, "both", "0.01 50", 500),
        (Family::Bloom, "window", "0.01 100 WINDOW 300000000", 500),
        (Family::Counting, "counting", "100", 500),
    ] {
        family.reserve_with(&mut db, key, parameters);
        family.add_items(&mut db, key, 0..items);
        kinds.push(Kind::ours(&mut db, family, key, items));
    }
    Family::Bloom.load_chunks(&mut db, "layers", &layers(10));
    Family::Bloom.add_items(&mut db, "layers", 0..10);
    kinds.push(Kind::ours(&mut db, Family::Bloom, "layers", 10));
    for sample in ALL {
        let (pieces, family) = (sample.pieces(), sample.family);
        let commands = pieces.iter().map(|(end, bytes)| family.loading("", *end, bytes));
        let (name, commands) = (format!("redisbloom-{}", sample.key), commands.collect());
        kinds.push(Kind { name, family, items: 50, commands, tolerance: 3, unknowable: 0..0 });
    }
    for sample in dumped() {
        let key = format!("kept-{}", kinds.len());
        sample.restore_as(&mut db, &key);
        kinds.push(Kind::ours(&mut db, sample.family, &key, 50));
    }
    for (key, bytes) in loads() {
        kinds.push(Kind {
            name: format!("valkey-bloom-{key}"),
            family: Family::Bloom,
            items: 50,
            commands: vec![vec![b"BF.LOAD".to_vec(), Vec::new(), bytes]],
            tolerance: 3,
            unknowable: if key == "fixed" { KEYS_OF_THE_ONE_LAYER } else { 0..0 },
        });
    }
    kinds
}
