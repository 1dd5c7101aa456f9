//! Mathematics that gives the same results on every machine, because it decides where bits lie.

pub mod model;
#[allow(unsafe_code, reason = "converts in one instruction")]
mod whole;

pub use whole::{whole, MAX_WHOLE};

/// `base` to an integer power, by squaring.
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
