//! Rounds and their medians: the machine is noisy, and one slow round in ten is its doing.
//!
//! Each round measures all contenders in turn, so that a disturbance of the machine affects them
//! all; every other round in reverse order, as the one after the baseline is at a disadvantage
//! (with the same code on both sides, BF.MADD took 55 ns as the second and 49 as the third).

/// The numbers of all rounds; says on standard error which one begins.
pub fn rounds(label: &str, count: usize) -> impl Iterator<Item = usize> + '_ {
    (0..count).inspect(move |round| eprintln!("{label}: round {} of {count}", round + 1))
}

/// The turns of a round.
pub fn order(round: usize, contenders: usize) -> impl Iterator<Item = usize> {
    let is_reversed = round % 2 == 1;
    (0..contenders).map(move |turn| if is_reversed { contenders - 1 - turn } else { turn })
}

/// A figure of every round.
#[derive(Clone, Debug, Default)]
pub struct Rounds(Vec<f64>);

impl Rounds {
    pub fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// The median with `decimals` decimals; empty if there are no rounds.
    pub fn median(&self, decimals: usize) -> String {
        in_words(median(&self.0), decimals)
    }

    /// The median of the ratios, with two decimals; nothing if either has no rounds.
    pub fn relative_to(&self, other: &Self) -> String {
        in_words(median_ratio(&self.0, &other.0), 2)
    }
}

/// Nothing if it is NaN.
pub fn in_words(figure: f64, decimals: usize) -> String {
    if figure.is_nan() {
        return String::new();
    }
    format!("{figure:.decimals$}")
}

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

/// The value that a fraction `share` of the `sorted` values does not exceed.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len().saturating_sub(1) as f64 * share) as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// A share of `count` in percent, with the half of its 95 % confidence interval.
pub fn percent(ones: u64, count: u64) -> [f64; 2] {
    let rate = ones as f64 / count as f64;
    [rate, 1.96 * (rate * (1.0 - rate) / count as f64).sqrt()].map(|share| share * 100.0)
}
