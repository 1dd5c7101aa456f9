//! Filters as earlier versions grew them, by series of sub-filters, and items aimed at one page.

use super::fuzzed::Fuzzed;
use super::laws::encoded;
use super::loaded::load;
use super::plain_reader::{path_of, Chain, Head, SubFilter};
use splitbloom_filter::filter::{Filter, Growth, Parameters, SizeLimit};
use splitbloom_filter::hash::Seed;

/// The chain of a filter.
pub fn chain_of<F: Fuzzed>(filter: &F) -> Chain {
    let mut chain = Chain::of(F::KIND);
    assert!(encoded(filter).iter().all(|chunk| chain.take(&chunk.bytes)));
    chain
}

/// The filter of a chain that fits one chunk.
pub fn filter_of(chain: &Chain) -> Filter {
    let mut filter = None;
    load(&mut filter, &chain.as_one_chunk(), SizeLimit::Unlimited).expect("a good chunk");
    filter.expect("a filter")
}

/// A series of so many sub-filters, all but the last one full. They hold the numbers from 0 on, as
/// eight bytes.
pub fn series(error_rate: f64, capacity: u64, seed: u64, sub_filters: usize) -> Chain {
    let parameters = Parameters {
        error_rate,
        capacity,
        growth: Growth::Times(1),
        seed: Seed(seed),
    };
    let whole = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    let mut items = 0u64..;
    let filled = (0..sub_filters).map(|index| {
        let further = 0.15 * 0.85f64.powi(index as i32 - 1);
        let share = [2.0 / 3.0, further / 3.0][index.min(1)];
        let parameters = Parameters {
            error_rate: error_rate * share,
            growth: Growth::Fixed,
            ..parameters
        };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        let most = match index + 1 == sub_filters {
            true => capacity / 2,
            false => capacity,
        };
        while filter.items() < most {
            let item = items.next().expect("a number").to_le_bytes();
            if filter.add(&item, SizeLimit::Unlimited).is_err() {
                break;
            }
        }
        only_sub_filter(&filter)
    });
    chain_of(&whole).with_sub_filters(filled.collect())
}

fn only_sub_filter(filter: &Filter) -> SubFilter {
    let mut chain = chain_of(filter);
    chain.sub_filters.pop().expect("one")
}

/// Items whose paths begin with so many zeros.
pub fn aimed(seed: u64, zeros: u32, number: usize) -> Vec<[u8; 8]> {
    let items = (0u64..).map(u64::to_le_bytes);
    let aimed = items.filter(|item| path_of(item, seed).leading_zeros() >= zeros);
    aimed.take(number).collect()
}

impl Chain {
    /// What an earlier version saved that had begun to load this chain, and grown meanwhile.
    pub fn part_loaded_and_grown(self, least: usize, chunks: usize, grown: &Self) -> Self {
        let mut half = Self::of(Head::Filter);
        for chunk in &self.in_chunks_of(least, |_| 1)[..chunks] {
            assert!(half.take(chunk));
        }
        half.sub_filters.extend(grown.sub_filters.iter().cloned());
        half
    }
}
