//! Measured false-positive rates against the requested error rates.
//!
//! Seeds are fixed, so that every run measures the same.

use splitbloom_harness::{absent_item, add_items, count_found, Connection, Server};

const PROBES: u64 = 400_000;

/// How far a sample may be off, in standard deviations.
const SIGMAS: f64 = 5.0;

#[test]
fn a_non_scaling_filter_at_capacity_has_the_requested_error_rate() {
    let server = Server::start();
    let mut db = server.connect();
    for rate in [0.1, 0.01, 0.001] {
        for capacity in [10_000, 100_000] {
            db.run("FLUSHALL");
            db.run(&format!("BF.RESERVE k {rate} {capacity} NONSCALING SEED 0123456789abcdef"));
            add_items(&mut db, "k", 0..capacity);
            let measured = measured_rate(&mut db);
            let tolerance = 0.03 * rate + SIGMAS * deviation(rate);
            assert!(
                (measured - rate).abs() <= tolerance,
                "requested {rate} for {capacity} items: {measured}"
            );
        }
    }
}

#[test]
fn a_grown_filter_never_exceeds_the_requested_error_rate() {
    let server = Server::start();
    let mut db = server.connect();
    for rate in [0.1, 0.01, 0.001] {
        for (capacity, growth) in [(10_000, 10), (1000, 100)] {
            db.run("FLUSHALL");
            db.run(&format!("BF.RESERVE k {rate} {capacity} SEED 0123456789abcdef"));
            add_items(&mut db, "k", 0..growth * capacity);
            let measured = measured_rate(&mut db);
            let most = rate + SIGMAS * deviation(rate);
            assert!(measured <= most, "requested {rate}, grown {growth} times: {measured}");
        }
    }
}

#[test]
fn the_expected_rate_in_info_is_the_measured_one() {
    let server = Server::start();
    let mut db = server.connect();
    for parameters in ["0.1 100000", "0.01 100000", "0.01 1000"] {
        db.run("FLUSHALL");
        db.run(&format!("BF.RESERVE k {parameters} SEED 0123456789abcdef"));
        add_items(&mut db, "k", 0..90_000);
        let measured = measured_rate(&mut db);
        let expected = db.line("BF.INFO k FULL").field("Expected false positive rate").double();
        let tolerance = 0.03 * expected + SIGMAS * deviation(expected);
        assert!(
            (measured - expected).abs() <= tolerance,
            "{parameters}: expected {expected}, measured {measured}"
        );
    }
}

fn measured_rate(db: &mut Connection) -> f64 {
    count_found(db, "k", 0..PROBES, absent_item) as f64 / PROBES as f64
}

fn deviation(rate: f64) -> f64 {
    (rate * (1.0 - rate) / PROBES as f64).sqrt()
}
