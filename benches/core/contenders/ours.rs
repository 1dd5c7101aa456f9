//! splitbloom's filter, through the functions that the commands call.

use super::dump;
use super::standard::SEED;
use crate::case::Case;
use crate::contender::Contender;
use splitbloom_filter::filter::{Filter, Growth, Parameters, SizeLimit};
use splitbloom_rig::Outcome;
use std::ops::RangeInclusive;

pub struct Ours(Filter);

impl Contender for Ours {
    const NAME: &'static str = "splitbloom";
    /// `make bench PARTS=fpr` measures within 1 % of the requested rate, with more probes.
    const PLAUSIBLE_RATE: RangeInclusive<f64> = 0.85..=1.15;

    /// A fixed filter, so that all items are in one sub-filter with the full error rate.
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
    fn contains_batch<'a>(
        &self,
        batch: impl Iterator<Item = &'a [u8]>,
        on_result: impl FnMut(bool),
    ) {
        self.0.contains_many(batch, on_result);
    }

    #[inline]
    fn insert_batch<'a>(
        &mut self,
        batch: impl Iterator<Item = &'a [u8]>,
        on_result: impl FnMut(bool),
    ) {
        // Refused items produce no result, and the results are counted.
        let _ = self.0.add_many(batch, SizeLimit::Unlimited, on_result);
    }
}
