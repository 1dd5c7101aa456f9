mod adding;
mod chunks;
pub mod dump;
mod edges;
mod golden;
mod hostile;
mod twin;

use super::rdb::read_bloom;
use super::{pieces, ForeignFilter};
use crate::hash::Seed;
use crate::size_limit::SizeLimit;
use dump::Dump;
use twin::Twin;

const SEED: Seed = Seed(11);
const NO_LIMIT: SizeLimit = SizeLimit::Unlimited;

fn item(number: u64) -> Vec<u8> {
    format!("item:{number}").into_bytes()
}

fn stranger(number: u64) -> Vec<u8> {
    format!("stranger:{number}").into_bytes()
}

/// The filter as it comes from an RDB file.
fn from_rdb(twin: &Twin) -> ForeignFilter {
    read_bloom(4, &mut twin.fields().into_iter(), SEED).unwrap()
}

/// The filter as it comes in pieces of so many bytes.
fn from_pieces(twin: &Twin, len: usize) -> ForeignFilter {
    let mut filter = pieces::begin(&twin.header(), SEED, NO_LIMIT).unwrap();
    for (iterator, piece) in twin.pieces(len) {
        filter.take_piece(iterator, &piece).unwrap();
    }
    filter
}

/// Asks for all of these, one by one and in a batch, which must agree.
fn answers(filter: &ForeignFilter, items: &[Vec<u8>]) -> Vec<bool> {
    let one_by_one: Vec<bool> = items.iter().map(|item| filter.contains(item)).collect();
    let mut in_a_batch = Vec::new();
    filter.contains_many(items.iter().map(Vec::as_slice), |is_there| {
        in_a_batch.push(is_there)
    });
    assert_eq!(in_a_batch, one_by_one);
    one_by_one
}
