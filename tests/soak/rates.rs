//! How often strangers are taken for present, by the error rate that the filter was asked to have.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

/// A non-scaling filter at its capacity is within 3 % of the rate asked for (measured by `make fpr`).
const TOLERANCE: f64 = 1.03;

/// Standard errors that a fair run may be off: once in 30 000 rates.
const DEVIATIONS: f64 = 4.0;

#[derive(Default)]
pub struct Rates(Mutex<BTreeMap<&'static str, Measured>>);

/// Of one rate: strangers asked for, in samples of one filter each.
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

    /// Of the mean: from how the samples scatter, or, where few strangers were found at all, from their expected number.
    fn standard_error(self, rate: f64) -> f64 {
        let variance = (self.sum_of_squares / self.samples - self.mean().powi(2)).max(0.0);
        (variance / self.samples)
            .sqrt()
            .max((rate / self.asked).sqrt())
    }
}

impl Rates {
    /// Of a filter made for `rate`, `found` of `asked` strangers were taken for present.
    pub fn record(&self, rate: &'static str, asked: u64, found: u64) {
        let mut all = self.0.lock().expect("no panic under the lock");
        let measured = all.entry(rate).or_default();
        let share = found as f64 / asked as f64;
        measured.samples += 1.0;
        measured.asked += asked as f64;
        measured.sum += share;
        measured.sum_of_squares += share * share;
    }

    pub fn assert_as_asked_for(&self) {
        for (rate, measured) in self.0.lock().expect("no panic under the lock").iter() {
            let asked_for: f64 = rate.parse().expect("a number");
            let most = asked_for * TOLERANCE + DEVIATIONS * measured.standard_error(asked_for);
            let mean = measured.mean();
            assert!(mean <= most, "{rate} was asked for and {mean} measured");
        }
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "  rate asked for   strangers    measured (one standard error)"
        )?;
        for (rate, measured) in self.0.lock().expect("no panic under the lock").iter() {
            let error = measured.standard_error(rate.parse().expect("a number"));
            let (mean, asked) = (measured.mean(), measured.asked);
            writeln!(out, "  {rate:>14} {asked:>11}    {mean:.2e} ± {error:.1e}")?;
        }
        Ok(())
    }
}
