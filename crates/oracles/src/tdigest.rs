//! Saved t-digests.

use super::must;
use splitbloom_foundation::fields::Fields;

/// RedisBloom's capacity is this many nodes for each unit of the compression, and ten.
const NODES_PER_COMPRESSION: u64 = 6;
/// Up to here doubles hold every weight.
const EXACT: u64 = 1 << 53;
const MAX_WEIGHT: u64 = i64::MAX as u64;

/// The values of RedisBloom's fields.
pub struct Saved {
    pub compression: u64,
    pub passes: u64,
    /// Means and weights.
    pub nodes: Vec<(f64, f64)>,
}

impl Saved {
    pub fn of_fields(fields: &mut impl Fields) -> Option<Self> {
        let [compression, min, max] = [fields.double()?, fields.double()?, fields.double()?];
        let [capacity, merged, unmerged, passes] =
            [fields.unsigned()?, fields.unsigned()?, fields.unsigned()?, fields.unsigned()?];
        let [weight, unmerged_weight] = [fields.double()?, fields.double()?];
        // Its capacity is an `int`.
        let most = (i32::MAX as u64 - 10) / NODES_PER_COMPRESSION;
        must((1.0..=most as f64).contains(&compression) && compression.fract() == 0.0)?;
        must(capacity == NODES_PER_COMPRESSION * compression as u64 + 10)?;
        must(merged <= capacity && passes <= i64::MAX as u64)?;
        must(unmerged == 0 && unmerged_weight == 0.0)?;
        let ends = if merged == 0 { (f64::MAX, f64::MIN) } else { (min, max) };
        must((min, max) == ends && min.is_finite() && max.is_finite())?;
        let mut list = || (0..merged).map(|_| fields.double()).collect::<Option<Vec<f64>>>();
        let (mut means, weights) = (list()?, list()?);
        for mean in &mut means {
            if mean.is_infinite() {
                *mean = if *mean > 0.0 { max } else { min };
            }
        }
        let is_sound = |weight: &f64| (1.0..=MAX_WEIGHT as f64).contains(weight);
        let are_whole = weights.iter().all(|weight| is_sound(weight) && weight.fract() == 0.0);
        let sum = weights.iter().fold(0_u128, |sum, weight| sum.saturating_add(*weight as u128));
        let slack = if sum > EXACT.into() { sum as f64 * f64::EPSILON } else { 0.0 };
        let are_within = means.iter().all(|mean| (min..=max).contains(mean));
        let is_in_order = means.windows(2).all(|two| two[0] <= two[1]);
        let is_sum = (sum as f64 - weight).abs() <= slack && sum <= MAX_WEIGHT.into();
        must(are_whole && are_within && is_in_order && is_sum)?;
        let nodes = means.into_iter().zip(weights).collect();
        Some(Self { compression: compression as u64, passes, nodes })
    }
}
