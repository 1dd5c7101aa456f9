//! LOADCHUNK of chunks that no SCANDUMP wrote, or that belong elsewhere.

use super::{
    bodies_with_boundaries, chunks_of_victims, exercise, few_or_all, forged, siege,
    siege_of_mutants, CHECKSUM_BYTES,
};
use splitbloom_harness::{Connection, Family, Random, Reply, Server};
use std::sync::OnceLock;

const REFUSED: &str = "-ERR received bad data";

#[test]
fn a_truncated_chunk_is_refused_and_leaves_no_key() {
    siege(|db| {
        for (family, iterator, bytes) in chunks_of_victims(db) {
            for length in 0..bytes.len() {
                let reply = family.load(db, "k", iterator, &bytes[..length]);
                assert_eq!(reply, REFUSED, "{length}");
            }
            let longer = [bytes.as_slice(), b"x"].concat();
            assert_eq!(family.load(db, "k", iterator, &longer), REFUSED);
            assert_eq!(db.ask("EXISTS k"), ":0");
        }
    });
}

#[test]
fn a_mutated_chunk_is_refused_and_leaves_no_key() {
    siege(|db| {
        let mut random = Random::seeded(3);
        for (family, iterator, bytes) in chunks_of_victims(db) {
            for _ in 0..few_or_all(1000, 2000) {
                let bytes = random.mutated(&bytes, 0);
                assert_eq!(family.load(db, "k", iterator, &bytes), REFUSED);
            }
            assert_eq!(db.ask("EXISTS k"), ":0");
        }
    });
}

#[test]
fn every_field_of_a_forged_chunk_at_its_boundaries_is_refused_or_works() {
    siege_of_mutants(|db, tally| {
        for (family, iterator, bytes) in chunks_of_victims(db) {
            for mutant in bodies_with_boundaries(&bytes[..bytes.len() - CHECKSUM_BYTES]) {
                tally.note(load_and_exercise(db, family, iterator, &forged(&mutant)));
            }
        }
    });
}

#[test]
fn chunks_out_of_order_or_of_another_filter_are_refused_and_do_no_harm() {
    let (_server, mut db) = Server::start().with_client();
    for Large { family, chunks, other } in large() {
        let refused = |db: &mut Connection, iterator, bytes| {
            assert_eq!(family.load(db, "l", iterator, bytes), REFUSED, "{family:?}");
        };
        for (iterator, bytes) in &chunks[1..] {
            refused(&mut db, *iterator, bytes);
            assert_eq!(db.ask("EXISTS l"), ":0");
        }
        family.load_chunks(&mut db, "l", &chunks[..1]);
        refused(&mut db, other.0, &other.1);
        family.load_chunks(&mut db, "l", &chunks[1..2]);
        let part = db.digest("l");
        for wrong in [0, 1, 3, chunks.len() - 1] {
            refused(&mut db, chunks[wrong].0, &chunks[wrong].1);
        }
        for iterator in [i64::MIN, -1, 0, 1, chunks[0].0, chunks[3].0, i64::MAX] {
            refused(&mut db, iterator, &chunks[2].1);
        }
        assert_eq!(db.digest("l"), part);
        family.load_chunks(&mut db, "l", &chunks[2..]);
        let digest = db.digest("l");
        for (iterator, bytes) in chunks {
            refused(&mut db, *iterator, bytes);
        }
        assert_eq!(db.digest("l"), digest);
        assert_eq!(&family.scan_dump(&mut db, "l"), chunks);
        db.run("DEL l");
    }
}

#[test]
fn chunks_of_the_other_family_are_refused() {
    const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    siege(|db| {
        for (family, iterator, bytes) in chunks_of_victims(db) {
            let other = match family {
                Family::Bloom => Family::Counting,
                Family::Counting => Family::Bloom,
            };
            assert_eq!(other.load(db, "k", iterator, &bytes), REFUSED);
            assert_eq!(db.ask("EXISTS k"), ":0");
            assert_eq!(family.load(db, "k", iterator, &bytes), "+OK");
            assert_eq!(other.load(db, "k", iterator, &bytes), WRONG_TYPE);
            db.run("DEL k");
        }
    });
}

