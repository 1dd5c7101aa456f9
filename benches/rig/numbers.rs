//! Distinct numbers that look random.

/// The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014)
/// as a function of its counter: a bijection whose results look random.
pub fn splitmix64(counter: u64) -> u64 {
    let x = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
