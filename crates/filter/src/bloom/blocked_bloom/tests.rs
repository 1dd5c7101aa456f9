use super::*;
use crate::bloom::sub_bitmap::chosen::each_in_turn;
use crate::hash::Seed;

fn item(i: u64) -> ItemHash {
    ItemHash::of(&i.to_le_bytes(), Seed(1))
}

fn filled(capacity: u64, error_rate: f64) -> BlockedBloom {
    let mut bloom = BlockedBloom::new(capacity, error_rate);
    for i in 0..capacity {
        assert!(!bloom.fill.is_full() || bloom.fill.items() == capacity);
        bloom.insert(item(i)).unwrap();
    }
    bloom
}

#[test]
fn every_item_put_in_is_found() {
    for (capacity, error_rate) in [(1, 0.5), (100, 0.01), (5_000, 0.001), (50_000, 1e-9)] {
        let bloom = filled(capacity, error_rate);
        assert!((0..capacity).all(|i| bloom.contains(item(i))));
    }
}

#[test]
fn the_count_of_set_bits_is_the_number_of_bits_set() {
    let bloom = filled(20_000, 0.01);
    let segments = bloom.segments();
    let counted: usize = (0..segments.reserved())
        .filter_map(|i| segments.words_of(i))
        .map(|words| crate::storage::bits(&words).count_ones())
        .sum();
    assert_eq!(bloom.set_bits(), counted as u64);
}

#[test]
fn an_item_that_is_there_changes_nothing() {
    let mut bloom = filled(1_000, 0.01);
    let (items, set_bits) = (bloom.fill.items(), bloom.set_bits());
    assert_eq!(bloom.insert(item(7)), Ok(false));
    assert_eq!((bloom.fill.items(), bloom.set_bits()), (items, set_bits));
}

#[test]
fn items_in_a_large_filter_are_put_in_once_while_its_leaves_come() {
    // 300 leaves of 64 segments, so leaves of later items displace those of the first.
    let mut bloom = BlockedBloom::new(1_000_000_000, 0.01);
    for i in 0..2_000 {
        assert_eq!(bloom.insert(item(i)), Ok(true));
        assert_eq!(bloom.insert(item(i / 2)), Ok(false), "{i}");
    }
    let segments = bloom.segments();
    let there = (0..segments.reserved()).filter_map(|i| segments.words_of(i));
    let counted: u32 = there.map(|words| sub_bitmap::count_ones(&words)).sum();
    assert_eq!(bloom.set_bits(), u64::from(counted));
    assert_eq!(bloom.fill.items(), 2_000);
}

#[test]
fn every_kernel_leaves_the_same() {
    for (capacity, error_rate) in [(40, 0.01), (20_000, 0.1), (20_000, 0.01), (30_000, 0.001)] {
        let expected = filled(capacity, error_rate);
        each_in_turn(|kernel| {
            let bloom = filled(capacity, error_rate);
            assert_eq!(bloom.header(), expected.header(), "{kernel:?}");
            assert_eq!(bloom.fill, expected.fill, "{kernel:?}");
            let (segments, others) = (bloom.segments(), expected.segments());
            assert!((0..segments.reserved()).all(|i| segments.words_of(i) == others.words_of(i)));
        });
    }
}

#[test]
fn the_measured_false_positive_rate_is_the_one_asked_for() {
    // 4 million lookups at 1 %: 40 000 hits expected, standard deviation 200, which is 0.5 %.
    for (capacity, error_rate) in [(1_000, 0.1), (200_000, 0.01), (300_000, 0.001)] {
        let bloom = filled(capacity, error_rate);
        let probes = 4_000_000;
        let found = (capacity..capacity + probes).filter(|i| bloom.contains(item(*i))).count();
        let measured = found as f64 / probes as f64;
        assert!((measured / error_rate - 1.0).abs() < 0.1, "{error_rate}: {measured}");
    }
}

/// The exact false-positive rate of its bits.
fn exact_rate(bloom: &BlockedBloom) -> f64 {
    let len = bloom.sub_bitmap_words();
    let bits = f64::from(bloom.shape().sub_bitmap_bits);
    let views = (0..bloom.segments.reserved()).filter_map(|i| bloom.segments.view(i));
    let runs = views.flat_map(|view| view.runs());
    let rates = runs.flat_map(|(_, words)| words.chunks(len)).map(|words| {
        let set = crate::storage::bits(words).count_ones() as f64;
        (set / bits).powi(bloom.shape().num_hashes as i32)
    });
    rates.sum::<f64>() / bloom.shape().num_sub_bitmaps as f64
}

