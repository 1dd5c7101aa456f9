//! Filters with the parameters that matter, filters as chains of the second reader, and items aimed
//! at one page.

use super::fuzzed::head;
use super::laws::encoded;
use splitbloom_filter::filter::{
    CountingParameters, Filter, Growth, Parameters, SizeLimit, Window,
};
use splitbloom_filter::hash::Seed;
use splitbloom_oracles::plain_reader::{path_of, Chain};

pub const TWICE: Growth = Growth::Times(2);

pub fn bloom(error_rate: f64, capacity: u64, growth: Growth, seed: u64) -> Filter {
    let parameters = Parameters { error_rate, capacity, growth, seed: Seed(seed) };
    Filter::new(parameters, SizeLimit::Unlimited).unwrap()
}

pub fn counting(error_rate: f64, capacity: u64, grows: bool, seed: u64) -> Filter {
    let parameters = CountingParameters {
        error_rate,
        capacity,
        expansion: grows.into(),
        bucket_size: 2,
        max_iterations: 20,
        seed: Seed(seed),
    };
    Filter::counting(parameters, SizeLimit::Unlimited).unwrap()
}

pub fn windowed(error_rate: f64, capacity: u64, growth: Growth, window: Window) -> Filter {
    let parameters = Parameters { error_rate, capacity, growth, seed: Seed(1) };
    Filter::windowed(parameters, window, SizeLimit::Unlimited).unwrap()
}

/// The chain of a filter.
pub fn chain_of(filter: &Filter) -> Chain {
    let mut chain = Chain::of(head(filter));
    assert!(encoded(filter).iter().all(|chunk| chain.take(&chunk.bytes)));
    chain
}

/// `number` items whose paths begin with `zeros` zeros.
pub fn aimed(seed: u64, zeros: u32, number: usize) -> Vec<[u8; 8]> {
    let items = (0u64..).map(u64::to_le_bytes);
    let aimed = items.filter(|item| path_of(item, seed).leading_zeros() >= zeros);
    aimed.take(number).collect()
}
