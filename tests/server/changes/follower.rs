//! A follower of a filter: a copy of it in this process.

use crate::harness::{scan_dump, Connection, Reply};
use splitbloom_filter::codec::{load_chunk, Chunk};
use splitbloom_filter::hash::ItemHash;
use splitbloom_filter::{Filter, SizeLimit};

/// A reply of BF.CHANGES: the position, and the hashes; no hashes if the filter must be fetched.
pub fn changes(db: &mut Connection, line: &str) -> (String, Option<Vec<ItemHash>>) {
    read(&db.line(&format!("BF.CHANGES {line}")))
}

pub fn read(reply: &Reply) -> (String, Option<Vec<ItemHash>>) {
    let [position, hashes] = reply.elements() else {
        panic!("expected two elements: {reply}");
    };
    let hashes = match hashes {
        Reply::Null => None,
        bytes => {
            let hashes = bytes.bytes().chunks(16).map(|hash| {
                let [place, probes] = [&hash[..8], &hash[8..]]
                    .map(|half| u64::from_le_bytes(half.try_into().expect("whole hashes")));
                ItemHash { place, probes }
            });
            Some(hashes.collect())
        }
    };
    (position.text(), hashes)
}

/// The position now. Begins the journal if there is none.
pub fn position(db: &mut Connection, key: &str) -> String {
    changes(db, &format!("{key} 0")).0
}

/// A filter of a server.
pub fn fetched(db: &mut Connection, key: &str) -> Filter {
    let mut filter = None;
    for (_, chunk) in scan_dump(db, key) {
        let chunk = Chunk::parse(&chunk).expect("a chunk");
        let begun = load_chunk(filter.as_mut(), &chunk, SizeLimit::Unlimited);
        filter = begun.expect("the next chunk").or(filter);
    }
    filter.expect("chunks")
}

/// A copy of a filter, up to a position.
#[derive(Default)]
pub struct Follower {
    pub copy: Option<Filter>,
    position: Option<String>,
    pub fetches: u64,
}

impl Follower {
    /// Asks once, and does what the reply says. `Err` is an error reply.
    pub fn step(&mut self, db: &mut Connection, key: &str, options: &str) -> Result<usize, String> {
        let before = self.position.as_deref().unwrap_or("0");
        let reply = db.line(&format!("BF.CHANGES {key} {before} {options}"));
        if let Reply::Error(text) = reply {
            (self.copy, self.position) = (None, None);
            return Err(text);
        }
        let (position, hashes) = read(&reply);
        self.position = Some(position);
        match (hashes, &mut self.copy) {
            (Some(hashes), Some(copy)) => {
                let added =
                    copy.add_hashes(hashes.iter().copied(), 0, SizeLimit::Replay, |_, _| {});
                added.expect("an item that the server has");
                Ok(hashes.len())
            }
            (Some(_), None) => panic!("changes of what was never fetched"),
            (None, _) => {
                self.copy = Some(fetched(db, key));
                self.fetches += 1;
                Ok(0)
            }
        }
    }

    /// Asks until there is nothing new.
    pub fn catch_up(
        &mut self,
        db: &mut Connection,
        key: &str,
        options: &str,
    ) -> Result<(), String> {
        while self.step(db, key, options)? > 0 {}
        Ok(())
    }

    pub fn contains(&self, item: &[u8]) -> bool {
        self.copy.as_ref().is_some_and(|copy| copy.contains(item))
    }
}
