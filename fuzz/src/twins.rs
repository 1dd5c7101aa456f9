//! The core's reader beside a second one: both accept the same bytes, and make the same of them.

use super::decode::use_it;
use super::laws::assert_sound;
use super::survival::assert_survives;
use splitbloom_filter::codec::MEMORY_PER_BYTE;
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::foreign::Layer;
use splitbloom_filter::Filter;
use splitbloom_oracles::layers::{Description, Layers};
use splitbloom_oracles::stream::Stream;
use splitbloom_test_allocator::meter::measured;
use std::fmt::Debug;

/// What a filter takes beside what its bytes bring.
const MEMORY_BEFORE: isize = 4096;
/// With more layers, the second reader's lookups would take a second.
const MOST_LAYERS: usize = 64;

/// What both readers have read, if they accept it. The core's takes at most `most` bytes.
pub fn read_by_both<T, E: Debug, P>(
    most: isize,
    read: impl FnOnce() -> Result<T, E>,
    twin: Option<P>,
) -> Option<(T, P)> {
    let (read, taken) = measured(read);
    assert!(taken.peak <= most, "{taken:?}, not {most} bytes");
    assert_eq!(read.is_ok(), twin.is_some(), "{:?}", read.err());
    read.ok().zip(twin)
}

/// Reads at most `most` items, each with what `number` reads after it.
pub fn items<'a, N>(
    from: &mut Stream<'a>,
    most: usize,
    number: fn(&mut Stream<'a>) -> Option<N>,
) -> Vec<(&'a [u8], N)> {
    let next = || {
        let len = from.number(1)? as usize % 40;
        Some((from.take(len)?, number(from)?))
    };
    std::iter::from_fn(next).take(most).collect()
}

/// The same of layers, which were `given` bytes.
pub fn layers_by_both<P>(
    given: usize,
    read: impl FnOnce() -> Result<Filter, DecodeError>,
    twin: Option<P>,
) -> Option<(Filter, P)> {
    read_by_both((MEMORY_PER_BYTE * given) as isize + MEMORY_BEFORE, read, twin)
}

/// The filter answers as its twin, and survives whatever is done to it.
pub fn assert_alike(mut filter: Filter, twin: &impl Layers) {
    let layers = filter.layers().expect("of another module").each();
    if layers.len() > MOST_LAYERS {
        return;
    }
    assert_sound(&filter);
    let descriptions = layers.iter().map(Layer::description).map(|layer| Description {
        entries: layer.entries,
        error_rate: layer.error_rate,
        hashes: layer.hashes.into(),
        bits_per_item: layer.bits_per_item,
        bits: layer.bits,
        n2: layer.n2.into(),
        items: layer.items,
    });
    assert_eq!(descriptions.collect::<Vec<_>>(), twin.descriptions());
    assert_eq!(filter.set_bits(), twin.set_bits());
    let items: Vec<String> = (0..24).map(|number| format!("item:{number}")).collect();
    let mut expected = items.iter().map(|item| twin.contains(item.as_bytes()));
    filter.contains_many(items.iter().map(String::as_bytes), |is_there| {
        assert_eq!(Some(is_there), expected.next());
    });
    assert_eq!(expected.next(), None);
    assert_survives(&mut filter);
    use_it(&mut filter);
    assert_sound(&filter);
}
