//! The memory that each kind of filter takes. The figures of the module's filters come from its
//! library: the shapes that it chooses, and tables that are made to be measured.

use splitbloom_filter::bloom::sizing::MAX_CAPACITY;
use splitbloom_filter::filter::{Adding, CountingParameters};
use splitbloom_filter::{AddError, Filter, Growth, Parameters, Seed, SizeLimit, Window};
use std::f64::consts::LN_2;

/// The most items that tables are measured with. Larger ones have the same pages, only more of
/// them: each halving of the paths halves the items.
const MEASURED: u64 = 1 << 17;
const SEED: Seed = Seed(0x5eed);

/// One kind of filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub name: &'static str,
    pub bits: u64,
    /// Bits that an item sets; a table has none.
    pub probes: Option<u32>,
    /// Bytes that a server allocates for the full filter; `None` if the module does not make it.
    pub bytes: Option<u64>,
}

/// Each kind of filter for `items` items.
pub fn rows(items: u64, error_rate: f64) -> Vec<Row> {
    vec![
        textbook(items, error_rate),
        blocked("blocked", items, error_rate, Growth::Fixed),
        blocked("growing, reserved", items, error_rate, Growth::Times(2)),
        table("growing, not reserved", items, |sample| grown(sample, error_rate)),
        table("counting (CF)", items, |sample| counting(sample, error_rate)),
    ]
}

/// An undivided Bloom filter as textbooks size it.
pub fn textbook(items: u64, error_rate: f64) -> Row {
    let bits = (-(items as f64) * error_rate.ln() / (LN_2 * LN_2)).ceil();
    Row {
        name: "textbook",
        bits: bits as u64,
        probes: Some((bits / items as f64 * LN_2).round().max(1.0) as u32),
        bytes: None,
    }
}

fn parameters(capacity: u64, error_rate: f64, growth: Growth) -> Parameters {
    Parameters { error_rate, capacity, growth, seed: SEED }
}

/// A filter reserved for its items.
fn blocked(name: &'static str, items: u64, error_rate: f64, growth: Growth) -> Row {
    let parameters = parameters(items, error_rate, growth);
    // Without a size limit, no filter is refused.
    let filter = Filter::new(parameters, SizeLimit::Unlimited).ok();
    let Some(bloom) = filter.as_ref().and_then(Filter::bloom) else {
        // It begins with a table.
        return table(name, items, |sample| grown(sample, error_rate));
    };
    let shape = bloom.header().shape;
    let bytes = filter.as_ref().map(Filter::reserved_bytes);
    Row { name, bits: shape.num_bits(), probes: Some(shape.num_hashes), bytes }
}

/// The row of a filter with a table; `bytes` measures it, on fewer items if there are many.
fn table(name: &'static str, items: u64, bytes: impl Fn(u64) -> u64) -> Row {
    let halvings = (items.div_ceil(MEASURED)).next_power_of_two().ilog2();
    let bytes = bytes(items.div_ceil(1 << halvings)) << halvings;
    Row { name, bits: 8 * bytes, probes: None, bytes: Some(bytes) }
}

/// Bytes of a filter with its items, which are added by their numbers.
fn filled(
    filter: Result<Filter, AddError>,
    items: u64,
    add: impl Fn(&mut Filter, u64) -> Result<(), AddError>,
) -> u64 {
    let Ok(mut filter) = filter else { return 0 };
    // Only a lack of memory can make this fail; items that are then missing are not counted.
    let _ = (0..items).try_for_each(|n| add(&mut filter, n));
    filter.reserved_bytes()
}

/// Bytes of a filter that begins with the capacity that servers give it by default.
fn grown(items: u64, error_rate: f64) -> u64 {
    const DEFAULT_CAPACITY: u64 = 100;
    let parameters = parameters(DEFAULT_CAPACITY, error_rate, Growth::Times(2));
    filled(Filter::new(parameters, SizeLimit::Unlimited), items, |filter, n| {
        filter.add(&n.to_le_bytes()).map(drop)
    })
}

fn counting(items: u64, error_rate: f64) -> u64 {
    let parameters = CountingParameters {
        error_rate,
        capacity: items,
        expansion: 1,
        bucket_size: 2,
        max_iterations: 20,
        seed: SEED,
    };
    filled(Filter::counting(parameters, SizeLimit::Unlimited), items, |filter, n| {
        let item = n.to_le_bytes();
        filter.add_copy(&item, Adding::Copies, SizeLimit::Unlimited).map(drop)
    })
}

