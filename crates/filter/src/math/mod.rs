//! Mathematics that gives the same results on every machine, because it decides where bits lie.

pub mod model;

pub use splitbloom_foundation::math::power;

/// The largest integer that [`whole`] returns.
pub const MAX_WHOLE: f64 = (1u64 << 60) as f64;

/// `number` without its fraction, from 0 to [`MAX_WHOLE`]: smaller numbers become 0, larger ones
/// and NaN [`MAX_WHOLE`].
///
/// `as` would compare twice more, for numbers that do not fit, which is a thirtieth of an insert.
#[allow(clippy::manual_clamp, reason = "NaN stays NaN in `clamp`")]
#[allow(unsafe_code, reason = "converts in one instruction")]
#[inline(always)]
pub fn whole(number: f64) -> u64 {
    let number = number.min(MAX_WHOLE).max(0.0);
    // SAFETY: not NaN, since `min` returns the other number for NaN, and within 0 to 2^60.
    unsafe { number.to_int_unchecked::<i64>() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_saturating_conversion_up_to_the_most() {
        let most = MAX_WHOLE as u64;
        for number in [0.0, 0.5, 1.0, 1.999_999, 4e9, 1e15 + 0.5, MAX_WHOLE - 128.0, MAX_WHOLE] {
            assert_eq!(whole(number), number as u64, "{number}");
        }
        for number in [MAX_WHOLE * 2.0, f64::MAX, f64::INFINITY, f64::NAN] {
            assert_eq!(whole(number), most, "{number}");
        }
        for number in [-0.0, -0.5, -1.0, -1e300, f64::NEG_INFINITY] {
            assert_eq!(whole(number), 0, "{number}");
        }
    }
}
