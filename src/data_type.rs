//! The filter as a value of the server: saved, loaded, copied, measured, moved.
//!
//! Everything that is written, to an RDB file, a dump or the append-only file, is the same chain of pieces of at most 1 MiB
//! (see [`crate::filter::codec`]); the append-only file has them as BF.LOADCHUNK commands.

use crate::filter::codec::{encode_piece, Piece};
use crate::filter::error::DecodeError;
use crate::filter::memory::Mover;
use crate::filter::scalable::{Filter, SizeLimit};
use crate::redis::allocator::usable_size;
use crate::redis::data_type::{methods, AofTarget, Defrag, RdbSource, RdbTarget, Value};
use crate::redis::log::warn;
use crate::stats;
use redis_module::native_types::RedisType;
use std::alloc::Layout;
use std::collections::HashMap;

/// The version of the encoding that is written. A server keeps ten bits for it; the lower half is left to RedisBloom, whose
/// type has the same name, so that its filters can one day be told apart and read.
pub const ENCODING_VERSION: i32 = 512;

/// The type. The name is RedisBloom's: where this module takes that one's place, so does its type.
pub static BLOOM_TYPE: RedisType =
    RedisType::new("MBbloom--", ENCODING_VERSION, methods::<StoredFilter>());

/// A filter that the server holds.
pub struct StoredFilter {
    filter: Filter,
}

impl StoredFilter {
    pub fn new(filter: Filter) -> Self {
        stats::filter_made();
        Self { filter }
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn filter_mut(&mut self) -> &mut Filter {
        &mut self.filter
    }
}

impl Drop for StoredFilter {
    fn drop(&mut self) {
        stats::filter_freed();
    }
}

/// Calls `write` for each piece, with the iterator that LOADCHUNK wants with it.
fn for_each_piece(filter: &Filter, mut write: impl FnMut(u64, &[u8])) {
    let mut iterator = 0;
    while let Some(piece) = encode_piece(filter, iterator) {
        write(piece.next, &piece.bytes);
        iterator = piece.next;
    }
}

/// Reads pieces up to the last one.
fn load_pieces(source: &mut RdbSource) -> Result<Filter, DecodeError> {
    let mut filter: Option<Filter> = None;
    loop {
        let string = source.load_string().ok_or(DecodeError::Length)?;
        let piece = Piece::parse(string.bytes())?;
        match &mut filter {
            None => filter = Some(Filter::from_first_piece(&piece, SizeLimit::Unlimited)?),
            Some(filter) => filter.load_piece(&piece, SizeLimit::Unlimited)?,
        }
        if piece.is_last() {
            return filter.ok_or(DecodeError::Order);
        }
    }
}

impl Value for StoredFilter {
    fn native() -> &'static RedisType {
        &BLOOM_TYPE
    }

    fn load(source: &mut RdbSource, version: i32) -> Option<Self> {
        if version != ENCODING_VERSION {
            let text = format!(
                "refused a filter in encoding version {version}: this module reads version {ENCODING_VERSION}"
            );
            warn(&text);
            return None;
        }
        match load_pieces(source) {
            Ok(filter) => Some(Self::new(filter)),
            Err(error) => {
                warn(&format!("refused a filter: {error}"));
                None
            }
        }
    }

    fn save(&self, target: &mut RdbTarget) {
        for_each_piece(&self.filter, |_, bytes| target.save_string(bytes));
    }

    fn rewrite(&self, target: &mut AofTarget) {
        for_each_piece(&self.filter, |iterator, bytes| {
            target.emit(c"BF.LOADCHUNK", iterator, bytes);
        });
    }

    fn memory_usage(&self) -> usize {
        // Most allocations of a filter are of a few sizes: ask the allocator once for each.
        let mut known: HashMap<Layout, usize> = HashMap::new();
        let mut usable = |layout| *known.entry(layout).or_insert_with(|| usable_size(layout));
        let mut bytes = usable(Layout::new::<Self>());
        self.filter
            .visit_allocations(|layout, times| bytes += usable(layout) * times as usize);
        bytes
    }

    fn free_effort(&self) -> usize {
        // The server frees on its background thread what takes more than 64 steps.
        self.filter.allocated_segments() as usize + self.filter.sub_filters().len()
    }

    fn try_copy(&mut self) -> Option<Self> {
        self.filter.try_clone().ok().map(Self::new)
    }

    fn digest(&self) -> u128 {
        self.filter.digest()
    }

    fn defragment(&mut self, defrag: &Defrag, from: u64) -> Option<u64> {
        self.filter.relocate(from, &mut Defragmenting(defrag))
    }
}

/// The server's defragmentation, as the filter's memory is passed through it.
struct Defragmenting<'a>(&'a Defrag);

