//! Bytes that RedisBloom or valkey-bloom did not write, where theirs are expected: in their
//! encodings, headers and pieces nothing is checked by a checksum.

use super::payloads::{restore, TYPE_BYTES};
use super::storm::{is_a_working_value, storm};
use super::BOUNDARIES;
use splitbloom_harness::samples::{earlier_bodies, loads, payload, Sample, ALL, OF_VALKEY_BLOOM};
use splitbloom_harness::{Connection, Random};

#[test]
fn each_of_very_many_mutated_values_of_redisbloom_is_refused_or_works() {
    let bodies: Vec<Vec<u8>> = ALL.iter().map(Sample::body).chain(earlier_bodies()).collect();
    storm_of_values("values of RedisBloom", &bodies, 9);
}

#[test]
fn each_of_very_many_mutated_values_of_valkey_bloom_is_refused_or_works() {
    let bodies = OF_VALKEY_BLOOM.map(|sample| sample.body());
    storm_of_values("values of valkey-bloom", &bodies, 12);
}

fn storm_of_values(of: &str, bodies: &[Vec<u8>], seed: u64) {
    let mut random = Random::seeded(seed);
    storm(of, bodies.len(), |db, number| {
        let body = random.mutated(&bodies[number % bodies.len()], TYPE_BYTES);
        let payload = payload(db, &body);
        restore(db, &payload) && is_a_working_value(db)
    });
}

#[test]
fn each_of_very_many_mutated_pieces_of_redisbloom_is_refused_or_works() {
    let mut random = Random::seeded(10);
    storm("chains of pieces of RedisBloom", ALL.len(), |db, number| {
        let sample = &ALL[number % ALL.len()];
        let mut pieces = sample.pieces();
        let place = random.index(pieces.len());
        if random.percent(70) {
            pieces[place].1 = random.mutated(&pieces[place].1, 0);
        } else {
            let iterator = *random.pick(&BOUNDARIES) as i64;
            pieces[place].0 = iterator.wrapping_sub(random.below(3) as i64);
        }
        try_pieces(db, sample, &pieces)
    });
}

#[test]
fn each_of_very_many_mutated_loads_of_valkey_bloom_is_refused_or_works() {
    let mut random = Random::seeded(11);
    let loads = loads();
    storm("loads of valkey-bloom", loads.len(), |db, number| {
        let (_, bytes) = &loads[number % loads.len()];
        let bytes = random.mutated(bytes, 0);
        let reply = db.call([b"BF.LOAD".as_slice(), b"k", &bytes]).to_string();
        assert!(reply == "+OK" || reply == "-ERR received bad data", "{reply}");
        reply == "+OK" && is_a_working_value(db)
    });
}

/// Loads them, and deletes what they make. Returns whether they begin a filter.
fn try_pieces(db: &mut Connection, sample: &Sample, pieces: &[(i64, Vec<u8>)]) -> bool {
    for (iterator, data) in pieces {
        let reply = sample.family.load(db, "k", *iterator, data);
        assert!(reply == "+OK" || reply == "-ERR received bad data", "{reply}");
    }
    db.ask("EXISTS k") == ":1" && is_a_working_value(db)
}
