mod adding;
mod chunks;
mod edges;
mod golden;
mod hostile;

use super::redisbloom;
use super::{Fields, Source};
use crate::error::DecodeError;
use crate::filter::Filter;
use crate::filter::SizeLimit;
use crate::hash::Seed;
use splitbloom_oracles::layers::Layers as _;
use splitbloom_oracles::redisbloom::{Arrays, Filter as Twin};
use splitbloom_test_dump::Dump;

const SEED: Seed = Seed(11);
const NO_LIMIT: SizeLimit = SizeLimit::Unlimited;

fn item(number: u64) -> Vec<u8> {
    format!("item:{number}").into_bytes()
}

fn stranger(number: u64) -> Vec<u8> {
    format!("stranger:{number}").into_bytes()
}

fn read_bloom(version: u32, fields: &mut impl Fields, seed: Seed) -> Result<Filter, DecodeError> {
    let layers = redisbloom::read_bloom(version, &mut Source::new(fields))?;
    Filter::of_layers(layers, seed, NO_LIMIT)
}

/// A twin with the items 0 to `items`.
fn filled(error_rate: f64, capacity: u64, growth: u64, items: u64) -> Twin {
    let mut twin = Twin::new(error_rate, capacity, growth);
    (0..items).for_each(|number| twin.add(&item(number)));
    twin
}

/// The filter as it comes from an RDB file.
fn from_rdb(twin: &Twin) -> Filter {
    read_bloom(4, &mut twin.fields().into_iter(), SEED).unwrap()
}

/// The filter as it comes in pieces of a given size.
fn from_pieces(twin: &Twin, len: usize) -> Filter {
    let mut filter = Filter::begin_redisbloom(&twin.header(), SEED, NO_LIMIT).unwrap();
    for (iterator, piece) in twin.pieces(len) {
        filter.take_piece(iterator, &piece).unwrap();
    }
    filter
}

/// Asks for all of these, one by one and in a batch, which must agree.
fn answers(filter: &Filter, items: &[Vec<u8>]) -> Vec<bool> {
    let one_by_one: Vec<bool> = items.iter().map(|item| filter.contains(item)).collect();
    let mut in_a_batch = Vec::new();
    filter.contains_many(items.iter().map(Vec::as_slice), |is_there| in_a_batch.push(is_there));
    assert_eq!(in_a_batch, one_by_one);
    one_by_one
}
