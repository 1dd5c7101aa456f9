//! Arithmetic between numbers whose difference may be too large for an `f64`. Where it is not, the
//! formulas and their order are those of MergingDigest and of RedisBloom, to the last bit.

/// The number `part` of the way from `low` to `high`, where `part` is from 0 to 1.
pub(super) fn between(low: f64, high: f64, part: f64) -> f64 {
    let plain = low + part * (high - low);
    let sound = if plain.is_finite() { plain } else { low * (1.0 - part) + high * part };
    sound.clamp(low, high)
}

/// The same, counted from `high`.
pub(super) fn between_from_above(low: f64, high: f64, part: f64) -> f64 {
    let plain = high - part * (high - low);
    let sound = if plain.is_finite() { plain } else { high * (1.0 - part) + low * part };
    sound.clamp(low, high)
}

/// The mean of `low` and `high`, which have these weights.
pub(super) fn weighted_mean(low: f64, low_weight: f64, high: f64, high_weight: f64) -> f64 {
    let weight = low_weight + high_weight;
    if weight == 0.0 {
        return low;
    }
    let plain = (low * low_weight + high * high_weight) / weight;
    let sound = if plain.is_finite() {
        plain
    } else {
        low * (low_weight / weight) + high * (high_weight / weight)
    };
    sound.clamp(low, high)
}

/// The part of the way from `low` to `high` at which `x` lies.
pub(super) fn part(low: f64, x: f64, high: f64) -> f64 {
    scaled_part(1.0, low, x, high)
}

/// `scale` times that.
pub(super) fn scaled_part(scale: f64, low: f64, x: f64, high: f64) -> f64 {
    let plain = scale * (x - low) / (high - low);
    if plain.is_finite() && (high - low).is_finite() {
        return plain;
    }
    let part = (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    scale * part.clamp(0.0, 1.0)
}

/// The mean of `weight` numbers that have `mean`, once others of weight `added` at `x`, which is
/// not below it, are counted too; `sum` is the new weight.
#[inline]
pub(super) fn moved_mean(mean: f64, x: f64, added: f64, sum: f64) -> f64 {
    let step = (x - mean) * added / sum;
    if step.is_finite() {
        let moved = mean + step;
        return if moved > x { x } else { moved };
    }
    (mean * ((sum - added) / sum) + x * (added / sum)).clamp(mean, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let (low, high) = (f64::MIN, f64::MAX);
        for part in [0.0, 0.25, 0.5, 1.0] {
            let number = between(low, high, part);
            assert!((number - (2.0 * part - 1.0) * high).abs() <= high * 1e-15, "{part}");
            let number = between_from_above(low, high, part);
            assert!((number - (1.0 - 2.0 * part) * high).abs() <= high * 1e-15, "{part}");
        }
        assert_eq!(weighted_mean(low, 1.0, high, 1.0), 0.0);
        assert_eq!(weighted_mean(high, 3.0, high, 5.0), high);
        assert_eq!(scaled_part(3.0, low, 0.0, high), 1.5);
        assert_eq!(scaled_part(3.0, low, high, high), 3.0);
        assert_eq!(moved_mean(low, high, 1.0, 2.0), 0.0);
        assert_eq!(moved_mean(high, high, 7.0, 9.0), high);
        assert_eq!(moved_mean(0.0, high, 4.0, 8.0), high / 2.0);
    }
}
