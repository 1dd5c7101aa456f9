//! Cells of 1, 2, 4 and 8 bytes.

use crate::module::server;
use splitbloom_harness::{trials, words, Random, Server, APPEND_ONLY};
use splitbloom_oracles::count_min::{Misfit, Plain};

const SIZES: [u64; 4] = [1, 2, 4, 8];

#[test]
fn a_sketch_has_cells_of_the_size_that_is_given() {
    let server = server();
    for (mut db, key) in [(server.connect(), "two"), (server.connect_resp3(), "three")] {
        for size in SIZES {
            db.run(&format!("CMS.INITBYDIM {key}:d{size} 9 2 CELL_SIZE {size}"));
            db.run(&format!("CMS.INITBYPROB {key}:p{size} 0.1 0.1 cell_size {size}"));
            db.run(&format!("CMS.INITBYDIM {key}:w{size} 9 2 WINDOW 60 CELL_SIZE {size}"));
            for kind in ["d", "p", "w"] {
                let info = db.run(&format!("CMS.INFO {key}:{kind}{size}"));
                assert_eq!(info.field("cell_size").integer() as u64, size);
                // The fourth; clients that parse by place know no others.
                assert_eq!(info.pairs()[3].0, "cell_size");
            }
        }
    }
}

#[test]
fn a_sum_of_small_cells_fits_in_the_end_and_takes_as_much_work_as_of_large_ones() {
    server().connect().converse(&[
        ("CMS.INITBYDIM bytes 9 2 CELL_SIZE 1", "+OK"),
        ("CMS.INITBYDIM sum 9 2 CELL_SIZE 1", "+OK"),
        ("CMS.INCRBY bytes a 200 b 3", "[:200, :3]"),
        ("CMS.MERGE sum 3 bytes bytes bytes WEIGHTS 2 -2 1", "+OK"),
        ("CMS.QUERY sum a b", "[:200, :3]"),
        // 18 counters of a byte are as much work as of four.
        ("CONFIG SET sketch.max-merge-bytes 71", "+OK"),
        ("CMS.MERGE sum 1 bytes", "-CMS: sketches to merge would exceed sketch.max-merge-bytes"),
        ("CONFIG SET sketch.max-merge-bytes 72", "+OK"),
        ("CMS.MERGE sum 1 bytes", "+OK"),
    ]);
}

/// An increment that brings counters of this size to both of their ends now and then.
fn increment(random: &mut Random, size: u64) -> i64 {
    let bits = random.below(8 * size);
    let number = (random.number() >> (63 - bits)) as i64;
    match random.percent(40) {
        true => number.checked_neg().unwrap_or(-1),
        false => number.max(0),
    }
}

/// RedisBloom's rules, in a model: what fits is counted, here, on a replica and in a file, and what
/// does not fit leaves no trace.
#[test]
fn increments_of_both_signs_keep_to_the_model() {
    const BATCH: u64 = 50;
    let (primary, mut db) = Server::with_sketches(&APPEND_ONLY).with_client();
    let replica = primary.replica(&[]);
    let mut random = Random::seeded(812);
    let mut models = SIZES.map(|size| Plain::new(11, 3, size));
    for size in SIZES {
        db.run(&format!("CMS.INITBYDIM k{size} 11 3 CELL_SIZE {size}"));
    }
    let mut kinds = [0; 3];
    for _ in 0..trials(40_000) / 4 / BATCH {
        for model in &mut models {
            let mut command = words(&format!("CMS.INCRBY k{}", model.size));
            let mut expected = Vec::new();
            for _ in 0..BATCH {
                let item = random.below(30).to_string().into_bytes();
                let by = increment(&mut random, model.size);
                let reply = match model.increment(&item, by) {
                    Ok(estimate) => (0, format!(":{estimate}")),
                    Err(Misfit::TooLarge) => (1, "-CMS: INCRBY overflow".to_owned()),
                    Err(Misfit::Negative) => (2, "-CMS: INCRBY underflow".to_owned()),
                };
                kinds[reply.0] += 1;
                expected.push(reply.1);
                command.extend([item, by.to_string().into_bytes()]);
            }
            assert_eq!(db.call(command).to_string(), format!("[{}]", expected.join(", ")));
            let info = db.run(&format!("CMS.INFO k{}", model.size));
            assert_eq!(info.field("count").integer() as u64, model.count);
        }
    }
    assert!(kinds.iter().all(|kind| *kind > 100), "{kinds:?}");
    let digest = primary.assert_equal(&replica);
    db.run("DEBUG LOADAOF");
    assert_eq!(db.digest_of_everything(), digest);
    for model in &models {
        let items: Vec<String> = (0..30).map(|item| item.to_string()).collect();
        let estimates = items.iter().map(|item| format!(":{}", model.estimate(item.as_bytes())));
        let expected = format!("[{}]", estimates.collect::<Vec<_>>().join(", "));
        assert_eq!(db.ask(&format!("CMS.QUERY k{} {}", model.size, items.join(" "))), expected);
    }
}
