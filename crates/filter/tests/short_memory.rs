//! Memory that runs short at any point: a change happens whole or not at all, and no byte
//! leaks.

use splitbloom_filter::codec::{chunks, encode_chunk, load_chunk, Chunk, MAX_CHUNK_BYTES};
use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::filter::{Filter, Growth, Parameters, SizeLimit};
use splitbloom_filter::hash::Seed;
use splitbloom_test_allocator::{meter, refusal, TestAllocator};

#[global_allocator]
static ALLOCATOR: TestAllocator = TestAllocator;

const SEGMENT_BYTES: usize = 64 << 10;

/// Nineteen segments, all of them whole: some items are in each of nearly all lines.
fn stored() -> Filter {
    let parameters = Parameters {
        error_rate: 0.01,
        capacity: 1_000_000,
        growth: Growth::Times(2),
        seed: Seed(3),
    };
    let mut stored = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    for i in 0..50_000 {
        add(&mut stored, i).unwrap();
    }
    stored
}

fn add(stored: &mut Filter, i: u64) -> Result<bool, AddError> {
    stored.add(&i.to_le_bytes())
}

#[test]
fn a_copy_needs_no_memory_for_bits_before_one_of_the_two_changes() {
    let mut original = stored();
    let copy = refusal::of_blocks_from(SEGMENT_BYTES, || original.try_clone().ok());
    assert_eq!(copy.map(|copy| copy.digest()), Some(original.digest()));
}

#[test]
fn an_add_that_finds_no_memory_for_its_part_of_a_copy_changes_nothing() {
    let mut original = stored();
    let mut copy = original.try_clone().unwrap();
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
        assert_eq!(add(&mut original, 1 << 41), Ok(true), "nobody else has its parts");
    });
}

#[test]
fn a_filter_that_finds_no_memory_for_a_new_segment_stays_as_it_is() {
    let parameters =
        Parameters { error_rate: 0.01, capacity: 1_000_000, growth: Growth::Fixed, seed: Seed(3) };
    let mut stored = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    let digest = stored.digest();
    refusal::of_blocks_from(1, || {
        assert_eq!(add(&mut stored, 1), Err(AddError::OutOfMemory));
    });
    assert_eq!(stored.digest(), digest);
    assert_eq!(add(&mut stored, 1), Ok(true));
}

#[test]
fn a_chunk_that_finds_no_memory_for_its_list_of_records_is_refused() {
    let parameters =
        Parameters { error_rate: 0.01, capacity: 1, growth: Growth::Times(1), seed: Seed(3) };
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    for i in 0..100u64 {
        filter.add(&i.to_le_bytes()).unwrap();
    }
    let encoded = encode_chunk(&filter, 0).unwrap().unwrap();
    let chunk = Chunk::parse(&encoded.bytes).unwrap();
    for refused_from in [1, 64, 300] {
        let refused = refusal::of_blocks_from(refused_from, || {
            load_chunk(None, &chunk, SizeLimit::Unlimited)
        });
        assert_eq!(refused.err(), Some(DecodeError::OutOfMemory));
    }
    let loaded = load_chunk(None, &chunk, SizeLimit::Unlimited).unwrap();
    assert_eq!(loaded.unwrap().digest(), filter.digest());
}

/// Does the work again and again, each time with one more block given before one is refused, until
/// none is. Each time it starts with what `prepare` makes, and must end in success or with nothing
/// changed; no byte stays behind.
fn at_every_refusal<T>(
    prepare: impl Fn() -> T,
    work: impl Fn(&mut T) -> bool,
    digest: impl Fn(&T) -> u128,
) {
    assert!(refusals(prepare, work, digest) > 0, "no block was asked for");
}

/// The same; returns how many blocks were refused.
fn refusals<T>(
    prepare: impl Fn() -> T,
    work: impl Fn(&mut T) -> bool,
    digest: impl Fn(&T) -> u128,
) -> u64 {
    let mut refused = 0;
    loop {
        let n = refused;
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
            return refused;
        }
        refused += 1;
    }
}

fn small(capacity: u64) -> Filter {
    let parameters =
        Parameters { error_rate: 0.01, capacity, growth: Growth::Times(2), seed: Seed(3) };
    Filter::new(parameters, SizeLimit::Unlimited).unwrap()
}

fn full(capacity: u64) -> Filter {
    let mut stored = small(capacity);
    let mut next = 0;
    while !stored.bloom().unwrap().fill().is_full() {
        add(&mut stored, next).unwrap();
        next += 1;
    }
    stored
}

