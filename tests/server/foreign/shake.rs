//! What RedisShake makes of a value of type `MBbloom--` that it reads in a file, or in what a
//! primary sends to a replica (its sources up to 4.2, and of 2026): BF.LOADCHUNK of RedisBloom's
//! header and pieces. In between it holds the two doubles of a layer as text with 15 decimals.

use splitbloom_harness::samples::{Sample, FIXED, GROWING};
use splitbloom_harness::Server;

#[test]
fn a_header_of_redisbloom_loads_with_its_doubles_rounded_to_15_decimals() {
    let (_server, mut db) = Server::start().with_client();
    for sample in [GROWING, FIXED] {
        let Sample { family, key, .. } = sample;
        let mut pieces = sample.pieces();
        round(&mut pieces[0].1);
        for (iterator, piece) in pieces {
            assert_eq!(family.load(&mut db, key, iterator, &piece), "+OK", "{key}");
        }
        sample.assert_is_what_it_was(&mut db);
    }
}

/// Rounds error rate and bits per item of each layer in a header of RedisBloom's chunks.
fn round(header: &mut [u8]) {
    const HEAD_BYTES: usize = 20;
    const LAYER_BYTES: usize = 53;
    /// Where they are in a layer.
    const DOUBLES: [usize; 2] = [24, 32];
    for layer in header[HEAD_BYTES..].chunks_exact_mut(LAYER_BYTES) {
        for start in DOUBLES {
            let bytes = &mut layer[start..start + 8];
            let value = f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let rounded: f64 = format!("{value:.15}").parse().expect("a number");
            bytes.copy_from_slice(&rounded.to_le_bytes());
        }
    }
}
