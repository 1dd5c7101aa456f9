//! The natural logarithm. Where nodes are joined depends on it, so it must have the same bits on
//! every machine, which a system's library does not promise.

/// Bits after the point of a logarithm to base 2. Six before it suffice for numbers up to 2^63.
const FRACTION: u32 = 58;
/// The natural logarithm of 2, times 2^64.
const LN_2: u64 = 0xb172_17f7_d1cf_79ac;

/// ln `n`, for `n` from 1 to 2^63. The absolute error is below 2^-57 before rounding. Cost: 58
/// multiplications.
pub(super) fn natural_log(n: u64) -> f64 {
    let exponent = n.ilog2();
    // n / 2^exponent, from 1 up to 2, with 63 bits after the point.
    let mut power = n << (63 - exponent);
    // Each square has twice the logarithm: whether it reaches 2 is the logarithm's next digit.
    let mut log = u64::from(exponent);
    for _ in 0..FRACTION {
        let square = u128::from(power) * u128::from(power); // 126 bits after the point
        let digit = (square >> 127) as u64;
        power = (square >> (63 + digit)) as u64;
        log = log << 1 | digit;
    }
    let product = u128::from(log) * u128::from(LN_2);
    product as f64 / (1_u128 << (64 + FRACTION)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_systems_logarithm_to_the_last_bit_or_the_one_before() {
        let mut different = 0;
        let numbers = (1..20_000).chain((15..51).map(|exponent| (1_u64 << exponent) / 7 * 5 + 1));
        for n in numbers {
            let (ours, systems) = (natural_log(n), (n as f64).ln());
            assert!(ours.to_bits().abs_diff(systems.to_bits()) <= 1, "{n}: {ours} {systems}");
            different += u32::from(ours.to_bits() != systems.to_bits());
        }
        assert!(different < 100, "{different}");
    }

    #[test]
    fn it_is_known_at_some_numbers() {
        let known = [(1, 0.0), (2, std::f64::consts::LN_2), (1000, 6.907_755_278_982_137)];
        for (n, log) in known {
            assert_eq!(natural_log(n), log, "{n}");
        }
    }
}
