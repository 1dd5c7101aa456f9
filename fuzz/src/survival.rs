//! What every filter survives, whichever kind it is.

use super::laws::{assert_sound, decoded, encoded};
use splitbloom_filter::codec::Encoded;
use splitbloom_filter::Filter;

/// The filter survives saving and loading, saving again, and copying.
pub fn assert_survives(filter: &mut Filter) {
    let chunks = encoded(filter);
    let loaded = decoded(&chunks);
    assert_sound(&loaded);
    assert_eq!(loaded.digest(), filter.digest());
    assert_eq!(loaded.loading(), filter.loading());
    assert_eq!(loaded.items(), filter.items());
    // A vector may have room for more than is counted, but a limit bounds what is there.
    let mut bytes = size_of::<Filter>() as u64;
    loaded.visit_allocations(|layout, times| bytes += layout.size() as u64 * times);
    assert!(bytes <= loaded.reserved_bytes(), "{bytes}, not {}", loaded.reserved_bytes());
    let again = encoded(&loaded);
    let bytes = |chunks: &[Encoded]| -> Vec<Vec<u8>> {
        chunks.iter().map(|chunk| chunk.bytes.clone()).collect()
    };
    assert!(bytes(&chunks) == bytes(&again), "the bytes are the same");
    let copy = filter.try_clone().unwrap();
    assert_sound(&copy);
    assert_eq!(copy.digest(), filter.digest());
}
