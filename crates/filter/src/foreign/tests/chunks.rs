//! The same filter in chunks of ours: saved, loaded, compared, copied, moved.

use super::*;
use crate::codec::{chunks, is_chunk, load_chunk, Chunk, MEMORY_PER_BYTE};
use crate::error::{AddError, DecodeError};
use crate::filter::{Filter, Kind};
use crate::storage::Mover;
use std::num::NonZeroU64;

fn encoded(filter: &Filter) -> Vec<Vec<u8>> {
    let chunks = chunks(filter).map(|chunk| chunk.encode().unwrap().bytes);
    chunks.collect()
}

fn load(filter: &mut Option<Filter>, bytes: &[u8], limit: SizeLimit) -> Result<(), DecodeError> {
    let begun = load_chunk(filter.as_mut(), &Chunk::parse(bytes)?, limit)?;
    *filter = begun.or(filter.take());
    Ok(())
}

fn decoded(chunks: &[Vec<u8>]) -> Filter {
    let mut filter = None;
    for chunk in chunks {
        assert!(is_chunk(chunk), "one of ours");
        load(&mut filter, chunk, NO_LIMIT).unwrap();
    }
    filter.unwrap()
}

/// Small and large, of one and of several layers, with and without a table, and without bits.
fn samples() -> Vec<Filter> {
    let mut behind = from_rdb(&filled(0.01, 60, 2, 500));
    // Of two chunks.
    let mut behind_a_large_one = from_rdb(&filled(0.01, 1_000_000, 2, 300_000));
    for number in 0..1_000 {
        behind.add(&stranger(number)).unwrap();
        behind_a_large_one.add(&stranger(number)).unwrap();
    }
    let header = filled(0.02, 100, 2, 1_000).header();
    vec![
        from_rdb(&Twin::new(0.01, 3, 0)),
        from_rdb(&filled(0.01, 3, 0, 3)),
        from_rdb(&filled(0.5, 1, 1, 20)),
        from_rdb(&filled(0.001, 5_000, 4, 30_000)),
        from_rdb(&filled(0.01, 2_000_000, 0, 400_000)),
        Filter::begin_redisbloom(&header, SEED, NO_LIMIT).unwrap(),
        behind,
        behind_a_large_one,
    ]
}

#[test]
fn what_is_saved_is_what_is_loaded() {
    for filter in samples() {
        let chunks = encoded(&filter);
        let mut loaded = decoded(&chunks);
        assert_eq!(loaded.digest(), filter.digest());
        assert_eq!(encoded(&loaded), chunks);
        assert_eq!(loaded.parameters(), filter.parameters());
        assert_eq!((loaded.items(), loaded.set_bits()), (filter.items(), filter.set_bits()));
        assert_eq!(loaded.table_error_rate().unwrap(), filter.table_error_rate().unwrap());
        let probes: Vec<_> = (0..500).flat_map(|n| [item(n), stranger(n)]).collect();
        assert_eq!(answers(&loaded, &probes), answers(&filter, &probes));
        // It goes on in the same way.
        let mut filter = decoded(&chunks);
        for probe in &probes {
            assert_eq!(loaded.add(probe), filter.add(probe));
        }
        assert_eq!(loaded.digest(), filter.digest());
    }
}

#[test]
fn a_part_loaded_filter_answers_from_what_came_and_takes_no_new_item() {
    let filter = samples().pop().unwrap();
    let chunks = encoded(&filter);
    assert!(chunks.len() > 1);
    let mut loaded = None;
    for (n, chunk) in chunks.iter().enumerate() {
        load(&mut loaded, chunk, NO_LIMIT).unwrap();
        let part = loaded.as_mut().unwrap();
        assert_eq!(part.loading().is_some(), n + 1 < chunks.len());
        if part.loading().is_some() {
            let new = (0..).map(stranger).find(|item| !part.contains(item));
            assert_eq!(part.add(&new.unwrap()), Err(AddError::Loading));
            assert_eq!(part.take_piece(9, &[1; 8]), Err(DecodeError::Order));
            // A part that is saved and loaded waits for the same chunk.
            loaded = Some(decoded(&encoded(part)));
        }
    }
    assert_eq!(loaded.unwrap().digest(), filter.digest());
}

