//! splitbloom's filter, through the functions that the commands call.

use super::dump;
use super::standard::SEED;
use crate::case::Case;
use crate::contender::{Batch, Contender};
use splitbloom_filter::filter::{Filter, Growth, Parameters, SizeLimit};
use splitbloom_rig::Outcome;

pub struct Ours(Filter);

impl Ours {
    /// A fixed filter, so that all items are in one sub-filter with the full error rate.
    pub fn empty(case: &Case) -> Outcome<Self> {
        let Case { error_rate, capacity, .. } = *case;
        let parameters = Parameters { error_rate, capacity, growth: Growth::Fixed, seed: SEED };
        let filter = Filter::new(parameters, SizeLimit::Unlimited);
        Ok(Self(filter.map_err(|error| format!("{error:?}"))?))
    }
}

impl Contender for Ours {
    fn copies(&self, case: &Case, items: u64) -> Outcome<Box<dyn Contender>> {
        let copies = dump::filter_of_copies(&self.0, &Self::empty(case)?.0, items)?;
        Ok(Box::new(Self(copies)))
    }

    #[inline]
    fn contains(&self, item: &[u8]) -> bool {
        self.0.contains(item)
    }

    #[inline]
    fn insert(&mut self, item: &[u8]) -> bool {
        self.0.add(item) == Ok(true)
    }

    #[inline]
    fn count_present(&self, batch: Batch) -> u64 {
        let mut present = 0;
        self.0.contains_many(batch, |is_present| present += u64::from(is_present));
        present
    }

    #[inline]
    fn insert_all(&mut self, batch: Batch) -> u64 {
        let mut new = 0;
        // Refused items produce no result, and the results are counted.
        let _ = self.0.add_many(batch, |is_new| new += u64::from(is_new));
        new
    }
}