#[test]
fn a_filter_is_made_where_every_block_is_refused() {
    let made = refusal::of_blocks_from(1, || small(100));
    assert_eq!(made.digest(), small(100).digest());
}

/// Numbers of items after which the next one makes a table of the numbers grow: it needs memory.
fn growth_steps() -> Vec<u64> {
    let mut stored = small(100);
    let (mut steps, mut bytes) = (Vec::new(), 0);
    for i in 0..6_000 {
        // An item that is taken for another changes nothing.
        let is_new = add(&mut stored, i).unwrap();
        if is_new && stored.reserved_bytes() != bytes {
            steps.push(i);
            bytes = stored.reserved_bytes();
        }
    }
    assert!(steps.len() > 20, "{}", steps.len());
    steps
}

#[test]
fn an_item_is_added_or_not_whichever_block_is_refused() {
    let first_item = || small(1_000_000);
    let first_of_a_table = || small(100);
    let a_table_behind = || full(200);
    // The items at which the table has written a page anew, or split one.
    let grown_by = |items: u64| {
        let mut stored = small(100);
        for i in 0..items {
            add(&mut stored, i).unwrap();
        }
        stored
    };
    let part_of_a_copy = || {
        let mut original = full(100_000);
        let copy = original.try_clone().unwrap();
        drop(original.try_clone().ok());
        // The original lives on, so that the copy is no sole owner.
        (copy, original)
    };
    // Lists that are divided, become slots, and become segments.
    let sparse = |items: u64| {
        let mut stored = small(4_000_000);
        for i in 0..items {
            add(&mut stored, i).unwrap();
        }
        stored
    };
    let part_of_a_sparse_copy = |items| {
        let mut original = sparse(items);
        (original.try_clone().unwrap(), original)
    };
    let is_new = |stored: &mut Filter| add(stored, 1 << 40) == Ok(true);
    let mut refused = 0;
    for items in (1..20).chain(110..130).chain([1_500]) {
        refused += refusals(|| sparse(items), is_new, Filter::digest);
        at_every_refusal(
            || part_of_a_sparse_copy(items),
            |(copy, _)| is_new(copy),
            |(copy, original)| copy.digest() ^ original.digest(),
        );
    }
    assert!(refused > 10, "{refused} blocks");
    at_every_refusal(first_item, is_new, Filter::digest);
    at_every_refusal(first_of_a_table, is_new, Filter::digest);
    at_every_refusal(a_table_behind, is_new, Filter::digest);
    for items in growth_steps() {
        let next = |stored: &mut Filter| add(stored, items) == Ok(true);
        at_every_refusal(|| grown_by(items), next, Filter::digest);
    }
    at_every_refusal(
        part_of_a_copy,
        |(copy, _)| is_new(copy),
        |(copy, original)| copy.digest() ^ original.digest(),
    );
}

#[test]
fn a_batch_is_added_up_to_the_item_refused_whichever_block_is_refused() {
    // Growing all the time; and with room for all, in groups, into lists and segments of its own
    // and into those of a copy.
    for (capacity, items_before) in [(100, 0), (400_000, 0), (400_000, 1_000), (400_000, 20_000)] {
        let items: Vec<[u8; 8]> =
            (1 << 40..(1 << 40) + 2000u64).map(|i| (i - i % 3).to_le_bytes()).collect();
        let begun = || {
            let mut stored = small(capacity);
            for i in 0..items_before {
                add(&mut stored, i).unwrap();
            }
            let copy = (items_before > 0).then(|| stored.try_clone().unwrap());
            (stored, copy)
        };
        for n in 0.. {
            let held = meter::bytes_held();
            let (mut stored, copy) = begun();
            let mut answers = Vec::with_capacity(items.len());
            let (end, was_refused) = refusal::of_the_nth(n, || {
                let items = items.iter().map(<[u8; 8]>::as_slice);
                stored.add_many(items, |answer| answers.push(answer))
            });
            assert_eq!(end.is_err(), was_refused);
            let (mut twin, twins_copy) = begun();
            for (item, answer) in items.iter().zip(&answers) {
                assert_eq!(twin.add(item), Ok(*answer));
            }
            let digest = |stored: &Option<Filter>| stored.as_ref().map(Filter::digest);
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
            *copy = original.try_clone().ok();
            copy.is_some()
        },
        |(original, copy): &(Filter, Option<Filter>)| {
            let digest = original.digest();
            assert!(copy.as_ref().is_none_or(|copy| copy.digest() == digest));
            digest
        },
    );
}

