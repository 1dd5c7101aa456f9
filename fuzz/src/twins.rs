//! The core's reader of what others write, beside a second one: both accept the same bytes, and
//! make the same of them.

use super::decode::use_it;
use super::fuzzed::Fuzzed;
use super::survival::assert_survives;
use splitbloom_filter::codec::MEMORY_PER_BYTE;
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::foreign::{Description, Layer};
use splitbloom_filter::Filter;
use splitbloom_test_allocator::meter::measured;
use std::fmt::Debug;

/// What a filter takes beside what its bytes bring.
const MEMORY_BEFORE: isize = 4096;
/// More layers than these would take a second to be asked by the second reader.
const MOST_LAYERS: usize = 64;

/// A filter as a second reader has it.
pub trait Twin: Debug {
    fn layers(&self) -> Vec<Description>;
    fn set_bits(&self) -> u64;
    fn contains(&self, item: &[u8]) -> bool;
}

/// The filter of both readers, if they accept what they read, which was so many bytes.
pub fn read_by_both<T: Twin>(
    given: usize,
    read: impl FnOnce() -> Result<Filter, DecodeError>,
    twin: Option<T>,
) -> Option<(Filter, T)> {
    let (read, taken) = measured(read);
    let most = (MEMORY_PER_BYTE * given) as isize + MEMORY_BEFORE;
    assert!(taken.peak <= most, "{taken:?} for {given} bytes");
    assert_eq!(read.is_ok(), twin.is_some(), "{:?} {twin:?}", read.err());
    read.ok().zip(twin)
}

/// The filter answers as its twin, and survives whatever is done to it.
pub fn assert_alike(mut filter: Filter, twin: &impl Twin) {
    let layers = filter.layers().expect("of another module").each();
    if layers.len() > MOST_LAYERS {
        return;
    }
    filter.assert_sound();
    let layers = layers.iter().map(Layer::description);
    assert_eq!(layers.collect::<Vec<_>>(), twin.layers());
    assert_eq!(filter.set_bits(), twin.set_bits());
    let items: Vec<String> = (0..24).map(|number| format!("item:{number}")).collect();
    let mut expected = items.iter().map(|item| twin.contains(item.as_bytes()));
    filter.contains_many(items.iter().map(String::as_bytes), |is_there| {
        assert_eq!(Some(is_there), expected.next());
    });
    assert_eq!(expected.next(), None);
    assert_survives(&mut filter);
    use_it(&mut filter);
    filter.assert_sound();
}
