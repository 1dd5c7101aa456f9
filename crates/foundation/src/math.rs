//! Mathematics with the same bits on every machine, which a system's library does not promise.

/// `base` to an integer power, by squaring: a product for each bit of the exponent, and one more
/// for each that is set.
#[inline]
pub fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}