/// The chunks of a filter, most of them of 1 MiB.
fn large() -> (Filter, Vec<Vec<u8>>) {
    let mut filter = small(1_000_000);
    for i in 0..100_000 {
        add(&mut filter, i).unwrap();
    }
    let encoded: Vec<_> = chunks(&filter).map(|chunk| chunk.encode().unwrap().bytes).collect();
    assert!(encoded.len() > 1, "{}", encoded.len());
    (filter, encoded)
}

#[test]
fn a_chunk_is_taken_in_or_not_whichever_block_is_refused() {
    let (_, encoded) = large();
    let chunk = |index: usize| Chunk::parse(&encoded[index]).unwrap();
    let first = || load_chunk(None, &chunk(0), SizeLimit::Unlimited);
    at_every_refusal(
        || None,
        |loaded| {
            *loaded = first().unwrap_or_default();
            loaded.is_some()
        },
        |loaded| loaded.as_ref().map_or(0, Filter::digest),
    );
    at_every_refusal(
        || first().unwrap().unwrap(),
        |loaded| load_chunk(Some(loaded), &chunk(1), SizeLimit::Unlimited).is_ok(),
        Filter::digest,
    );
}

#[test]
fn a_chunk_of_a_sparse_filter_is_taken_in_or_not_whichever_block_is_refused() {
    // Into lists, and into segments that are allocated whole.
    for items in [1_500, 6_000] {
        let mut filter = small(700_000);
        for i in 0..items {
            add(&mut filter, i).unwrap();
        }
        let encoded = encode_chunk(&filter, 0).unwrap().unwrap().bytes;
        at_every_refusal(
            || None,
            |loaded| {
                let chunk = Chunk::parse(&encoded).unwrap();
                *loaded = load_chunk(None, &chunk, SizeLimit::Unlimited).unwrap_or_default();
                loaded.is_some()
            },
            |loaded| loaded.as_ref().map_or(0, Filter::digest),
        );
    }
}

#[test]
fn a_sparse_filter_takes_no_more_memory_to_load_than_to_fill_and_a_chunk() {
    for items in [100, 10_000] {
        let (filter, taken) = meter::measured(|| {
            let mut filter = small(1 << 40);
            for i in 0..items {
                add(&mut filter, i).unwrap();
            }
            filter
        });
        let encoded = encode_chunk(&filter, 0).unwrap().unwrap().bytes;
        let chunk = Chunk::parse(&encoded).unwrap();
        let (loaded, again) = meter::measured(|| load_chunk(None, &chunk, SizeLimit::Unlimited));
        assert_eq!(loaded.unwrap().map(|filter| filter.digest()), Some(filter.digest()));
        assert!(again.peak <= taken.kept + encoded.len() as isize + 4096, "{again:?} {taken:?}");
    }
}

#[test]
fn a_chunk_that_adds_to_a_copy_and_grows_it_is_taken_in_or_not_whichever_block_is_refused() {
    let mut original = small(100);
    // A few pages more than a chunk holds.
    for i in 0..620_000 {
        add(&mut original, i).unwrap();
    }
    let encoded: Vec<_> = chunks(&original).map(|chunk| chunk.encode().unwrap()).collect();
    let chunk = |index: usize| Chunk::parse(&encoded[index].bytes).unwrap();
    at_every_refusal(
        || {
            let first = load_chunk(None, &chunk(0), SizeLimit::Unlimited).unwrap();
            let mut first = first.unwrap();
            let copy = first.try_clone().unwrap();
            (copy, first)
        },
        |(copy, _)| load_chunk(Some(copy), &chunk(1), SizeLimit::Unlimited).is_ok(),
        |(copy, first)| copy.digest() ^ first.digest(),
    );
}

#[test]
fn a_chunk_is_made_or_not_whichever_block_is_refused() {
    let (filter, encoded) = large();
    at_every_refusal(
        || None,
        |made| {
            *made = encode_chunk(&filter, 0).ok().flatten();
            made.is_some()
        },
        |made| made.as_ref().map_or(0, |chunk| chunk.next.into()),
    );
    let made = encode_chunk(&filter, 0).unwrap();
    assert_eq!(made.map(|chunk| chunk.bytes).as_ref(), encoded.first());
}

#[test]
fn saving_and_the_digest_take_no_memory() {
    let (filter, encoded) = large();
    let digest = filter.digest();
    let mut buffer = vec![0; MAX_CHUNK_BYTES].try_into().unwrap();
    let ((), taken) = meter::measured(|| {
        for (chunk, expected) in chunks(&filter).zip(&encoded) {
            assert_eq!(chunk.write_into(&mut buffer), expected);
        }
        assert_eq!(filter.digest(), digest);
    });
    assert_eq!(taken, meter::Taken { peak: 0, kept: 0 });
}
