//! Measured false-positive rates, by requested error rate.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// A non-scaling filter at its capacity is within 3 % of the requested rate (measured by `make
/// fpr`).
const TOLERANCE: f64 = 1.03;

/// How many standard errors a measurement may be off; chance exceeds them once in 30 000 rates.
const DEVIATIONS: f64 = 4.0;

#[derive(Default)]
pub struct Rates(Mutex<BTreeMap<&'static str, Measured>>);

/// Lookups of absent items for one rate, in samples of one filter each.
#[derive(Clone, Copy, Default)]
struct Measured {
    samples: f64,
    asked: f64,
    sum: f64,
    sum_of_squares: f64,
}

impl Measured {
    fn mean(self) -> f64 {
        self.sum / self.samples
    }

    /// The standard error of the mean, from the variance of the samples or, if there were few false
    /// positives, from their expected number.
    fn standard_error(self, rate: f64) -> f64 {
        let variance = (self.sum_of_squares / self.samples - self.mean().powi(2)).max(0.0);
        (variance / self.samples).sqrt().max((rate / self.asked).sqrt())
    }
}

impl Rates {
    /// Records that a filter with the requested `rate` had `found` false positives in `asked`
    /// lookups.
    pub fn record(&self, rate: &'static str, asked: u64, found: u64) {
        let mut all = self.0.lock().expect("no thread panics with the lock held");
        let measured = all.entry(rate).or_default();
        let share = found as f64 / asked as f64;
        measured.samples += 1.0;
        measured.asked += asked as f64;
        measured.sum += share;
        measured.sum_of_squares += share * share;
    }

    pub fn assert_within_requested(&self) {
        for (rate, measured) in self.0.lock().expect("no thread panics with the lock held").iter() {
            let requested: f64 = rate.parse().expect("a number");
            let most = requested * TOLERANCE + DEVIATIONS * measured.standard_error(requested);
            let mean = measured.mean();
            println!("  requested {rate}, measured {mean:.2e}, at most {most:.2e}");
            assert!(mean <= most, "requested {rate}, measured {mean}");
        }
    }
}
