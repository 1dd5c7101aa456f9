//! Mutated dumps: each is refused or gives a sketch that works, and the server survives.

use crate::module::server;
use splitbloom_harness::samples::payload;
use splitbloom_harness::{eventually, with_fresh_footer, words, Connection, Random};
use splitbloom_oracles::count_min::Plain;
use std::env;

/// Mutants of each sample, unless `SPLITBLOOM_PAYLOADS` says how many (`make hostile`).
const FEW: usize = 300;
/// Version and checksum at the end of a dump.
const FOOTER_BYTES: usize = 10;
/// The first byte says that the value belongs to a module.
const TYPE_BYTES: usize = 1;
/// Samples that are restored between two reloads of the server.
const RELOADED: usize = 200;

/// Makes a sketch `k` of each encoding, without items, with some and with many.
const SAMPLES: [&[&str]; 12] = [
    &["CMS.INITBYDIM k 9 3"],
    &["CMS.INITBYDIM k 9 3", "CMS.INCRBY k a 1 b 4000000000 c 7"],
    &["CMS.INITBYDIM k 9 3 WINDOW 60 SLICES 3", "CMS.INCRBY k a 1 b 40 c 7"],
    &["CMS.INITBYDIM k 9 3 CELL_SIZE 1", "CMS.INCRBY k a 1 b 200 c 7"],
    &["CMS.INITBYDIM k 9 3 CELL_SIZE 8", "CMS.INCRBY k a 1 b 9000000000000000000 c 7"],
    &["CMS.INITBYDIM k 9 3 CELL_SIZE 2 WINDOW 60 SLICES 3", "CMS.INCRBY k a 1 b 40000 c 7"],
    &["TOPK.RESERVE k 3 8 2 0.9"],
    &["TOPK.RESERVE k 3 8 2 0.9", "TOPK.INCRBY k a 1 b 100 c 7 d 30 e 2"],
    &["TOPK.RESERVE k 3 8 2 0.9 WINDOW 60 SLICES 3", "TOPK.INCRBY k a 1 b 100 c 7 d 30"],
    &["TDIGEST.CREATE k COMPRESSION 10"],
    &["TDIGEST.CREATE k COMPRESSION 10", "TDIGEST.ADD k 1 2 3 3 3 4 5 -6 7e300 -0 9"],
    &["TDIGEST.CREATE k", "TDIGEST.ADD k 1 2 3 5 8 13 21 34", "TDIGEST.MERGE k 3 k k k"],
];

/// Reads of the sketch `k`, and writes to its copy, for each family.
const OF_CMS: &[&str] =
    &["CMS.INFO k", "CMS.QUERY k a b z", "CMS.INCRBY copy a 5 z 1", "CMS.MERGE copy 1 k"];
const OF_TOPK: &[&str] = &[
    "TOPK.INFO k",
    "TOPK.QUERY k a z",
    "TOPK.COUNT k a z",
    "TOPK.LIST k WITHCOUNT",
    "TOPK.ADD copy a z y",
    "TOPK.INCRBY copy a 9",
];
const OF_TDIGEST: &[&str] = &[
    "TDIGEST.INFO k",
    "TDIGEST.MIN k",
    "TDIGEST.QUANTILE k 0 0.3 1",
    "TDIGEST.CDF k 2",
    "TDIGEST.RANK k 2",
    "TDIGEST.BYRANK k 2",
    "TDIGEST.TRIMMED_MEAN k 0.1 0.9",
    "TDIGEST.ADD copy 5",
    "TDIGEST.MERGE copy 1 k",
    "TDIGEST.RESET copy",
];

#[test]
fn each_of_many_mutated_dumps_is_refused_or_works() {
    let of_each = env::var("SPLITBLOOM_PAYLOADS")
        .map_or(FEW, |count| count.parse().expect("SPLITBLOOM_PAYLOADS is a number"));
    let (_server, mut db) = server().with_client();
    db.run("CONFIG SET rdbcompression no");
    let process = db.info("server", "process_id");
    let held = |db: &mut Connection| db.info_number("sketch", "sketch_bytes_held");
    let baseline = held(&mut db);
    let mut dumps: Vec<Vec<u8>> = SAMPLES
        .iter()
        .map(|commands| {
            db.run_all(*commands);
            let dump = db.dump("k");
            db.run("DEL k");
            dump
        })
        .collect();
    dumps.extend([1, 2, 4, 8].map(|size| payload(&mut db, &of_redis_8_12(size))));
    let mut random = Random::seeded(15);
    let mut accepted = vec![0; dumps.len()];
    for number in 0..of_each * dumps.len() {
        let dump = &dumps[number % dumps.len()];
        let body = random.mutated(&dump[..dump.len() - FOOTER_BYTES], TYPE_BYTES);
        let mutant = with_fresh_footer(dump, &body);
        if db.restore("k", &mutant) == "+OK" {
            accepted[number % dumps.len()] += 1;
            works(&mut db, number % RELOADED == 0);
        }
        db.run("FLUSHALL");
    }
    println!("{of_each} dumps of each, accepted: {accepted:?}");
    let occur = |accepted: &usize| (1..of_each).contains(accepted);
    assert!(accepted.iter().all(occur), "all refused, or all accepted: {accepted:?}");
    let all: usize = accepted.iter().sum();
    assert!(all > of_each / 10, "most mutants are refused too early");
    assert!(db.info_number("sketch", "sketch_values_refused") > 0);
    assert_eq!(db.info("server", "process_id"), process);
    eventually("all memory is returned", || {
        db.info_number("sketch", "sketch_sketches") == 0 && held(&mut db) == baseline
    });
}

/// The body of a dump in encoding version 1.
fn of_redis_8_12(size: u64) -> Vec<u8> {
    let mut sketch = Plain::new(9, 3, size);
    for item in [b"a", b"b", b"c", b"a"] {
        sketch.increment(item, 60).expect("it fits");
    }
    sketch.dump()
}

/// Runs the commands on `k` and a copy of it, and compares its copies.
fn works(db: &mut Connection, reloads: bool) {
    let kind = db.ask("TYPE k");
    let commands = match &kind[1..4] {
        "CMS" => OF_CMS,
        "Top" => OF_TOPK,
        _ => OF_TDIGEST,
    };
    let digest = db.digest("k");
    let dump = db.dump("k");
    db.run("COPY k copy");
    db.restore("restored", &dump);
    if reloads {
        db.run("DEBUG RELOAD");
    }
    for key in ["k", "copy", "restored"] {
        assert_eq!(db.digest(key), digest, "{kind} {key}");
    }
    db.run("MEMORY USAGE k");
    for reply in db.pipeline(commands.iter().map(|command| words(command))) {
        let text = reply.to_string();
        let is_orderly = !reply.is_error()
            || ["-ERR", "-CMS: ", "-TopK: "].iter().any(|begin| text.starts_with(begin));
        assert!(is_orderly, "{kind}: {text}");
    }
    assert_eq!(db.digest("k"), digest, "{kind}");
}
