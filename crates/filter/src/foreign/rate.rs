//! What is left of the error rate for items that come after the series.
//!
//! A false positive of the series is one of the filter, and so is one of the table that follows it.
//! So the table gets the requested rate less the rate of the series:
//!
//! ```text
//!   requested   the rate of the first layer; twice that if the filter grows, as RedisBloom gives its
//!               first layer half, the next a quarter, and so on
//!   series      the sum over its layers of fill^hashes, from the bits that are set; or, if that is
//!               more, the rate that its number of items leads to: their bits may still arrive
//!   table       requested - series, but at least a 64th of requested
//! ```
//!
//! The rate is fixed when the first new item arrives, since it decides the length of fingerprints.
//! A series within its capacity stays within the requested rate, and so does the sum, except for
//! the floor of a 64th. Six full layers leave just that. Each further halving would cost a bit per
//! item. A series that has used up its share gets the 64th on top, and one that RedisBloom
//! overfilled stays above the requested rate.

use super::layer::Layer;
use super::ForeignFilter;

/// The least share of the error rate that new items get.
const LEAST_SHARE: f64 = 1.0 / 64.0;
/// A table is made for no lower one ([`crate::table`]).
const LEAST_RATE: f64 = 1e-12;

impl ForeignFilter {
    /// The error rate that the series was made for: that of its first layer, or, if it grows, twice
    /// that.
    pub fn asked_error_rate(&self) -> f64 {
        let first = self.layers().first();
        let rate = first.map_or(0.0, |layer| layer.description().error_rate);
        let asked = if self.is_fixed() { rate } else { 2.0 * rate };
        asked.min(1.0 - f64::EPSILON)
    }

    /// The error rate of the part for new items: as it is, or as it would be if it began now.
    pub fn table_error_rate(&self) -> f64 {
        if self.table_rate > 0.0 {
            return self.table_rate;
        }
        let rate = |layer: &Layer| layer.false_positive_rate().max(layer.rate_of_items());
        let asked = self.asked_error_rate();
        let series: f64 = self.layers().iter().map(rate).sum();
        (asked - series).max(asked * LEAST_SHARE).max(LEAST_RATE)
    }
}
