//! Very many mutated payloads on one server. `SPLITBLOOM_PAYLOADS` says how many (`make hostile`); without it a few hundred.

use super::payloads::{
    around_the_piece, payload_around, payloads, restore, FOOTER_BYTES, TYPE_BYTES,
};
use super::{exercise, held, mutated, returns_all_memory};
use crate::harness::{
    eventually, load_pieces, scan_dump, with_fresh_footer, Connection, Random, Server,
};
use std::env;
use std::time::Instant;

const FEW: usize = 600;

/// What the memory of an idle server may differ by: the buffers of a connection come and go (Redis 8 lends them 16 KiB blocks). In
/// 10^5 payloads one lost block of the smallest size, 8 bytes, in every twelfth would show.
const TOLERANCE: i64 = 64 << 10;

#[test]
fn of_very_many_mutated_payloads_each_is_refused_or_works() {
    let count = env::var("SPLITBLOOM_PAYLOADS").map_or(FEW, |count| {
        count.parse().expect("SPLITBLOOM_PAYLOADS is a number")
    });
    let server = Server::start();
    let mut db = server.connect();
    let baseline = held(&mut db);
    let payloads = payloads(&mut db);
    let process = db.info("server", "process_id");
    let (mut random, mut loaded) = (Random::seeded(8), 0);
    // What the server itself sets up once, at its first RESTORE, SAVE and reload, is no part of the measure.
    for payload in &payloads {
        withstand(&mut db, payload, &mut random);
    }
    returns_all_memory(&mut db, baseline); // in the background, on some servers
    drop(db);
    let used = used_memory(&server);

    let mut db = server.connect();
    let start = Instant::now();
    for number in 0..count {
        let payload = &payloads[number % payloads.len()];
        loaded += usize::from(withstand(&mut db, payload, &mut random));
    }
    let seconds = start.elapsed().as_secs_f64();
    returns_all_memory(&mut db, baseline);
    assert_eq!(db.info("server", "process_id"), process);
    drop(db);
    let used_after = used_memory(&server);
    println!(
        "{count} payloads in {seconds:.1} s: {} refused, {loaded} loaded; used_memory {used} before, {used_after} after",
        count - loaded
    );
    assert!(
        (used_after - used).abs() <= TOLERANCE,
        "{used} bytes before, {used_after} after"
    );
    assert!(loaded > count / 10, "most mutants are refused too early");
}

/// Mutates the payload, gives it to the server, and if that takes it, does everything that can be done. Answers whether it took it.
fn withstand(db: &mut Connection, payload: &[u8], random: &mut Random) -> bool {
    let mutant = if random.percent(30) {
        // The server's checksum fits, the piece's does not, unless something else was hit.
        let body = mutated(random, &payload[..payload.len() - FOOTER_BYTES], TYPE_BYTES);
        with_fresh_footer(payload, &body)
    } else {
        let (head, body) = around_the_piece(payload);
        payload_around(payload, head, &mutated(random, body, 0))
    };
    if !restore(db, &mutant) {
        return false;
    }
    if db.ask("TYPE k") == "+MBbloom--" {
        let digest = db.digest("k");
        let dump = db.run("DUMP k");
        let pieces = scan_dump(db, "k");
        load_pieces(db, "pieces", &pieces);
        db.run("COPY k copy");
        db.call([b"RESTORE".as_slice(), b"restored", b"0", dump.bytes()]);
        db.run("SAVE");
        db.run("DEBUG RELOAD");
        for key in ["k", "pieces", "copy", "restored"] {
            assert_eq!(db.digest(key), digest, "{key}");
        }
        db.run("UNLINK copy pieces restored");
        exercise(db);
    }
    db.run("UNLINK k");
    true
}

/// As the only connection sees it, a new one whose buffers are small, when what was unlinked is freed.
fn used_memory(server: &Server) -> i64 {
    let mut db = server.connect();
    eventually(
        "the others are gone, and nothing is left to be freed",
        || {
            db.info("clients", "connected_clients") == "1"
                && db.info("memory", "lazyfree_pending_objects") == "0"
        },
    );
    db.info_number("memory", "used_memory")
}
