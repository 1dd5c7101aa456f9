//! One filter of every kind, and a fingerprint of each that must survive saving, copying and
//! moving.

use super::{absent_item, add_items, count_found, item, Connection, Reply};

/// Absent items looked up for a fingerprint: false positives are part of a filter's behaviour.
const ABSENT_ITEMS: u64 = 2000;

/// Key, parameters of BF.RESERVE, and number of items.
const KINDS: [(&str, &str, u64); 7] = [
    ("empty", "0.01 100", 0),
    ("small", "0.01 100", 60),
    ("strict", "0.000001 5000", 4000),
    ("non-scaling", "0.01 10000 NONSCALING", 9000),
    ("big", "0.001 2000000", 100_000),
    ("grown", "0.01 100 EXPANSION 2", 20_000),
    ("many-sub-filters", "0.01 10 EXPANSION 1", 3200),
];

/// The specimens on a server.
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

    pub fn fingerprints(db: &mut Connection) -> Vec<Fingerprint> {
        KINDS
            .iter()
            .map(|(key, _, items)| Fingerprint::of(db, key, *items))
            .collect()
    }
}

/// Everything about a filter that is visible from outside.
#[derive(Debug, PartialEq)]
pub struct Fingerprint {
    digest: String,
    info: String,
    items_missing: u64,
    false_positives: u64,
}

impl Fingerprint {
    /// Of a filter that contains the items `0..items`.
    pub fn of(db: &mut Connection, key: &str, items: u64) -> Fingerprint {
        let fingerprint = Fingerprint {
            digest: db.digest(key),
            info: everything_but_size(&db.call(["BF.INFO", key, "FULL"])),
            items_missing: items - count_found(db, key, 0..items, item),
            false_positives: count_found(db, key, 0..ABSENT_ITEMS, absent_item),
        };
        assert_eq!(fingerprint.items_missing, 0, "{key}: a false negative");
        fingerprint
    }
}

/// All of BF.INFO except the size, which depends on spare capacity in the filter's lists.
fn everything_but_size(info: &Reply) -> String {
    let fields = info.pairs().into_iter().filter(|(name, _)| name != "Size");
    fields
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect()
}

/// All chunks of a filter, each with its iterator.
pub fn scan_dump(db: &mut Connection, key: &str) -> Vec<(i64, Vec<u8>)> {
    let mut chunks = Vec::new();
    let mut iterator = 0;
    loop {
        let reply = db.call(["BF.SCANDUMP", key, &iterator.to_string()]);
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

/// Loads chunks in order.
pub fn load_pieces(db: &mut Connection, key: &str, chunks: &[(i64, Vec<u8>)]) {
    for (iterator, bytes) in chunks {
        let iterator = iterator.to_string();
        let reply = db.call([b"BF.LOADCHUNK", key.as_bytes(), iterator.as_bytes(), bytes]);
        assert_eq!(reply.to_string(), "+OK", "chunk {iterator} of {key}");
    }
}
