//! What RedisBloom writes at the ends of its arithmetic.

use super::*;
use crate::error::DecodeError;
use crate::foreign::layer::{Layer, LN_2, MAX_HASHES};
use crate::foreign::Description;

/// The least error rate that a double can be, 2^-1074.
const LEAST_RATE: f64 = f64::from_bits(1);

fn assert_comes_over(twin: &Twin) {
    let (whole, cut) = (from_rdb(twin), from_pieces(twin, 100));
    assert_eq!(whole.digest(), cut.digest());
    let probes: Vec<_> = (0..400).flat_map(|n| [item(n), stranger(n)]).collect();
    let expected: Vec<_> = probes.iter().map(|probe| twin.contains(probe)).collect();
    assert_eq!(answers(&whole, &probes), expected);
    assert_eq!(whole.items(), twin.items());
}

#[test]
fn a_series_loads_down_to_the_least_error_rate() {
    let mut twin = Twin::new(1e-320, 1, 1);
    let mut items = (0..).map(item);
    while twin.layers.last().unwrap().error_rate > LEAST_RATE {
        twin.add(&items.next().unwrap());
    }
    let last = twin.layers.last().unwrap();
    assert_eq!((last.error_rate, last.hashes), (LEAST_RATE, 1075));
    assert_comes_over(&twin);
    assert_comes_over(&filled(LEAST_RATE, 3, 0, 3));
    assert_comes_over(&filled(2.0 * LEAST_RATE, 3, 0, 3));
}

#[test]
fn a_series_loads_however_often_it_grew() {
    // From the highest error rate on: 1074 layers, of which each next one halves the rate.
    let mut twin = filled(1.0 - f64::EPSILON / 2.0, 1, 1, 1);
    while twin.layers.last().unwrap().error_rate > LEAST_RATE {
        twin.grow();
    }
    assert_eq!(twin.layers.len(), 1074);
    let filter = from_rdb(&twin);
    assert_eq!(filter.layers().unwrap().each().len(), 1074);
    assert_eq!(filter.digest(), from_pieces(&twin, 50).digest());
}

#[test]
fn a_filter_loads_at_the_highest_error_rate() {
    let most = 1.0 - f64::EPSILON / 2.0;
    for capacity in [1, 100, 10_000] {
        let mut filter = from_rdb(&filled(most, capacity, 0, 1));
        assert!(filter.contains(&item(0)));
        assert!(
            filter.table_error_rate().unwrap() > 0.0 && filter.table_error_rate().unwrap() < 1.0
        );
        let added = filter.add(&stranger(0));
        assert!(added.is_err() || filter.contains(&stranger(0)));
    }
}

#[test]
fn more_hashes_than_the_least_error_rate_needs_are_refused() {
    let of_hashes = |hashes: u32| {
        Layer::new(Description {
            entries: 1,
            error_rate: LEAST_RATE,
            hashes,
            bits_per_item: (f64::from(hashes) - 0.5) / LN_2,
            bits: 1600,
            n2: 0,
            items: 0,
        })
    };
    // By the arithmetic of RedisBloom, and of valkey-bloom for one item.
    let bits_per_item = LEAST_RATE.ln().abs() / 0.480_453_013_918_201;
    let bytes = (LEAST_RATE.ln().abs() / (8.0 * std::f64::consts::LN_2.powi(2))).ceil();
    let most = [(LN_2 * bits_per_item).ceil(), (8.0 * bytes * std::f64::consts::LN_2).round()];
    assert_eq!(most, [1075.0, f64::from(MAX_HASHES)]);
    assert!(of_hashes(MAX_HASHES).is_ok());
    let refused = of_hashes(MAX_HASHES + 1).err();
    assert_eq!(refused, Some(DecodeError::Field("number of hashes")));
}

#[test]
fn arrays_of_each_version_come_over() {
    for arrays in [Arrays::Words, Arrays::Bytes, Arrays::Powers] {
        for (rate, capacity) in [(0.5, 1), (0.01, 30), (1e-300, 2)] {
            let mut twin = Twin::with_arrays(rate, capacity, 2, arrays);
            (0..200).for_each(|number| twin.add(&item(number)));
            assert_comes_over(&twin);
        }
    }
}

#[test]
fn a_header_without_bits_and_n2_is_one_of_a_single_bit() {
    // What capacity 1 at an error rate above 0.62 came to before version 2.2.
    let mut twin = Twin::with_arrays(0.7, 1, 0, Arrays::Powers);
    twin.layers[0].n2 = 0;
    assert_eq!(twin.layers[0].num_bytes(), 1);
    let filter = from_rdb(&twin);
    assert_eq!(filter.num_bits(), 1);
    assert_eq!(filter.digest(), from_pieces(&twin, 1).digest());
}
