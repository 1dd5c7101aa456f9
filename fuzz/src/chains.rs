//! Filters as chains of the second reader, and items aimed at one page.

use super::fuzzed::Fuzzed;
use super::laws::encoded;
use splitbloom_filter::Filter;
use splitbloom_oracles::plain_reader::{path_of, Chain};

/// The chain of a filter.
pub fn chain_of(filter: &Filter) -> Chain {
    let mut chain = Chain::of(filter.head());
    assert!(encoded(filter).iter().all(|chunk| chain.take(&chunk.bytes)));
    chain
}

/// `number` items whose paths begin with `zeros` zeros.
pub fn aimed(seed: u64, zeros: u32, number: usize) -> Vec<[u8; 8]> {
    let items = (0u64..).map(u64::to_le_bytes);
    let aimed = items.filter(|item| path_of(item, seed).leading_zeros() >= zeros);
    aimed.take(number).collect()
}
