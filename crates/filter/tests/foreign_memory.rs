//! Filters from RedisBloom where memory is short, or its use is measured.

use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::{Filter, Seed, SizeLimit};
use splitbloom_test_allocator::{meter, refusal, TestAllocator};

#[global_allocator]
static ALLOCATOR: TestAllocator = TestAllocator;

/// Bytes of the arrays.
const ARRAYS: [u64; 3] = [64, 4_000, 1 << 20];

/// A header of three layers.
fn header() -> Vec<u8> {
    let mut header = 0u64.to_le_bytes().to_vec();
    header.extend([3u32, 5, 2].map(u32::to_le_bytes).as_flattened());
    for bytes in ARRAYS {
        // One hash and one bit an item, which is enough of a filter here.
        let fields = [bytes, 8 * bytes, 0, 0.5f64.to_bits(), 1f64.to_bits()];
        header.extend(fields.map(u64::to_le_bytes).as_flattened());
        header.extend(1u32.to_le_bytes());
        header.extend((8 * bytes).to_le_bytes());
        header.push(0);
    }
    header
}

fn begin() -> Result<Filter, DecodeError> {
    Filter::begin_redisbloom(&header(), Seed(1), SizeLimit::Unlimited)
}

/// The iterator of the end of the last array.
fn end() -> u64 {
    1 + ARRAYS.iter().sum::<u64>()
}

#[test]
fn a_header_that_finds_no_memory_is_refused_and_leaves_nothing() {
    let before = meter::bytes_held();
    let bytes = header();
    for n in 0.. {
        let (begun, refused) = refusal::of_the_nth(n, || {
            Filter::begin_redisbloom(&bytes, Seed(1), SizeLimit::Unlimited).map(drop)
        });
        if !refused {
            assert_eq!(begun, Ok(()));
            assert!(n >= 2, "there was something to refuse");
            break;
        }
        assert_eq!(begun, Err(DecodeError::OutOfMemory));
    }
    drop(bytes);
    assert_eq!(meter::bytes_held(), before);
}

#[test]
fn a_piece_that_finds_no_memory_changes_nothing() {
    let mut filter = begin().unwrap();
    let before = filter.digest();
    let piece = vec![1; 1 << 18];
    for n in 0.. {
        let (taken, refused) = refusal::of_the_nth(n, || filter.take_piece(end(), &piece));
        if !refused {
            assert_eq!(taken, Ok(()));
            assert!(n >= 2, "there was something to refuse");
            break;
        }
        assert_eq!(taken, Err(DecodeError::OutOfMemory));
        assert_eq!((filter.digest(), filter.set_bits()), (before, 0));
    }
    assert_eq!(filter.set_bits(), 1 << 18);
}

#[test]
fn an_item_that_finds_no_memory_changes_nothing() {
    let mut filter = begin().unwrap();
    let before = filter.digest();
    for n in 0.. {
        let (added, refused) = refusal::of_the_nth(n, || filter.add(b"item"));
        if !refused {
            assert_eq!(added, Ok(true));
            assert!(n >= 2, "there was something to refuse");
            break;
        }
        assert_eq!(added, Err(AddError::OutOfMemory));
        assert_eq!(filter.digest(), before);
    }
    assert!(filter.contains(b"item"));
}

#[test]
fn a_copy_needs_no_memory_for_bits_before_a_piece_comes() {
    let mut filter = begin().unwrap();
    filter.take_piece(end(), &vec![1; 1 << 20]).unwrap();
    let (copy, taken) = meter::measured(|| filter.try_clone().unwrap());
    assert!(taken.kept < 20_000, "{taken:?}");
    let before = copy.digest();
    let piece = [0xff; 100];
    let ((), taken) = meter::measured(|| filter.take_piece(end(), &piece).unwrap());
    assert!((65_536..70_000).contains(&taken.kept), "{taken:?}");
    assert_eq!(copy.digest(), before);
}

#[test]
fn bits_take_the_memory_of_the_segments_they_are_in() {
    let (mut filter, taken) = meter::measured(|| begin().unwrap());
    assert!(taken.kept < 1_000, "{taken:?}");
    let zeros = vec![0; 1 << 20];
    let ((), taken) = meter::measured(|| filter.take_piece(end(), &zeros).unwrap());
    assert_eq!((taken.kept, taken.peak), (0, 0));
    let ones = vec![0xff; 1 << 20];
    let ((), taken) = meter::measured(|| filter.take_piece(end(), &ones).unwrap());
    assert!((1 << 20..(1 << 20) + 4_096).contains(&taken.kept), "{taken:?}");
}
