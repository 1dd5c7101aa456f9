//! BF.LOADCHUNK of chunks that no BF.SCANDUMP wrote, or that belong elsewhere.

use super::{
    bodies_with_boundaries, chunks_of_victims, exercise, forged, mutated, siege, CHECKSUM_BYTES,
};
use crate::harness::{add_items, load_pieces, scan_dump, Connection, Random, Reply, Server};

const REFUSED: &str = "-ERR received bad data";

#[test]
fn a_truncated_chunk_is_refused_and_leaves_no_key() {
    siege(|db| {
        for (iterator, bytes) in chunks_of_victims(db) {
            for length in 0..bytes.len() {
                assert_eq!(
                    load(db, "k", iterator, &bytes[..length]),
                    REFUSED,
                    "{length}"
                );
            }
            let longer = [bytes.as_slice(), b"x"].concat();
            assert_eq!(load(db, "k", iterator, &longer), REFUSED);
            assert_eq!(db.ask("EXISTS k"), ":0");
        }
    });
}

#[test]
fn a_mutated_chunk_is_refused_and_leaves_no_key() {
    const MUTATIONS: usize = 2000;
    siege(|db| {
        let mut random = Random::seeded(3);
        for (iterator, bytes) in chunks_of_victims(db) {
            for _ in 0..MUTATIONS {
                let bytes = mutated(&mut random, &bytes, 0);
                assert_eq!(load(db, "k", iterator, &bytes), REFUSED);
            }
            assert_eq!(db.ask("EXISTS k"), ":0");
        }
    });
}

#[test]
fn a_forged_chunk_is_refused_or_works() {
    const MUTATIONS: usize = 1500;
    siege(|db| {
        let mut random = Random::seeded(7);
        for (iterator, bytes) in chunks_of_victims(db) {
            let body = &bytes[..bytes.len() - CHECKSUM_BYTES];
            for _ in 0..MUTATIONS {
                let body = mutated(&mut random, body, 0);
                load_and_exercise(db, iterator, &forged(&body));
            }
            for length in 0..body.len() {
                load_and_exercise(db, iterator, &forged(&body[..length]));
            }
        }
    });
}

#[test]
fn every_field_of_a_forged_chunk_at_its_boundaries_is_refused_or_works() {
    siege(|db| {
        for (iterator, bytes) in chunks_of_victims(db) {
            for mutant in bodies_with_boundaries(&bytes[..bytes.len() - CHECKSUM_BYTES]) {
                load_and_exercise(db, iterator, &forged(&mutant));
            }
        }
    });
}

#[test]
fn chunks_out_of_order_are_refused_and_do_no_harm() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.001 2000000");
    add_items(&mut db, "k", 0..20_000);
    let digest = db.digest("k");
    let chunks = scan_dump(&mut db, "k");
    assert!(chunks.len() >= 4);
    let last = chunks.len() - 1;

    for (iterator, bytes) in &chunks[1..] {
        assert_eq!(load(&mut db, "l", *iterator, bytes), REFUSED);
        assert_eq!(db.ask("EXISTS l"), ":0");
    }
    load_pieces(&mut db, "l", &chunks[..2]);
    let part = db.digest("l");
    for wrong in [0, 1, 3, last] {
        assert_eq!(
            load(&mut db, "l", chunks[wrong].0, &chunks[wrong].1),
            REFUSED,
            "chunk {wrong}"
        );
    }
    for iterator in [i64::MIN, -1, 0, 1, chunks[0].0, chunks[3].0, i64::MAX] {
        assert_eq!(
            load(&mut db, "l", iterator, &chunks[2].1),
            REFUSED,
            "iterator {iterator}"
        );
    }
    assert_eq!(db.digest("l"), part);
    load_pieces(&mut db, "l", &chunks[2..]);
    assert_eq!(db.digest("l"), digest);
    for (iterator, bytes) in &chunks {
        assert_eq!(load(&mut db, "l", *iterator, bytes), REFUSED);
    }
    assert_eq!(db.digest("l"), digest);
}

#[test]
fn chunks_of_another_filter_are_refused() {
    let server = Server::start();
    let mut db = server.connect();
    for key in ["k", "other"] {
        db.run(&format!("BF.RESERVE {key} 0.001 1000000"));
        add_items(&mut db, key, 0..20_000);
    }
    let ours = scan_dump(&mut db, "k");
    let theirs = scan_dump(&mut db, "other");
    load_pieces(&mut db, "l", &ours[..1]);
    assert_eq!(load(&mut db, "l", theirs[1].0, &theirs[1].1), REFUSED);
    load_pieces(&mut db, "l", &ours[1..]);
    assert_eq!(db.digest("l"), db.digest("k"));
}

#[test]
fn a_partly_loaded_filter_withstands_every_command() {
    siege(|db| {
        db.run("BF.RESERVE whole 0.001 1000000");
        add_items(db, "whole", 0..20_000);
        let chunks = scan_dump(db, "whole");
        for loaded in 1..chunks.len() {
            load_pieces(db, "k", &chunks[..loaded]);
            exercise(db);
            db.run("DEBUG RELOAD");
            exercise(db);
            db.run("DEL k");
        }
    });
}

#[test]
fn random_chunks_are_refused() {
    let server = Server::start();
    let mut db = server.connect();
    let mut random = Random::seeded(4);
    for _ in 0..3000 {
        let length = random.index(600);
        let bytes = random.bytes(length);
        let iterator = if random.percent(50) {
            random.next() as i64
        } else {
            random.below(5) as i64
        };
        assert_eq!(load(&mut db, "l", iterator, &bytes), REFUSED);
    }
    let zeros = vec![0; 1 << 20];
    assert_eq!(load(&mut db, "l", 1, &zeros), REFUSED);
    assert_eq!(db.ask("EXISTS l"), ":0");
}

#[test]
fn any_scandump_iterator_gets_a_valid_reply() {
    let server = Server::start();
    let mut db = server.connect();
    let mut random = Random::seeded(5);
    db.run("BF.RESERVE k 0.01 100 EXPANSION 1");
    add_items(&mut db, "k", 0..1000);
    let chosen = [i64::MIN, -1, 0, 1, 2, 3, 1 << 32, i64::MAX];
    let drawn: Vec<i64> = (0..1000).map(|_| random.next() as i64).collect();
    for iterator in chosen.into_iter().chain(drawn) {
        let reply = db.line(&format!("BF.SCANDUMP k {iterator}"));
        let orderly = match &reply {
            Reply::Error(text) => text.starts_with("ERR "),
            Reply::Array(pair) => matches!(pair.as_slice(), [Reply::Integer(_), Reply::Bulk(_)]),
            _ => false,
        };
        assert!(orderly, "{iterator}: {reply}");
    }
}

/// If the server accepts the chunk, the filter must work.
fn load_and_exercise(db: &mut Connection, iterator: i64, bytes: &[u8]) {
    match load(db, "k", iterator, bytes).as_str() {
        "+OK" => exercise(db),
        refusal => assert_eq!(refusal, REFUSED),
    }
    db.run("DEL k");
}

/// The reply to one chunk.
fn load(db: &mut Connection, key: &str, iterator: i64, bytes: &[u8]) -> String {
    let iterator = iterator.to_string();
    db.call([b"BF.LOADCHUNK", key.as_bytes(), iterator.as_bytes(), bytes])
        .to_string()
}
