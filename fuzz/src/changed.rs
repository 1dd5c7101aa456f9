//! Kept inputs that somebody has changed, and the tests of a target with these and any bytes.

use proptest::prelude::*;
use proptest::sample::Index;

/// Fields come in these first bytes, but for those of later layers. Bits may be any.
const FIELDS_BYTES: usize = 300;

/// One of the inputs, with some of its first bytes changed, cut off, inserted or moved to the end.
pub fn one_changed(inputs: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
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

/// Tests `target` with any bytes, and with changed inputs of the folder `folder` of `kept`.
macro_rules! test_laws {
    ($folder:literal, $target:ident) => {
        mod tests {
            use proptest::prelude::*;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(2_000))]

                #[test]
                fn any_bytes_keep_the_laws(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
                    super::$target(&bytes);
                }

                #[test]
                fn changed_inputs_keep_the_laws(
                    bytes in $crate::changed::one_changed($crate::kept::inputs($folder, ""))
                ) {
                    super::$target(&bytes);
                }
            }
        }
    };
}
pub(crate) use test_laws;
