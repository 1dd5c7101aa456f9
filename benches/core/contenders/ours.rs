//! splitbloom's own filter, through the functions that the commands call.

use super::dump;
use super::undivided::SEED;
use crate::case::Case;
use crate::contender::Contender;
use crate::rig::Outcome;
use splitbloom::filter::scalable::{Filter, Growth, Parameters, SizeLimit};
use std::ops::RangeInclusive;

pub struct Ours(Filter);

impl Contender for Ours {
    const NAME: &'static str = "splitbloom";
    /// What `make fpr` measures is within 1 %; here there are fewer probes.
    const PLAUSIBLE_RATE: RangeInclusive<f64> = 0.85..=1.15;

    /// It does not grow, so that all of its items are in one sub-filter, made for the error rate.
    fn empty(case: &Case) -> Outcome<Self> {
        let parameters = Parameters {
            error_rate: case.error_rate,
            capacity: case.capacity,
            growth: Growth::Fixed,
            seed: SEED,
        };
        let filter = Filter::new(parameters, SizeLimit::Unlimited);
        Ok(Self(filter.map_err(|error| format!("{error:?}"))?))
    }

    fn of_copies(tile: &Self, case: &Case, items: u64) -> Outcome<Self> {
        dump::filter_of_copies(&tile.0, &Self::empty(case)?.0, items).map(Self)
    }

    #[inline]
    fn contains(&self, item: &[u8]) -> bool {
        self.0.contains(item)
    }

    #[inline]
    fn insert(&mut self, item: &[u8]) -> bool {
        self.0.add(item, SizeLimit::Unlimited) == Ok(true)
    }

    #[inline]
    fn contains_batch<'a>(&self, batch: impl Iterator<Item = &'a [u8]>, answer: impl FnMut(bool)) {
        self.0.contains_many(batch, answer);
    }

    #[inline]
    fn insert_batch<'a>(
        &mut self,
        batch: impl Iterator<Item = &'a [u8]>,
        answer: impl FnMut(bool),
    ) {
        // What is refused is missing in the answers, which are counted.
        let _ = self.0.add_many(batch, SizeLimit::Unlimited, answer);
    }
}
