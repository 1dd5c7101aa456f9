//! The mean without the ends.

use super::answers::Answers;

impl Answers<'_> {
    /// The mean of the numbers from the fraction `low` to the fraction `high` of their ranks, both
    /// widened to whole numbers; `None` if there are none. Cost: a step for each node.
    pub fn trimmed_mean(&self, low: f64, high: f64) -> Option<f64> {
        if let [node] = self.nodes {
            return Some(node.mean);
        }
        let weight = self.digest.weight() as f64;
        let (low, high) = ((weight * low).floor(), (weight * high).ceil());
        let parts = self.nodes.iter().map(move |node| {
            let (weight, below) = (node.weight, node.begin);
            let above_low = weight - (low - below).max(0.0).min(weight);
            let part = above_low.min((high - below).max(0.0));
            (node.mean, part)
        });
        let taken: f64 = parts.clone().map(|(_, part)| part).sum();
        let sum = parts.clone().fold(0.0, |sum, (mean, part)| sum + mean * part);
        if sum.is_finite() {
            return (taken > 0.0).then_some(sum / taken);
        }
        let mean = parts.fold(0.0, |sum, (mean, part)| sum + mean * (part / taken));
        Some(mean.clamp(self.digest.min, self.digest.max))
    }
}
