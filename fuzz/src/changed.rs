//! Kept inputs that somebody has changed, and tests of readers with these and any bytes.

use super::kept::{inputs, targets, Target};
use super::*;
use proptest::prelude::*;
use proptest::sample::Index;

/// Fields come in these first bytes, but for those of later layers. Bits may be any.
const FIELDS_BYTES: usize = 300;

/// One of the inputs, with some of its first bytes changed, cut off, inserted or moved to the end.
fn one_changed(inputs: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    // Small numbers are layers, factors and flags.
    let value = prop_oneof![0..4u8, any::<u8>()];
    let changes = prop::collection::vec((any::<Index>(), value, 0..6u8), 1..4);
    (prop::sample::select(inputs), changes).prop_map(|(mut bytes, changes)| {
        for (at, value, change) in changes {
            let at = at.index(bytes.len().min(FIELDS_BYTES));
            match change {
                0 => bytes[at] = value,
                1 => bytes[at] ^= 1 << (value % 8),
                2 => bytes.truncate(at + 1),
                3 => bytes.insert(at, value),
                4 => bytes[0] = value,
                _ => {
                    bytes.remove(at);
                    bytes.push(value);
                }
            }
        }
        bytes
    })
}

/// Those of the targets that read one value.
const READERS: [Target; 7] = targets!(cms cuckoo decode foreign tdigest topk valkey);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_keep_the_laws(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        READERS.iter().for_each(|(_, read)| read(&bytes));
    }

    #[test]
    fn changed_inputs_keep_the_laws(
        changed in READERS.map(|(folder, _)| one_changed(inputs(folder, "")))
    ) {
        READERS.iter().zip(changed).for_each(|((_, read), bytes)| read(&bytes));
    }
}
