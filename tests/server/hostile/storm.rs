//! Very many mutated payloads on one server: `SPLITBLOOM_PAYLOADS` of each sample (`make hostile`),
//! or a few hundred in all by default.

use super::payloads::{
    around_the_chunk, payload_around, payloads, restore, FOOTER_BYTES, TYPE_BYTES,
};
use super::{exercise, forgets, returns_all_memory};
use splitbloom_harness::{with_fresh_footer, Connection, Family, Random, Server};
use std::env;

const FEW: usize = 300;

/// The number of payloads to try, of `samples` samples in turn.
fn wanted(samples: usize) -> usize {
    env::var("SPLITBLOOM_PAYLOADS").map_or(FEW, |count| {
        let of_each: usize = count.parse().expect("SPLITBLOOM_PAYLOADS is a number");
        of_each * samples
    })
}

/// How much the memory of an idle server may vary: the buffers of a connection come and go (Redis 8
/// lends them 16 KiB blocks). With 10^5 payloads, a leak of the smallest block, 8 bytes, in every
/// twelfth payload would show.
const TOLERANCE: i64 = 64 << 10;

/// Payloads that are tried before memory is measured. More than a tenth of them are accepted.
const WARMING: usize = 200;

#[test]
fn each_of_very_many_mutated_payloads_is_refused_or_works() {
    let payloads = payloads(&mut Server::start().connect());
    let mut random = Random::seeded(8);
    // Of one sample or the other: all are of one format.
    storm("payloads", 1, |db, number| {
        let payload = &payloads[number % payloads.len()];
        mutate_and_restore(db, payload, &mut random)
    });
}

/// Tries very many payloads on a server of their own. `attempt` gets the number of each, with which
/// it takes the samples in turn, and returns whether it was accepted; it leaves no key. Module and
/// server end with the memory that they began with.
pub fn storm(of: &str, samples: usize, mut attempt: impl FnMut(&mut Connection, usize) -> bool) {
    let count = wanted(samples);
    // The server would keep a histogram of the times of each command that is run later.
    let (server, mut db) =
        Server::configured(&["latency-tracking no", "rdbcompression no"]).with_client();
    let baseline = db.bytes_held();
    let process = db.info("server", "process_id");
    // Do not measure what the server allocates once, at its first RESTORE, SAVE and reload, and
    // when its buffers first hold long replies.
    for number in 0..WARMING {
        attempt(&mut db, number);
    }
    returns_all_memory(&mut db, baseline); // in the background, on some servers
    drop(db);
    let used = server.used_memory();

    let mut db = server.connect();
    let accepted = (0..count).filter(|number| attempt(&mut db, *number)).count();
    returns_all_memory(&mut db, baseline);
    assert_eq!(db.info("server", "process_id"), process);
    drop(db);
    let used_after = server.used_memory();
    println!("{of}: {accepted} of {count} accepted; {used} bytes used before, {used_after} after");
    assert!((used_after - used).abs() <= TOLERANCE);
    assert!(accepted > count / 10, "most mutants are refused too early");
}

/// Mutates the payload and restores it. If the server accepts it, runs every command on it. Returns
/// whether it was accepted.
fn mutate_and_restore(db: &mut Connection, payload: &[u8], random: &mut Random) -> bool {
    let mutant = if random.percent(30) {
        // The server's checksum is correct; the chunk's is not, unless the mutation is elsewhere.
        let body = random.mutated(&payload[..payload.len() - FOOTER_BYTES], TYPE_BYTES);
        with_fresh_footer(payload, &body)
    } else {
        let (head, body) = around_the_chunk(payload);
        payload_around(payload, head, &random.mutated(body, 0))
    };
    restore(db, &mutant) && is_a_working_value(db)
}

/// Runs every command on `k`, and saves, loads and copies it; then deletes it.
pub fn is_a_working_value(db: &mut Connection) -> bool {
    let kind = db.ask("TYPE k");
    let is_of = |family: &Family| family.type_reply() == kind;
    let family = match kind.as_str() {
        // valkey-bloom's name for it.
        "+bloomfltr" => Some(Family::Bloom),
        _ => Family::BOTH.into_iter().find(is_of),
    };
    if let Some(family) = family {
        let mut tries = if forgets(db) { TRIES } else { 1 };
        loop {
            let [digest, copies @ ..] = digests_of_copies(db, family);
            tries -= 1;
            if copies.iter().all(|copy| *copy == digest) {
                break;
            }
            assert!(tries > 0, "{digest}, and of its copies {copies:?}");
        }
        exercise(db);
    }
    db.run("UNLINK k");
    true
}

/// How often copies of a filter that forgets are compared: the sweeper may come in between, as its
/// times are those of the mutant.
const TRIES: u32 = 20;

/// The digests of `k` and of its copies, by chunks, COPY, DUMP and a file, and of itself again.
fn digests_of_copies(db: &mut Connection, family: Family) -> [String; 5] {
    let digest = db.digest("k");
    let dump = db.dump("k");
    let chunks = family.scan_dump(db, "k");
    family.load_chunks(db, "chunks", &chunks);
    db.run("COPY k copy");
    db.restore("restored", &dump);
    db.run("SAVE");
    db.run("DEBUG RELOAD");
    let [k, chunks, copy, restored] = ["k", "chunks", "copy", "restored"].map(|key| db.digest(key));
    db.run("UNLINK copy chunks restored");
    [digest, k, chunks, copy, restored]
}
