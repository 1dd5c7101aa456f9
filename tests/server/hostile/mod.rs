//! Malicious bytes and numbers: they are refused or give a fully working filter, and the server
//! survives.

mod chunks;
mod extremes;
mod orders;
mod payloads;
mod storm;

use crate::harness::{add_items, eventually, scan_dump, words, Connection, Random, Server};
use xxhash_rust::xxh3::xxh3_64;

/// Small filters of every structure.
const VICTIMS: [(&str, u64); 5] = [
    ("BF.RESERVE k 0.01 100", 0),
    ("BF.RESERVE k 0.01 100", 50),
    ("BF.RESERVE k 0.1 10 EXPANSION 1", 60),
    ("BF.RESERVE k 0.000001 20 EXPANSION 3", 100),
    ("BF.RESERVE k 0.01 500 NONSCALING", 400),
];

/// Values that an attacker may put into a field.
const BOUNDARIES: [u64; 10] = [
    0,
    1,
    0x7F,
    0xFF,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];

/// The end of a chunk: the checksum of everything before it.
const CHECKSUM_BYTES: usize = 8;

/// The start of a chunk: magic, version, two iterators, the filler, and the hash of the record that
/// follows.
const HEAD_BYTES: usize = IDENTITY + 8;

/// The position of that hash.
const IDENTITY: usize = 128;

/// Bytes before the hash that a reader skips.
const FILLER: std::ops::Range<usize> = 20..IDENTITY;

/// The first record of a first chunk: its kind, seed, error rate, capacity and expansion.
const FILTER_RECORD_BYTES: usize = 29;

/// Reads of a filter of unknown origin.
const QUESTIONS: [&str; 11] = [
    "BF.CARD k",
    "BF.DEBUG k",
    "BF.INFO k",
    "BF.INFO k FULL",
    "BF.EXISTS k a",
    "BF.MEXISTS k a b c",
    "BF.SCANDUMP k 0",
    "DEBUG DIGEST-VALUE k",
    "MEMORY USAGE k",
    "DUMP k",
    "COPY k copy",
];

/// Changes to its copy, which may be full or partly loaded.
const CHANGES: [&str; 6] = [
    "BF.ADD copy a",
    "BF.MADD copy b c d e f g h i j",
    "BF.INSERT copy ITEMS k l",
    "BF.INFO copy FULL",
    "DUMP copy",
    "DEL copy",
];

/// Runs every command on `k`, if it is a filter: valid replies, no crash.
fn exercise(db: &mut Connection) {
    if db.ask("TYPE k") != "+MBbloom--" {
        return;
    }
    let replies = db.pipeline(QUESTIONS.map(words));
    for (question, reply) in QUESTIONS.iter().zip(&replies) {
        assert!(!reply.is_error(), "{question}: {reply}");
    }
    let replies = db.pipeline(CHANGES.map(words));
    for (change, reply) in CHANGES.iter().zip(&replies) {
        let orderly = !reply.is_error() || reply.to_string().starts_with("-ERR ");
        assert!(orderly, "{change}: {reply}");
    }
    if !db.line("BF.ADD k a").is_error() {
        assert_eq!(db.ask("BF.EXISTS k a"), ":1");
    }
}

/// The first chunks of all victims, which are too small to have a second one.
fn chunks_of_victims(db: &mut Connection) -> Vec<(i64, Vec<u8>)> {
    let mut chunks = Vec::new();
    for (creation, items) in VICTIMS {
        db.run(creation);
        add_items(db, "k", 0..items);
        chunks.extend(scan_dump(db, "k"));
        db.run("DEL k");
    }
    assert_eq!(chunks.len(), VICTIMS.len());
    chunks
}

/// A chunk forged by someone who knows the format: both hashes are correct.
fn forged(body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    if let Some(record) = body.get(HEAD_BYTES..HEAD_BYTES + FILTER_RECORD_BYTES) {
        let identity = xxh3_64(record).to_le_bytes();
        body[IDENTITY..HEAD_BYTES].copy_from_slice(&identity);
    }
    let checksum = xxh3_64(&body).to_le_bytes();
    [body.as_slice(), &checksum].concat()
}

/// Bodies with boundary values at every position where a field may be.
fn bodies_with_boundaries(body: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    /// After this many bytes come the bits.
    const FIELDS_LIE_WITHIN: usize = 288;
    let places = (0..body.len().min(FIELDS_LIE_WITHIN)).filter(|at| !FILLER.contains(at));
    places.flat_map(move |at| {
        BOUNDARIES.into_iter().flat_map(move |value| {
            [1, 2, 4, 8].into_iter().map(move |width: usize| {
                let end = body.len().min(at + width);
                let mut mutant = body.to_vec();
                mutant[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                mutant
            })
        })
    })
}

/// The bytes with one of them changed, or in a tenth of the cases two, from `first` on.
fn mutated(random: &mut Random, bytes: &[u8], first: usize) -> Vec<u8> {
    let mut mutant = bytes.to_vec();
    let changes = if random.percent(90) { 1 } else { 2 };
    for _ in 0..changes {
        let at = first + random.index(bytes.len() - first);
        mutant[at] ^= 1 + random.below(255) as u8;
    }
    mutant
}

/// Runs an attack on a server of its own. Deleting all keys must return all memory.
fn siege(attack: impl FnOnce(&mut Connection)) {
    let server = Server::start();
    let mut db = server.connect();
    let baseline = held(&mut db);
    attack(&mut db);
    returns_all_memory(&mut db, baseline);
}

/// The heap memory of the module.
fn held(db: &mut Connection) -> i64 {
    db.info_number("bf", "bf_bytes_held")
}

/// Deletes all keys and checks that their memory is returned.
fn returns_all_memory(db: &mut Connection, baseline: i64) {
    db.run("FLUSHALL");
    eventually("all memory is returned", || {
        db.info_number("bf", "bf_filters") == 0 && held(db) == baseline
    });
}