#[test]
fn a_partly_loaded_filter_withstands_every_command() {
    siege(|db| {
        for Large { family, chunks, .. } in large() {
            for loaded in 1..chunks.len() {
                family.load_chunks(db, "k", &chunks[..loaded]);
                exercise(db);
                db.run("DEBUG RELOAD");
                exercise(db);
                db.run("DEL k");
            }
        }
    });
}

#[test]
fn any_scandump_iterator_gets_a_valid_reply() {
    /// The iterators at which a table begins, and at which everything ends.
    const TABLE: i64 = 1 << 51;
    const END: i64 = 1 << 52;
    let (_server, mut db) = Server::start().with_client();
    let mut random = Random::seeded(5);
    db.run("BF.RESERVE bloom 0.01 1000 NONSCALING");
    db.run("BF.RESERVE both 0.01 10");
    db.run("BF.RESERVE table 0.01 100");
    db.run("CF.RESERVE counting 100");
    db.run("CF.RESERVE empty 100");
    let near = [TABLE, END].map(|iterator| [iterator - 1, iterator, iterator + 1]).concat();
    let chosen = [i64::MIN, -1, 0, 1, 2, 3, 1 << 32, i64::MAX];
    let drawn: Vec<i64> = (0..1000).map(|_| random.number() as i64).collect();
    let in_the_table: Vec<i64> = (0..1000).map(|_| TABLE + random.below(1 << 51) as i64).collect();
    let all = [&chosen[..], &near, &drawn, &in_the_table].concat();
    for (family, key, items) in [
        (Family::Bloom, "bloom", 1000),
        (Family::Bloom, "both", 20_000),
        (Family::Bloom, "table", 20_000),
        (Family::Counting, "counting", 20_000),
        (Family::Counting, "empty", 0),
    ] {
        family.add_items(&mut db, key, 0..items);
        for iterator in &all {
            let reply = db.line(&format!("{} {key} {iterator}", family.command("SCANDUMP")));
            let is_pair = |pair: &[Reply]| matches!(pair, [Reply::Integer(_), Reply::Bulk(_)]);
            let orderly = match &reply {
                Reply::Error(text) => text.starts_with("ERR "),
                Reply::Array(pair) => is_pair(pair),
                _ => false,
            };
            assert!(orderly, "{key} {iterator}: {reply}");
        }
    }
}

/// If the server accepts the chunk, the filter must work. Returns whether it does.
fn load_and_exercise(db: &mut Connection, family: Family, iterator: i64, bytes: &[u8]) -> bool {
    let reply = family.load(db, "k", iterator, bytes);
    if reply == "+OK" {
        exercise(db);
        db.run("DEL k");
        return true;
    }
    assert_eq!(reply, REFUSED);
    assert_eq!(db.ask("DEL k"), ":0");
    false
}

/// A filter of at least four chunks, and the second chunk of another one with the same parameters.
pub struct Large {
    pub family: Family,
    pub chunks: Vec<(i64, Vec<u8>)>,
    other: (i64, Vec<u8>),
}

/// A Bloom filter, a table, both, and a counting filter, created once for all tests. The tables are
/// strict, so that fewer items fill a chunk.
pub fn large() -> &'static [Large] {
    const FILTERS: [(Family, &str, u64); 4] = [
        (Family::Bloom, "0.001 2000000", 300_000),
        (Family::Bloom, "0.000000000001 100", 600_000),
        (Family::Bloom, "0.000000000001 200000", 600_000),
        (Family::Counting, "100 ERROR 0.000000000001", 600_000),
    ];
    static LARGE: OnceLock<Vec<Large>> = OnceLock::new();
    LARGE.get_or_init(|| {
        let (_server, mut db) = Server::start().with_client();
        let mut chunks = |family: Family, parameters: &str, items| {
            family.reserve_with(&mut db, "k", parameters);
            family.add_items(&mut db, "k", 0..items);
            let chunks = family.scan_dump(&mut db, "k");
            db.run("DEL k");
            chunks
        };
        let all = FILTERS.map(|(family, parameters, items)| {
            let other = chunks(family, parameters, items / 2).swap_remove(1);
            let chunks = chunks(family, parameters, items);
            assert!(chunks.len() >= 4, "{parameters}: {} chunks", chunks.len());
            Large { family, chunks, other }
        });
        all.into()
    })
}