/// A filter that forgets, whose items come evenly: it holds the items of one window, and of at most
/// one more slice.
pub fn forgetting(items: u64, error_rate: f64, window: Window) -> Row {
    let slices = u64::from(window.slices());
    let remembered = items.saturating_add(items.div_ceil(slices));
    let span = u64::from(window.seconds()) * 1_000 * (slices + 1) / slices;
    table("forgetting", remembered, |sample| {
        let parameters = parameters(sample, error_rate, Growth::Times(2));
        let filter = Filter::windowed(parameters, window, SizeLimit::Unlimited);
        filled(filter, sample, |filter, n| {
            let now = (u128::from(n) * u128::from(span) / u128::from(sample)) as u64;
            filter.add_at(&n.to_le_bytes(), now, SizeLimit::Unlimited).map(drop)
        })
    })
}

/// `error_rate` and three powers of ten to either side of it, as far as filters can have them.
pub fn neighbours(error_rate: f64) -> impl Iterator<Item = f64> {
    let rates = (-3..=3).rev().map(move |power| error_rate * 10f64.powi(power));
    rates.filter(|rate| (1e-15..1.0).contains(rate))
}

/// Bytes of a blocked filter that does not grow.
fn bytes(items: u64, error_rate: f64) -> u64 {
    let parameters = parameters(items, error_rate, Growth::Fixed);
    let filter = Filter::new(parameters, SizeLimit::Unlimited);
    filter.map_or(u64::MAX, |filter| filter.reserved_bytes())
}

/// The lowest error rate of a blocked filter of `items` items in `memory` bytes; `None` if even the
/// highest does not fit.
pub fn error_within(memory: u64, items: u64) -> Option<f64> {
    let fits = |error_rate: f64| bytes(items, error_rate) <= memory;
    let (lowest, highest) = (1e-15f64, 0.999);
    if fits(lowest) {
        return Some(lowest);
    }
    // To a thousandth: 15 powers of ten are halved 16 times.
    let between = |high: f64, low: f64| (high / low > 1.001).then(|| (low * high).sqrt());
    fits(highest).then(|| last_that(fits, highest, lowest, between))
}

/// The most items of a blocked filter of this error rate in `memory` bytes.
pub fn items_within(memory: u64, error_rate: f64) -> Option<u64> {
    let fits = |items: u64| bytes(items, error_rate) <= memory;
    let between = |low: u64, high: u64| (low + 1 < high).then(|| low + (high - low) / 2);
    fits(1).then(|| last_that(fits, 1, MAX_CAPACITY + 1, between))
}

/// Returns the last number that fits, between `does`, which fits, and `does_not`. The search ends
/// when `between` finds nothing between the two.
fn last_that<T: Copy>(
    fits: impl Fn(T) -> bool,
    mut does: T,
    mut does_not: T,
    between: impl Fn(T, T) -> Option<T>,
) -> T {
    while let Some(middle) = between(does, does_not) {
        match fits(middle) {
            true => does = middle,
            false => does_not = middle,
        }
    }
    does
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_example_has_its_numbers() {
        let row = textbook(6_000, 1e-9);
        assert_eq!((row.bits, row.probes), (258_797, Some(30)));
    }

    #[test]
    fn blocked_filters_have_the_bits_that_the_module_gives_them() {
        let row = blocked("", 1_000_000, 0.01, Growth::Fixed);
        assert_eq!((row.bits, row.probes), (19_456 * 512, Some(6)));
    }

    #[test]
    fn a_large_table_takes_what_its_sample_takes_times_as_many() {
        let one = table("", 100_000, |items| counting(items, 0.01));
        let many = table("", 1_600_000, |items| counting(items, 0.01));
        assert_eq!(many.bits, 16 * one.bits);
        let really = 8 * counting(1_600_000, 0.01);
        let ratio = many.bits as f64 / really as f64;
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_is_computed_backwards_fits_and_a_little_more_does_not() {
        let memory = 1 << 20;
        let items = items_within(memory, 0.01).unwrap();
        assert!(bytes(items, 0.01) <= memory && bytes(items + 1, 0.01) > memory);
        let error = error_within(memory, items).unwrap();
        assert!((0.0099..=0.0101).contains(&error), "{error}");
        assert_eq!(error_within(8, 1_000_000), None);
        assert_eq!(error_within(1 << 40, 10), Some(1e-15));
    }
}
