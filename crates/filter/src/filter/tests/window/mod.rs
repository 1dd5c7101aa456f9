//! What the tests of filters that forget share.

mod forged;
mod forgetting;
mod loading;
mod model;
mod replica;

use crate::codec::{chunks, load_chunk, Chunk};
use crate::error::DecodeError;
use crate::filter::window::Slices;
use crate::filter::SizeLimit;
use crate::filter::{Filter, Outcome, Window};
use crate::filter::{Growth, Parameters};
use crate::hash::{ItemHash, Seed};

const UNLIMITED: SizeLimit = SizeLimit::Unlimited;
/// So low that a few thousand items have no false positive.
const EXACT: f64 = 1e-9;
/// Some time, in milliseconds since 1970.
const START: u64 = 1_700_000_000_123;

fn parameters(error_rate: f64) -> Parameters {
    Parameters { error_rate, capacity: 1_000, growth: Growth::Times(2), seed: Seed(7) }
}

fn filter(error_rate: f64, seconds: u32, slices: u8, renew: bool) -> Filter {
    let window = Window::new(seconds, slices, renew).unwrap();
    Filter::windowed(parameters(error_rate), window, UNLIMITED).unwrap()
}

impl Filter {
    fn advance_to(&mut self, now: u64) {
        let (clock, table) = self.body.organs_mut().unwrap().clock_mut().unwrap();
        let _ = clock.advance(table, now);
    }

    fn slices(&self) -> Slices {
        self.clock().unwrap().slices
    }

    fn sweep_pages(&mut self, most: u32) {
        let (clock, table) = self.body.organs_mut().unwrap().clock_mut().unwrap();
        clock.sweep(table, most);
    }

    fn contains_hash(&self, hash: ItemHash, now: u64) -> bool {
        let visible = self.clock().unwrap().visible(now);
        self.table().unwrap().contains_among(hash, visible)
    }
}

fn item(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

fn add(to: &mut Filter, numbers: std::ops::Range<u64>, now: u64) {
    for number in numbers {
        to.add_at(&item(number), now, UNLIMITED).unwrap();
    }
}

/// Sweeps to the end.
fn sweep_all(filter: &mut Filter, now: u64) {
    while !filter.sweep_step(now).unwrap().is_done {}
}

/// The bytes of a filter, chunk by chunk.
fn bytes_of(filter: &Filter) -> Vec<Vec<u8>> {
    let chunks = chunks(filter);
    chunks.map(|chunk| chunk.encode().unwrap().bytes).collect()
}

fn try_load(chunks: &[Vec<u8>]) -> Result<Filter, DecodeError> {
    let mut loaded: Option<Filter> = None;
    for bytes in chunks {
        let chunk = Chunk::parse(bytes)?;
        let begun = load_chunk(loaded.as_mut(), &chunk, UNLIMITED)?;
        loaded = begun.or(loaded);
    }
    loaded.ok_or(DecodeError::Length)
}

fn loaded(chunks: &[Vec<u8>]) -> Filter {
    try_load(chunks).unwrap()
}
