//! The two families of filters: Bloom filters (BF) and counting filters (CF). Most of their
//! commands differ in two letters.

use crate::items::batches;
use crate::{Connection, Reply};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Bloom,
    Counting,
}

impl Family {
    pub const BOTH: [Family; 2] = [Family::Bloom, Family::Counting];

    /// Bloom filters for even numbers, counting filters for odd ones.
    pub fn by_turns(number: u64) -> Family {
        match number % 2 {
            0 => Family::Bloom,
            _ => Family::Counting,
        }
    }

    /// Creates a filter that grows, of the default error rate.
    pub fn reserve(self, db: &mut Connection, key: &str) {
        self.reserve_with(db, key, if self == Family::Bloom { "0.01 100" } else { "100" });
    }

    /// Creates a filter with these parameters.
    pub fn reserve_with(self, db: &mut Connection, key: &str, parameters: &str) {
        db.run(&format!("{} {key} {parameters}", self.command("RESERVE")));
    }

    /// How many of the items of these numbers are false negatives; it must always be 0.
    pub fn missing_items(self, db: &mut Connection, key: &str, numbers: Range<u64>) -> u64 {
        let asked = numbers.end - numbers.start;
        asked - self.count_found(db, key, numbers, crate::item)
    }

    /// The name of a command, such as `BF.INFO` for `INFO`.
    pub fn command(self, name: &str) -> String {
        match self {
            Family::Bloom => format!("BF.{name}"),
            Family::Counting => format!("CF.{name}"),
        }
    }

    /// What TYPE replies.
    pub fn type_reply(self) -> &'static str {
        match self {
            Family::Bloom => "+MBbloom--",
            Family::Counting => "+MBbloomCF",
        }
    }

    /// The words before the items of the command that adds them.
    pub fn adding(self, key: &str) -> Vec<Vec<u8>> {
        let words: &[&str] = match self {
            Family::Bloom => &["BF.MADD", key],
            Family::Counting => &["CF.INSERT", key, "ITEMS"],
        };
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    /// The words before the items of the command that looks them up.
    pub fn looking_up(self, key: &str) -> Vec<Vec<u8>> {
        vec![self.command("MEXISTS").into_bytes(), key.into()]
    }

    /// Adds the items of these numbers; returns how many were new.
    pub fn add_items(self, db: &mut Connection, key: &str, numbers: Range<u64>) -> u64 {
        let head = self.adding(key);
        let replies = db.pipeline(batches(head, numbers, crate::item));
        replies.iter().map(count_true).sum()
    }

    /// How many of the candidates of these numbers the filter reports as present.
    pub fn count_found(
        self,
        db: &mut Connection,
        key: &str,
        numbers: Range<u64>,
        candidate: fn(u64) -> Vec<u8>,
    ) -> u64 {
        let head = self.looking_up(key);
        let replies = db.pipeline(batches(head, numbers, candidate));
        replies.iter().map(count_true).sum()
    }

    /// All chunks of a filter, each with its iterator.
    pub fn scan_dump(self, db: &mut Connection, key: &str) -> Vec<(i64, Vec<u8>)> {
        let mut chunks = Vec::new();
        let mut iterator = 0;
        loop {
            let reply = db.call([&self.command("SCANDUMP"), key, &iterator.to_string()]);
            let [Reply::Integer(next), Reply::Bulk(bytes)] = reply.elements() else {
                panic!("expected an integer and a bulk string: {reply}");
            };
            if *next == 0 {
                assert!(bytes.is_empty(), "the end has no data");
                return chunks;
            }
            chunks.push((*next, bytes.clone()));
            iterator = *next;
        }
    }

    /// The reply to one chunk.
    pub fn load(self, db: &mut Connection, key: &str, iterator: i64, bytes: &[u8]) -> String {
        db.call(self.loading(key, iterator, bytes)).to_string()
    }

    /// The command that loads one chunk.
    pub fn loading(self, key: &str, iterator: i64, bytes: &[u8]) -> Vec<Vec<u8>> {
        let head = [self.command("LOADCHUNK"), key.into(), iterator.to_string()];
        let head = head.into_iter().map(String::into_bytes);
        head.chain([bytes.to_vec()]).collect()
    }

    /// Loads chunks in order.
    pub fn load_chunks(self, db: &mut Connection, key: &str, chunks: &[(i64, Vec<u8>)]) {
        for (iterator, bytes) in chunks {
            let reply = self.load(db, key, *iterator, bytes);
            assert_eq!(reply, "+OK", "chunk {iterator} of {key}");
        }
    }
}

fn count_true(reply: &Reply) -> u64 {
    reply.elements().iter().map(|answer| answer.integer() as u64).sum()
}
