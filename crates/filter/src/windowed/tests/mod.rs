//! What the tests of filters that forget share.

mod forged;
mod forgetting;
mod loading;
mod model;
mod replica;

use super::{Outcome, Window, WindowedFilter};
use crate::codec::{chunks, load_chunk, Chunk};
use crate::error::DecodeError;
use crate::filter::{Growth, Parameters};
use crate::hash::Seed;
use crate::size_limit::SizeLimit;

const UNLIMITED: SizeLimit = SizeLimit::Unlimited;
/// So low that a few thousand items have no false positive.
const EXACT: f64 = 1e-9;
/// Some time, in milliseconds since 1970.
const START: u64 = 1_700_000_000_123;

fn parameters(error_rate: f64) -> Parameters {
    Parameters {
        error_rate,
        capacity: 1_000,
        growth: Growth::Times(2),
        seed: Seed(7),
    }
}

fn filter(error_rate: f64, seconds: u32, slices: u8, renew: bool) -> WindowedFilter {
    let window = Window::new(seconds, slices, renew).unwrap();
    WindowedFilter::new(parameters(error_rate), window, UNLIMITED).unwrap()
}

fn item(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

fn add(to: &mut WindowedFilter, numbers: std::ops::Range<u64>, now: u64) {
    for number in numbers {
        to.add(&item(number), now, UNLIMITED).unwrap();
    }
}

/// Sweeps to the end.
fn sweep_all(filter: &mut WindowedFilter, now: u64) {
    while !filter.sweep_step(now).unwrap().is_done {}
}

/// The bytes of a filter, chunk by chunk.
fn bytes_of(filter: &WindowedFilter) -> Vec<Vec<u8>> {
    let chunks = chunks(filter);
    chunks.map(|chunk| chunk.encode().unwrap().bytes).collect()
}

fn try_load(chunks: &[Vec<u8>]) -> Result<WindowedFilter, DecodeError> {
    let mut loaded: Option<WindowedFilter> = None;
    for bytes in chunks {
        let chunk = Chunk::parse(bytes)?;
        let begun = load_chunk(loaded.as_mut(), &chunk, UNLIMITED)?;
        loaded = begun.or(loaded);
    }
    loaded.ok_or(DecodeError::Length)
}

fn loaded(chunks: &[Vec<u8>]) -> WindowedFilter {
    try_load(chunks).unwrap()
}
