//! A filter of thousands of sub-filters, which only earlier versions made.

use super::item;
use splitbloom_filter::bloom::guard;
use splitbloom_filter::bloom::sizing::shape_for;
use splitbloom_filter::hash::{multiply_high, ItemHash, Seed, G};
use xxhash_rust::xxh3::xxh3_64;

/// A piece as version 0.1.0 wrote it of `BF.RESERVE k 0.01 1 EXPANSION 1` and `len` items: so many
/// sub-filters of one item each. With the iterator that BF.LOADCHUNK wants.
pub fn long_series(len: u32) -> (i64, Vec<u8>) {
    const SEED: u64 = 7;
    const END: i64 = 1 << 52;
    let mut body = b"SBF\x01".to_vec();
    body.extend([0, END, 0].map(i64::to_le_bytes).as_flattened());
    body.push(1);
    let parameters = [SEED, 0.01f64.to_bits(), 1].map(u64::to_le_bytes);
    body.extend(parameters.as_flattened());
    body.extend(1u32.to_le_bytes());
    let identity = xxh3_64(&body[28..]).to_le_bytes();
    body[20..28].copy_from_slice(&identity);
    for index in 0..len {
        let share = match index {
            0 => 2.0 / 3.0,
            _ => 0.05 * 0.85f64.powi(index as i32 - 1),
        };
        let error_rate = 0.01 * share;
        let shape = shape_for(1, error_rate);
        body.push(2);
        body.extend(index.to_le_bytes());
        body.push(1);
        let sizes = [shape.sub_bitmap_bits, shape.num_hashes];
        body.extend(sizes.map(u32::to_le_bytes).as_flattened());
        let limit = guard::limit(&shape, 1, error_rate);
        let fields = [1, 1, error_rate.to_bits(), limit, 1].map(u64::to_le_bytes);
        body.extend(fields.as_flattened());
        let hash = ItemHash::of(&item(index.into()), Seed(SEED));
        let mut bits = vec![0u8; shape.num_bits() as usize / 8];
        let mut probe = hash.probes;
        for _ in 0..shape.num_hashes {
            let bit = multiply_high(probe, shape.num_bits()) as usize;
            bits[bit / 8] |= 1 << (bit % 8);
            probe = probe.wrapping_mul(G);
        }
        body.push(3);
        body.extend(index.to_le_bytes());
        body.extend(0u64.to_le_bytes());
        body.extend((bits.len() as u32).to_le_bytes());
        body.extend(bits);
    }
    body.push(4);
    body.extend([0; 12]);
    let checksum = xxh3_64(&body).to_le_bytes();
    (END, [body.as_slice(), &checksum].concat())
}