#[test]
fn a_chunk_says_what_kind_of_filter_it_begins() {
    let filter = from_rdb(&filled(0.01, 3, 0, 3));
    let bytes = &encoded(&filter)[0];
    let chunk = Chunk::parse(bytes).unwrap();
    assert_eq!(chunk.begins(), Some(Kind::Bloom));
}

#[test]
fn a_table_must_have_layers_before_it_and_a_rate() {
    let filter = samples().swap_remove(6);
    assert!(filter.may_have_table(1, 0.001) && !filter.may_have_table(0, 0.001));
    for rate in [0.0, -1.0, 1.0, f64::NAN] {
        assert!(!filter.may_have_table(1, rate));
    }
}

#[test]
fn the_bytes_of_a_saved_filter_never_change() {
    let mut filter = from_rdb(&filled(0.01, 3, 0, 2));
    filter.add(&stranger(0)).unwrap();
    let chunks = encoded(&filter);
    let hex = chunks[0][128..].iter().map(|byte| format!("{byte:02x}"));
    assert_eq!(hex.collect::<String>(), include_str!("../golden/own-chunk.hex").trim());
    assert_eq!(chunks.len(), 1);
}

#[test]
fn a_copy_lives_its_own_life() {
    for mut filter in samples() {
        let (before, mut copy) = (filter.digest(), filter.try_clone().unwrap());
        assert_eq!(copy.digest(), before);
        let mut end = 1;
        for layer in 0..copy.layers().unwrap().each().len() {
            let len = copy.layers().unwrap().each()[layer].num_bits() / 8;
            let piece = vec![0xff; len as usize];
            end += len;
            copy.take_piece(end, &piece).unwrap();
            assert_eq!(copy.layers().unwrap().each()[layer].set_bits(), 8 * len);
        }
        assert_eq!(filter.digest(), before);
        assert_ne!(copy.digest(), before);
    }
}

/// Copies everything, and says stop each time.
struct Copier(u64);

impl Mover for Copier {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        self.0 += 1;
        let mut copy = Vec::with_capacity(elements.capacity());
        copy.extend(elements);
        copy
    }

    fn should_stop(&mut self) -> bool {
        true
    }
}

#[test]
fn it_is_moved_segment_by_segment() {
    for mut filter in samples() {
        let before = filter.digest();
        let (mut bytes, mut blocks) = (0, 0);
        filter.visit_allocations(|layout, times| {
            bytes += layout.size() as u64 * times;
            blocks += times;
        });
        assert!(bytes <= filter.reserved_bytes());
        let (mut mover, mut cursor) = (Copier(0), 0);
        loop {
            let next = filter.relocate(cursor, &mut mover).map_or(0, NonZeroU64::get);
            if next == 0 {
                break;
            }
            assert!(next > cursor, "it gets on");
            cursor = next;
        }
        assert_eq!(mover.0, blocks);
        assert_eq!(filter.digest(), before);
    }
}

#[test]
fn a_limit_bounds_what_is_reserved() {
    for filter in samples() {
        let chunks = encoded(&filter);
        let begin = |bytes| load(&mut None, &chunks[0], SizeLimit::Bytes(bytes));
        assert_eq!(begin(1), Err(DecodeError::OverLimit));
        assert_eq!(begin(filter.reserved_bytes() + 4_096), Ok(()));
    }
    let header = Twin::new(0.01, 1_000_000, 0).header();
    let all = Filter::begin_redisbloom(&header, SEED, NO_LIMIT).unwrap().reserved_bytes();
    let begin = |bytes| Filter::begin_redisbloom(&header, SEED, SizeLimit::Bytes(bytes)).err();
    assert_eq!((begin(all), begin(all - 1)), (None, Some(DecodeError::OverLimit)));
    assert!(all > 1_000_000 && MEMORY_PER_BYTE < all as usize / header.len());
}