impl Mover for Defragmenting<'_> {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        self.0.relocate(elements)
    }

    fn should_stop(&mut self) -> bool {
        self.0.should_stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::error::AddError;
    use crate::filter::hash::Seed;
    use crate::filter::scalable::{Growth, Parameters};
    use crate::redis::allocator::{meter, refusal};

    const SEGMENT_BYTES: usize = 64 << 10;

    /// Nineteen segments with some items in each.
    fn stored() -> StoredFilter {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 1_000_000,
            growth: Growth::Times(2),
            seed: Seed(3),
        };
        let mut stored = StoredFilter::new(Filter::new(parameters, SizeLimit::Unlimited).unwrap());
        for i in 0..10_000 {
            add(&mut stored, i).unwrap();
        }
        stored
    }

    fn add(stored: &mut StoredFilter, i: u64) -> Result<bool, AddError> {
        stored
            .filter_mut()
            .add(&i.to_le_bytes(), SizeLimit::Unlimited)
    }

    #[test]
    fn a_copy_needs_no_memory_for_bits_before_one_of_the_two_changes() {
        let mut original = stored();
        let copy = refusal::of_blocks_from(SEGMENT_BYTES, || original.try_copy());
        assert_eq!(copy.map(|copy| copy.digest()), Some(original.digest()));
    }

    #[test]
    fn an_add_that_finds_no_memory_for_its_part_of_a_copy_changes_nothing() {
        let mut original = stored();
        let mut copy = original.try_copy().unwrap();
        let digest = original.digest();
        refusal::of_blocks_from(SEGMENT_BYTES, || {
            assert_eq!(add(&mut copy, 7), Ok(false), "what is there needs nothing");
            assert_eq!(add(&mut copy, 1 << 40), Err(AddError::OutOfMemory));
            assert_eq!(add(&mut original, 1 << 40), Err(AddError::OutOfMemory));
        });
        assert_eq!((original.digest(), copy.digest()), (digest, digest));

        assert_eq!(add(&mut copy, 1 << 40), Ok(true));
        assert_eq!(original.digest(), digest);
        drop(copy);
        refusal::of_blocks_from(SEGMENT_BYTES, || {
            assert_eq!(
                add(&mut original, 1 << 41),
                Ok(true),
                "nobody else has its parts"
            );
        });
    }

    #[test]
    fn a_filter_that_finds_no_memory_for_a_new_segment_stays_as_it_is() {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 1_000_000,
            growth: Growth::Fixed,
            seed: Seed(3),
        };
        let mut stored = StoredFilter::new(Filter::new(parameters, SizeLimit::Unlimited).unwrap());
        let digest = stored.digest();
        refusal::of_blocks_from(SEGMENT_BYTES, || {
            assert_eq!(add(&mut stored, 1), Err(AddError::OutOfMemory));
        });
        assert_eq!(stored.digest(), digest);
        assert_eq!(add(&mut stored, 1), Ok(true));
    }

    #[test]
    fn a_piece_that_finds_no_memory_for_its_list_of_records_is_refused() {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 1,
            growth: Growth::Times(1),
            seed: Seed(3),
        };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        for i in 0..100u64 {
            filter.add(&i.to_le_bytes(), SizeLimit::Unlimited).unwrap();
        }
        let encoded = encode_piece(&filter, 0).unwrap();
        let piece = Piece::parse(&encoded.bytes).unwrap();
        for refused_from in [1, 64, 1024, 4096] {
            let refused = refusal::of_blocks_from(refused_from, || {
                Filter::from_first_piece(&piece, SizeLimit::Unlimited)
            });
            assert_eq!(refused.err(), Some(DecodeError::OutOfMemory));
        }
        let loaded = Filter::from_first_piece(&piece, SizeLimit::Unlimited).unwrap();
        assert_eq!(loaded.digest(), filter.digest());
    }

    /// Does the work again and again, each time with one more block given before one is refused, until none is. Each time it starts
    /// with what `prepare` makes, and must end in success or with nothing changed; no byte stays behind.
    fn at_every_refusal<T>(
        prepare: impl Fn() -> T,
        work: impl Fn(&mut T) -> bool,
        digest: impl Fn(&T) -> u128,
    ) {
        for n in 0.. {
            let held = meter::bytes_held();
            let mut value = prepare();
            let before = digest(&value);
            let (has_worked, was_refused) = refusal::of_the_nth(n, || work(&mut value));
            let after = digest(&value);
            assert!(has_worked || after == before, "block {n} was refused");
            assert!(has_worked || was_refused, "nothing was refused");
            assert!(has_worked || work(&mut value), "with memory it works");
            drop(value);
            assert_eq!(meter::bytes_held(), held, "block {n} was refused");
            if !was_refused {
                assert!(n > 0, "no block was asked for");
                return;
            }
        }
    }

    fn small(capacity: u64) -> StoredFilter {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity,
            growth: Growth::Times(2),
            seed: Seed(3),
        };
        StoredFilter::new(Filter::new(parameters, SizeLimit::Unlimited).unwrap())
    }

    fn full(capacity: u64) -> StoredFilter {
        let mut stored = small(capacity);
        let mut next = 0;
        while !stored.filter().sub_filters()[0].fill().is_full() {
            add(&mut stored, next).unwrap();
            next += 1;
        }
        stored
    }

    #[test]
    fn a_filter_is_made_or_not_whichever_block_is_refused() {
        let parameters = *small(100).filter().parameters();
        at_every_refusal(
            || None,
            |made| {
                *made = Filter::new(parameters, SizeLimit::Unlimited).ok();
                made.is_some()
            },
            |made| made.as_ref().map_or(0, Filter::digest),
        );
    }

    #[test]
    fn an_item_is_added_or_not_whichever_block_is_refused() {
        let first_item = || small(1_000_000);
        let one_more_sub_filter = || full(100);
        let part_of_a_copy = || {
            let mut original = full(100_000);
            let copy = original.try_copy().unwrap();
            drop(original.try_copy());
            // The original lives on, so that the copy is no sole owner.
            (copy, original)
        };
        let is_new = |stored: &mut StoredFilter| add(stored, 1 << 40) == Ok(true);
        at_every_refusal(first_item, is_new, Value::digest);
        at_every_refusal(one_more_sub_filter, is_new, Value::digest);
        at_every_refusal(
            part_of_a_copy,
            |(copy, _)| is_new(copy),
            |(copy, original)| copy.digest() ^ original.digest(),
        );
    }

    #[test]
    fn a_batch_is_added_up_to_the_item_refused_whichever_block_is_refused() {
        // Growing all the time; and with room for all, in groups, into segments of its own and into those of a copy.
        for (capacity, items_before) in [(100, 0), (400_000, 0), (400_000, 20_000)] {
            let items: Vec<[u8; 8]> = (1 << 40..(1 << 40) + 2000u64)
                .map(|i| (i - i % 3).to_le_bytes())
                .collect();
            let begun = || {
                let mut stored = small(capacity);
                for i in 0..items_before {
                    add(&mut stored, i).unwrap();
                }
                let copy = (items_before > 0).then(|| stored.try_copy().unwrap());
                (stored, copy)
            };
            for n in 0.. {
                let held = meter::bytes_held();
                let (mut stored, copy) = begun();
                let mut answers = Vec::with_capacity(items.len());
                let (end, was_refused) = refusal::of_the_nth(n, || {
                    let items = items.iter().map(<[u8; 8]>::as_slice);
                    let filter = stored.filter_mut();
                    filter.add_many(items, SizeLimit::Unlimited, |answer| answers.push(answer))
                });
                assert_eq!(end.is_err(), was_refused);
                let (mut twin, twins_copy) = begun();
                for (item, answer) in items.iter().zip(&answers) {
                    let filter = twin.filter_mut();
                    assert_eq!(filter.add(item, SizeLimit::Unlimited), Ok(*answer));
                }
                let digest = |stored: &Option<StoredFilter>| stored.as_ref().map(Value::digest);
                assert_eq!(stored.digest(), twin.digest(), "block {n} was refused");
                assert_eq!(digest(&copy), digest(&twins_copy), "block {n} was refused");
                drop((stored, copy, twin, twins_copy, answers));
                assert_eq!(meter::bytes_held(), held, "block {n} was refused");
                if !was_refused {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_copy_is_made_or_not_whichever_block_is_refused() {
        let grown = || {
            let mut stored = small(100);
            for i in 0..20_000 {
                add(&mut stored, i).unwrap();
            }
            (stored, None)
        };
        at_every_refusal(
            grown,
            |(original, copy)| {
                *copy = original.try_copy();
                copy.is_some()
            },
            |(original, copy): &(StoredFilter, Option<StoredFilter>)| {
                let digest = original.digest();
                assert!(copy.as_ref().is_none_or(|copy| copy.digest() == digest));
                digest
            },
        );
    }

    #[test]
    fn a_piece_is_taken_in_or_not_whichever_block_is_refused() {
        let mut original = small(1_000_000);
        for i in 0..100_000 {
            add(&mut original, i).unwrap();
        }
        let mut pieces = Vec::new();
        for_each_piece(original.filter(), |_, bytes| pieces.push(bytes.to_vec()));
        assert!(pieces.len() > 1, "{}", pieces.len());
        let piece = |index: usize| Piece::parse(&pieces[index]).unwrap();
        let first = || Filter::from_first_piece(&piece(0), SizeLimit::Unlimited);
        at_every_refusal(
            || None,
            |loaded| {
                *loaded = first().ok();
                loaded.is_some()
            },
            |loaded| loaded.as_ref().map_or(0, Filter::digest),
        );
        at_every_refusal(
            || first().unwrap(),
            |loaded| loaded.load_piece(&piece(1), SizeLimit::Unlimited).is_ok(),
            Filter::digest,
        );
    }
}
