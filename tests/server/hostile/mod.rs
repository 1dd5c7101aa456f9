//! Malicious bytes and numbers: they are refused or give a fully working filter, and the server
//! survives.

mod chunks;
mod extremes;
mod foreign;
mod payloads;
mod storm;

pub use chunks::{large, Large};
use splitbloom_harness::{delete_items, eventually, words, Connection, Family, Server};
use std::collections::BTreeSet;
use std::env;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// How a small filter is made of `k`, and how many items it is given.
#[derive(Clone, Copy)]
struct Victim {
    family: Family,
    parameters: &'static str,
    items: u64,
    /// How many of them are deleted again, and half as many copies made of others.
    deleted: u64,
}

const fn bloom(parameters: &'static str, items: u64) -> Victim {
    Victim { family: Family::Bloom, parameters, items, deleted: 0 }
}

const fn counting(parameters: &'static str, items: u64, deleted: u64) -> Victim {
    Victim { family: Family::Counting, parameters, items, deleted }
}

/// Small filters of every structure: Bloom filters, tables, both, filters that forget, and
/// counting filters.
const VICTIMS: [Victim; 12] = [
    bloom("0.01 1000", 0),
    bloom("0.01 500 NONSCALING", 400),
    bloom("0.1 10", 60),
    bloom("0.000001 20 EXPANSION 3", 100),
    bloom("0.01 100", 0),
    bloom("0.01 100", 250),
    bloom("0.01 100 WINDOW 1000", 0),
    bloom("0.01 100 WINDOW 1 SLICES 2 RENEW", 60),
    bloom("0.001 100 WINDOW 315360000 SLICES 14", 150),
    counting("100", 0, 0),
    counting("100 ERROR 0.0001", 120, 40),
    counting("100 EXPANSION 0 ERROR 0.5", 100, 20),
];

/// The first of them that begins with a Bloom filter and has items.
const WITH_BLOOM: usize = 1;

impl Victim {
    /// Makes it.
    fn create(&self, db: &mut Connection) {
        let Victim { family, .. } = *self;
        family.reserve_with(db, "k", self.parameters);
        family.add_items(db, "k", 0..self.items);
        delete_items(db, "k", self.items - self.deleted..self.items);
        if self.deleted > 0 {
            family.add_items(db, "k", 0..self.deleted / 2);
        }
    }
}

/// Values that an attacker may put into a field.
const BOUNDARIES: [u64; 10] =
    [0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 40, i64::MAX as u64, u64::MAX];

/// The end of a chunk: the checksum of everything before it.
const CHECKSUM_BYTES: usize = 8;

/// The start of a chunk: magic, version, two iterators, the filler, and the hash of the record that
/// follows.
const HEAD_BYTES: usize = IDENTITY + 8;

/// The position of that hash.
const IDENTITY: usize = 128;

/// Bytes before the hash that a reader skips.
const FILLER: std::ops::Range<usize> = 20..IDENTITY;

/// The kind of the first record of a first chunk that holds a counting filter.
const COUNTING_FILTER: u8 = 8;

/// The same of one that forgets.
const WINDOWED_FILTER: u8 = 9;

/// The length of that first record: kind, seed, error rate, capacity, and expansion; or these with
/// a shorter expansion, bucket size, and iterations; or these with a window, slices, and renewal.
fn head_record_bytes(kind: u8) -> usize {
    match kind {
        COUNTING_FILTER => 31,
        WINDOWED_FILTER => 35,
        _ => 29,
    }
}

/// Reads of a filter of unknown origin, by the family.
const QUESTIONS: [&str; 9] = [
    "DEBUG k",
    "INFO k",
    "INFO k FULL",
    "EXISTS k a",
    "MEXISTS k a b c",
    "SCANDUMP k 0",
    "SCANDUMP k 2251799813685248",
    "SCANDUMP k 3377699720527872",
    "SCANDUMP k 4503599627370495",
];

/// Reads of a value of any type.
const QUESTIONS_OF_THE_SERVER: [&str; 4] =
    ["DEBUG DIGEST-VALUE k", "MEMORY USAGE k", "DUMP k", "COPY k copy"];

/// Changes to its copy, which may be full or partly loaded.
const CHANGES_OF_BLOOM: [&str; 13] = [
    "BF.CARD copy",
    "BF.ADD copy a",
    "BF.MADD copy b c d e f g h i j",
    "BF.INSERT copy ITEMS k l",
    "BF.INSERT copy AT 1000000000005 ITEMS m",
    "BF.FORGET copy 1000000000005",
    "BF.PACKEXISTS copy FIXED 1 abc MUSTEXIST",
    "BF.MERGE copy 1 k",
    "BF.SHRINK copy CAPACITY 500",
    "BF.SHRINK copy",
    "DUMP copy",
    "BF.CLEAR copy",
    "DEL copy",
];
const CHANGES_OF_COUNTING: [&str; 12] = [
    "CF.COUNT copy a",
    "CF.ADD copy a",
    "CF.INSERT copy ITEMS b c d e f g h i a a a a a",
    "CF.INSERTNX copy ITEMS k l",
    "CF.ADDNX copy m",
    "CF.DEL copy item:1",
    "CF.DEL copy a",
    "CF.COMPACT copy",
    "CF.PACKEXISTS copy FIXED 1 abc MUSTEXIST",
    "DUMP copy",
    "CF.CLEAR copy",
    "DEL copy",
];