/// An attacker's item: in a sub-bitmap of their choice, with random probes.
fn chosen(bloom: &BlockedBloom, sub_bitmap: u64, i: u64) -> ItemHash {
    let step = u64::MAX / bloom.shape().num_sub_bitmaps;
    ItemHash { place: sub_bitmap * step + step / 2, probes: item(i).probes }
}

/// The words of an item's sub-bitmap, if they are allocated.
fn words_of(bloom: &BlockedBloom, hash: ItemHash) -> Option<&[u64]> {
    bloom.segments.unit(bloom.sub_bitmap_of(hash))
}

const ATTACKED: [(u64, f64); 9] = [
    (1, 0.01),
    (10, 0.01),
    (100, 0.001),
    (1_000, 0.01),
    (3_400, 0.01),
    (10_000, 0.01),
    (10_000, 0.3),
    (20_000, 0.0001),
    (9_000, 0.000_001),
];

#[test]
fn items_that_share_no_bits_do_not_double_the_error_rate() {
    for (capacity, error_rate) in ATTACKED {
        let mut bloom = BlockedBloom::new(capacity, error_rate);
        let mut tried = 0;
        while !bloom.fill.is_full() && tried < 100 * capacity {
            let hash = item(tried);
            tried += 1;
            let set =
                |bloom: &BlockedBloom| words_of(bloom, hash).map_or(0, sub_bitmap::count_ones);
            let mut copy = words_of(&bloom, hash).map_or(Vec::new(), <[u64]>::to_vec);
            copy.resize(bloom.sub_bitmap_words(), 0);
            let inserted = sub_bitmap::insert(&mut copy, hash.probes, bloom.shape().num_hashes);
            // All bits are new, or as many as are still likely.
            let free = bloom.shape().sub_bitmap_bits - set(&bloom);
            if inserted.new_bits() >= bloom.shape().num_hashes.min(free / 4) {
                bloom.insert(hash).unwrap();
            }
        }
        let rate = exact_rate(&bloom);
        assert!(rate <= 2.0 * error_rate, "{capacity} {error_rate}: {rate}");
    }
}

#[test]
fn items_that_crowd_into_few_sub_bitmaps_do_not_double_the_error_rate() {
    for (capacity, error_rate) in ATTACKED {
        for crowded in [1, 2, 10, 100] {
            let mut bloom = BlockedBloom::new(capacity, error_rate);
            let mut tried = 0;
            while !bloom.fill.is_full() && tried < 1_000 * crowded {
                let sub_bitmap = (tried / 1_000) % bloom.shape().num_sub_bitmaps;
                bloom.insert(chosen(&bloom, sub_bitmap, tried)).unwrap();
                tried += 1;
            }
            let rate = exact_rate(&bloom);
            assert!(rate <= 2.0 * error_rate, "{capacity} {error_rate} {crowded}: {rate}");
        }
    }
}

#[test]
fn crowding_items_close_a_sub_filter_long_before_its_capacity() {
    let mut bloom = BlockedBloom::new(100_000, 0.01);
    let mut items = 0;
    while !bloom.fill.is_full() {
        bloom.insert(chosen(&bloom, items / 200, items)).unwrap();
        items += 1;
    }
    assert!(bloom.is_closed_by_guard());
    assert!(bloom.fill.items() < 10_000, "{}", bloom.fill.items());
}

#[test]
fn the_weight_is_the_exact_false_positive_rate() {
    for (capacity, error_rate) in [(50_000, 0.1), (50_000, 0.01), (20_000, 1e-9)] {
        let bloom = filled(capacity, error_rate);
        let weighed = bloom.false_positive_rate();
        let off = weighed / exact_rate(&bloom) - 1.0;
        assert!(off.abs() < 0.001, "{capacity} {error_rate}: {off}");
    }
}

#[test]
fn fair_items_meet_the_guard_at_their_capacity_only() {
    // 1000 filters of each kind; random items reach six deviations once in 10^9.
    for (capacity, error_rate) in [(10, 0.01), (100, 0.0067), (3_400, 0.01), (2_000, 0.001)] {
        for filter in 0..1_000u64 {
            let mut bloom = BlockedBloom::new(capacity, error_rate);
            for i in 0..capacity {
                assert!(!bloom.fill.is_closed(), "{capacity} {error_rate} {filter} {i}");
                bloom.insert(item(filter << 32 | i)).unwrap();
            }
        }
    }
}
