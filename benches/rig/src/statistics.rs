//! Medians: the machine is noisy, and one slow round in ten is its doing.

/// The middle value, or the mean of the two middle ones; NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (len, middle) if len % 2 == 0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        (_, middle) => sorted[middle],
    }
}

/// The median over the rounds of `ours / theirs`, each pair from the same round: what slows a whole
/// round cancels out.
pub fn median_ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    median(&ratios)
}