/// Runs every command on `k`, if it is a filter: valid replies, no crash.
fn exercise(db: &mut Connection) {
    let kind = db.ask("TYPE k");
    let is_of = |family: &Family| family.type_reply() == kind;
    let Some(family) = Family::BOTH.into_iter().find(is_of) else {
        return;
    };
    let questions = QUESTIONS.map(|question| family.command(question));
    let questions = questions.iter().map(String::as_str).chain(QUESTIONS_OF_THE_SERVER);
    let replies = db.pipeline(questions.clone().map(words));
    for (question, reply) in questions.zip(&replies) {
        let has_no_chunk = reply.to_string().starts_with("-ERR no such chunk: ");
        assert!(!reply.is_error() || has_no_chunk, "{question}: {reply}");
    }
    let changes = match family {
        Family::Bloom => CHANGES_OF_BLOOM.as_slice(),
        Family::Counting => CHANGES_OF_COUNTING.as_slice(),
    };
    let replies = db.pipeline(changes.iter().map(|change| words(change)));
    for (change, reply) in changes.iter().zip(&replies) {
        let orderly = !reply.is_error() || reply.to_string().starts_with("-ERR ");
        assert!(orderly, "{change}: {reply}");
    }
    let forgets = forgets(db);
    // Together, since the window may be a second. What was added must survive a step of the sweep.
    let [add, ask] = ["ADD k a", "EXISTS k a"].map(|command| words(&family.command(command)));
    let start = Instant::now();
    let replies = db.pipeline([add, words("BF.FORGET k 1000000000005"), ask]);
    let is_in_time = start.elapsed() < Duration::from_millis(900);
    if !replies[0].is_error() {
        // An item that was there may have been forgotten since.
        let is_certain = !forgets || is_in_time && replies[0].integer() == 1;
        assert!(!is_certain || replies[2].integer() == 1, "{}", replies[0]);
        if family == Family::Counting {
            assert!(db.line("CF.COUNT k a").integer() > 0);
            assert_eq!(db.ask("CF.DEL k a"), ":1");
        }
    }
}

/// Whether `k` is a filter that forgets.
fn forgets(db: &mut Connection) -> bool {
    let info = db.call(["BF.INFO", "k", "FULL"]);
    !info.is_error() && info.pairs().iter().any(|(name, _)| name == "Window")
}

/// The first chunks of all victims, which are too small to have a second one.
fn chunks_of_victims(db: &mut Connection) -> Vec<(Family, i64, Vec<u8>)> {
    let mut chunks = Vec::new();
    for victim in VICTIMS {
        victim.create(db);
        let family = victim.family;
        let of_victim = family.scan_dump(db, "k").into_iter();
        chunks.extend(of_victim.map(|(iterator, bytes)| (family, iterator, bytes)));
        db.run("DEL k");
    }
    assert_eq!(chunks.len(), VICTIMS.len());
    chunks
}

/// A chunk forged by someone who knows the format: both hashes are correct.
fn forged(body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    let kind = body.get(HEAD_BYTES).copied().unwrap_or_default();
    if let Some(record) = body.get(HEAD_BYTES..HEAD_BYTES + head_record_bytes(kind)) {
        let identity = xxh3_64(record).to_le_bytes();
        body[IDENTITY..HEAD_BYTES].copy_from_slice(&identity);
    }
    let checksum = xxh3_64(&body).to_le_bytes();
    [body.as_slice(), &checksum].concat()
}

/// How many mutants a test tries: a few, or all with `SPLITBLOOM_PAYLOADS` (`make hostile`).
fn few_or_all(few: usize, all: usize) -> usize {
    if env::var_os("SPLITBLOOM_PAYLOADS").is_some() {
        all
    } else {
        few
    }
}

/// Bodies with boundary values at every position where a field may be, each once.
fn bodies_with_boundaries(body: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    /// After this many bytes come the bits.
    const FIELDS_LIE_WITHIN: usize = 288;
    /// The end of a table, and of a filter.
    const LAST_FIELDS: usize = 32;
    let places = (0..body.len()).filter(|at| {
        let is_near_an_end = *at < FIELDS_LIE_WITHIN || at + LAST_FIELDS >= body.len();
        is_near_an_end && !FILLER.contains(at)
    });
    places.flat_map(move |at| {
        let values = BOUNDARIES.into_iter().flat_map(|value| [1, 2, 4, 8].map(|len| (value, len)));
        let mutants = values.map(|(value, len): (u64, usize)| {
            let end = body.len().min(at + len);
            let mut mutant = body.to_vec();
            mutant[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
            mutant
        });
        let distinct: BTreeSet<Vec<u8>> = mutants.filter(|mutant| mutant != body).collect();
        distinct
    })
}

/// Runs an attack on a server of its own. Deleting all keys must return all memory.
fn siege(attack: impl FnOnce(&mut Connection)) {
    let (_server, mut db) = Server::start().with_client();
    let baseline = db.bytes_held();
    attack(&mut db);
    returns_all_memory(&mut db, baseline);
}

/// How many mutants were refused, and how many gave a filter that works.
#[derive(Default, Debug)]
struct Tally {
    refused: u64,
    works: u64,
}

impl Tally {
    fn note(&mut self, works: bool) {
        match works {
            true => self.works += 1,
            false => self.refused += 1,
        }
    }
}

/// A siege by mutants, some of which must be refused, and some work.
fn siege_of_mutants(attack: impl FnOnce(&mut Connection, &mut Tally)) {
    let mut tally = Tally::default();
    siege(|db| attack(db, &mut tally));
    assert!(tally.refused > 0 && tally.works > 0, "all the same: {tally:?}");
}

/// Deletes all keys and checks that their memory is returned.
fn returns_all_memory(db: &mut Connection, baseline: i64) {
    db.run("FLUSHALL");
    eventually("all memory is returned", || {
        db.info_number("bf", "bf_filters") == 0 && db.bytes_held() == baseline
    });
}
