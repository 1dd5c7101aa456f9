//! One filter of every kind, and a portrait of each: what it must still look like after any journey.

use super::{add_items, count_found, item, stranger, Connection, Reply};

/// So many strangers are asked for: their answers are as much a part of a filter as those of its items.
const STRANGERS: u64 = 2000;

/// Name, the words that make it, and how many items go in.
const KINDS: [(&str, &str, u64); 7] = [
    ("empty", "0.01 100", 0),
    ("small", "0.01 100", 60),
    ("strict", "0.000001 5000", 4000),
    ("non-scaling", "0.01 10000 NONSCALING", 9000),
    ("big", "0.001 2000000", 100_000),
    ("grown", "0.01 100 EXPANSION 2", 20_000),
    ("many-sub-filters", "0.01 10 EXPANSION 1", 3200),
];

/// The specimens that a server holds.
pub struct Specimens;

impl Specimens {
    pub fn keys() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(key, _, _)| *key)
    }

    pub fn create(db: &mut Connection) {
        for (key, parameters, items) in KINDS {
            db.run(&format!("BF.RESERVE {key} {parameters}"));
            add_items(db, key, 0..items);
        }
    }

    pub fn portraits(db: &mut Connection) -> Vec<Portrait> {
        KINDS
            .iter()
            .map(|(key, _, items)| Portrait::of(db, key, *items))
            .collect()
    }
}

/// Everything that can be seen of a filter from outside.
#[derive(Debug, PartialEq)]
pub struct Portrait {
    digest: String,
    info: String,
    items_missing: u64,
    strangers_found: u64,
}

impl Portrait {
    /// Of a filter that holds the first so many items.
    pub fn of(db: &mut Connection, key: &str, items: u64) -> Portrait {
        let portrait = Portrait {
            digest: db.digest(key),
            info: everything_but_size(&db.call(["BF.INFO", key, "FULL"])),
            items_missing: items - count_found(db, key, 0..items, item),
            strangers_found: count_found(db, key, 0..STRANGERS, stranger),
        };
        assert_eq!(portrait.items_missing, 0, "{key}: an item was denied");
        portrait
    }
}

/// Spare room in the filter's own lists is no part of what it looks like.
fn everything_but_size(info: &Reply) -> String {
    let fields = info.pairs().into_iter().filter(|(name, _)| name != "Size");
    fields
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect()
}

/// All pieces of a filter, each with the iterator that came with it.
pub fn scan_dump(db: &mut Connection, key: &str) -> Vec<(i64, Vec<u8>)> {
    let mut pieces = Vec::new();
    let mut iterator = 0;
    loop {
        let reply = db.call(["BF.SCANDUMP", key, &iterator.to_string()]);
        let [Reply::Integer(next), Reply::Bulk(bytes)] = reply.elements() else {
            panic!("an integer and a bulk string were expected: {reply}");
        };
        if *next == 0 {
            assert!(bytes.is_empty(), "the end has no bytes");
            return pieces;
        }
        pieces.push((*next, bytes.clone()));
        iterator = *next;
    }
}

/// Loads pieces in their order.
pub fn load_pieces(db: &mut Connection, key: &str, pieces: &[(i64, Vec<u8>)]) {
    for (iterator, bytes) in pieces {
        let iterator = iterator.to_string();
        let reply = db.call([b"BF.LOADCHUNK", key.as_bytes(), iterator.as_bytes(), bytes]);
        assert_eq!(reply.to_string(), "+OK", "piece {iterator} of {key}");
    }
}
