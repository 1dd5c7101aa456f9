//! Values as RedisShake passes them on. It reads a file, or what a primary sends to a replica,
//! value by value, and turns each into commands (its sources up to 4.2, and of 2026):
//!
//! - A value of type `MBbloom--`, which it takes for RedisBloom's: BF.LOADCHUNK of RedisBloom's
//!   header and pieces. In between it holds the two doubles of a layer as text with 15 decimals.
//! - A value of any other module, in versions after 4.2: RESTORE of the value's bytes with a footer
//!   of version 6.
//!
//! Its other way, SCAN and DUMP, passes on what DUMP returns.

use crate::snapshot::{entries, MODULE};
use splitbloom_harness::samples::{
    Sample, ALL, FIXED, GROWING, OF_VALKEY_BLOOM, RDB, RDB_OF_VALKEY_BLOOM,
};
use splitbloom_harness::{with_fresh_footer, Connection, Server, Specimens};
use std::fs;

/// The version in RedisShake's footers, and a checksum to be replaced.
const FOOTER: [u8; 10] = [6, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[test]
fn every_value_of_a_file_of_ours_restores_to_what_it_was() {
    let (source, target) = (Server::start(), Server::start());
    let (mut from, mut to) = (source.connect(), target.connect());
    Specimens::create(&mut from);
    let before = Specimens::fingerprints(&mut from);
    for compression in ["yes", "no"] {
        from.run(&format!("CONFIG SET rdbcompression {compression}"));
        from.run("SAVE");
        let file = fs::read(source.folder().join("dump.rdb")).expect("a file was saved");
        let values = module_values(&file);
        assert_eq!(values.len(), Specimens::all().count());
        for (key, body) in values {
            restore_over_another(&mut to, &key, &body);
        }
        assert!(Specimens::fingerprints(&mut to) == before, "{compression}");
    }
}

#[test]
fn every_value_of_a_file_of_redisbloom_or_valkey_bloom_restores_to_what_it_was() {
    let server = Server::start();
    let mut db = server.connect();
    for (file, samples) in
        [(RDB, ALL.as_slice()), (RDB_OF_VALKEY_BLOOM, OF_VALKEY_BLOOM.as_slice())]
    {
        let values = module_values(file);
        assert_eq!(values.len(), samples.len());
        for (key, body) in values {
            restore_over_another(&mut db, &key, &body);
        }
        for sample in samples {
            sample.assert_is_what_it_was(&mut db);
        }
    }
}

#[test]
fn a_header_of_redisbloom_loads_with_its_doubles_rounded_to_15_decimals() {
    let server = Server::start();
    let mut db = server.connect();
    for sample in [GROWING, FIXED] {
        let Sample { family, key, .. } = sample;
        let pieces = sample.pieces();
        let (header, data) = pieces.split_first().expect("a header");
        let header = rounded(&header.1);
        assert_eq!(family.load(&mut db, key, 1, &header), "+OK", "{key}");
        for (iterator, piece) in data {
            assert_eq!(family.load(&mut db, key, *iterator, piece), "+OK", "{key}");
        }
        sample.assert_is_what_it_was(&mut db);
    }
}

/// Restores a value as RedisShake does where it may replace keys.
fn restore_over_another(db: &mut Connection, key: &[u8], body: &[u8]) {
    let add = [b"BF.ADD", key, b"another"];
    db.call(add); // an error if it is not a Bloom filter by now
    let payload = with_fresh_footer(&FOOTER, body);
    let reply = db.call([b"RESTORE", key, b"0", &payload, b"REPLACE"]);
    assert_eq!(reply.to_string(), "+OK", "{}", key.escape_ascii());
}

/// A header of RedisBloom's chunks with error rate and bits per item of each layer rounded.
fn rounded(header: &[u8]) -> Vec<u8> {
    const HEAD_BYTES: usize = 20;
    const LAYER_BYTES: usize = 53;
    /// Where they are in a layer.
    const DOUBLES: [usize; 2] = [24, 32];
    let mut header = header.to_vec();
    for layer in header[HEAD_BYTES..].chunks_exact_mut(LAYER_BYTES) {
        for start in DOUBLES {
            let bytes = &mut layer[start..start + 8];
            let value = f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let rounded: f64 = format!("{value:.15}").parse().expect("a number");
            bytes.copy_from_slice(&rounded.to_le_bytes());
        }
    }
    header
}

/// The key of each value of a module in an RDB file, and the value with its type.
fn module_values(file: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let entries = entries(file).into_iter().filter(|entry| entry.kind == MODULE);
    entries.map(|entry| (entry.key.to_vec(), [&[MODULE], entry.value].concat())).collect()
}
