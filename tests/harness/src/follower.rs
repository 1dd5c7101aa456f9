//! A follower of a filter: a copy of it in this process, step by step as docs/followers.md says.

use crate::{Connection, Reply};
use splitbloom_filter::codec::{load_chunk, Chunk};
use splitbloom_filter::filter::Part;
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

/// How many of the last hashes before a position are in the table.
fn in_table(position: &str) -> usize {
    let number = position.rsplit('-').next().map(str::parse);
    number.expect("numbers").expect("a number")
}

/// A copy of a filter, up to a position, or a part of it.
#[derive(Default)]
pub struct Follower {
    pub copy: Option<Filter>,
    position: Option<String>,
    /// The iterator of the next chunk while it fetches.
    next: Option<i64>,
    /// Fetches that have begun.
    pub fetches: u64,
}

impl Follower {
    /// Takes one step of the protocol. `Err` is an error reply. Returns whether there may be more.
    pub fn step(&mut self, db: &mut Connection, key: &str, options: &str) -> Result<bool, String> {
        let Some(position) = self.position.clone() else {
            return self.begin(db, key);
        };
        if let Some(iterator) = self.next {
            let chunk = db.line(&format!("BF.SCANDUMP {key} {iterator} {position}"));
            match chunk {
                Reply::Null => return self.begin(db, key),
                Reply::Error(text) => return self.fail(text),
                chunk => self.load(&chunk),
            }
        }
        let options = if self.next.is_some() { "" } else { options };
        let reply = db.line(&format!("BF.CHANGES {key} {position} {options}"));
        if let Reply::Error(text) = reply {
            return self.fail(text);
        }
        let (position, Some(hashes)) = read(&reply) else {
            return self.begin(db, key);
        };
        let copy = self.copy.as_mut().expect("a first chunk");
        let (of_sub_filter, of_table) =
            hashes.split_at(hashes.len().saturating_sub(in_table(&position)));
        copy.follow(Part::SubFilter, of_sub_filter).expect("memory");
        copy.follow(Part::Table, of_table).expect("memory");
        self.position = Some(position);
        Ok(self.next.is_some() || !hashes.is_empty())
    }

    /// Begins a fetch: notes the position to follow from.
    fn begin(&mut self, db: &mut Connection, key: &str) -> Result<bool, String> {
        let reply = db.line(&format!("BF.CHANGES {key} 0"));
        if let Reply::Error(text) = reply {
            return self.fail(text);
        }
        let (position, hashes) = read(&reply);
        assert_eq!(hashes, None);
        (self.position, self.next, self.copy) = (Some(position), Some(0), None);
        self.fetches += 1;
        Ok(true)
    }

    fn fail(&mut self, text: String) -> Result<bool, String> {
        let fetches = self.fetches;
        *self = Self { fetches, ..Self::default() };
        Err(text)
    }

    fn load(&mut self, chunk: &Reply) {
        let [next, bytes] = chunk.elements() else {
            panic!("expected two elements: {chunk}");
        };
        self.next = Some(next.integer()).filter(|next| *next != 0);
        if self.next.is_some() {
            let chunk = Chunk::parse(bytes.bytes()).expect("a chunk");
            let begun = load_chunk(self.copy.as_mut(), &chunk, SizeLimit::Unlimited);
            self.copy = begun.expect("the next chunk").or(self.copy.take());
        }
    }

    /// Asks until there is nothing new.
    pub fn catch_up(
        &mut self,
        db: &mut Connection,
        key: &str,
        options: &str,
    ) -> Result<(), String> {
        while self.step(db, key, options)? {}
        Ok(())
    }

    pub fn contains(&self, item: &[u8]) -> bool {
        self.copy.as_ref().is_some_and(|copy| copy.contains(item))
    }
}
