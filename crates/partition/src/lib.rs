#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod capacity;
mod crc16;
mod temporary;

pub use capacity::{capacity_of_each, OVERFLOW_CHANCE};
pub use crc16::crc16;
#[doc(hidden)] // for the tool and the Python package
pub use temporary::temporary_key;

use std::io::Write;

/// The slots of a Redis Cluster. More partitions would not spread the filter any further.
pub const SLOTS: u16 = 16_384;

/// A number of partitions: a power of two up to [`SLOTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitions(u16);

impl Partitions {
    /// A filter that is not divided.
    pub const ONE: Self = Self(1);

    /// `None` if the number is not a power of two, or larger than [`SLOTS`].
    pub fn new(count: u64) -> Option<Self> {
        let count = u16::try_from(count).ok()?;
        (count.is_power_of_two() && count <= SLOTS).then_some(Self(count))
    }

    /// The number.
    pub fn count(self) -> u16 {
        self.0
    }

    /// The partition that an item belongs to.
    pub fn of(self, item: &[u8]) -> u16 {
        crc16(item) & (self.0 - 1)
    }

    /// Each partition, by number.
    pub fn each(self) -> impl ExactSizeIterator<Item = u16> {
        0..self.0
    }
}

/// The name of a partitioned filter: any bytes but `{`, which would begin another hash tag before
/// the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// `None` if the name contains `{`. (A `}` before the first `{` has no meaning to a server.)
    pub fn new(name: &'a [u8]) -> Option<Self> {
        (!name.contains(&b'{')).then_some(Self(name))
    }

    /// The key of a partition: the name, a colon and the number in braces.
    pub fn key(self, partition: u16) -> Vec<u8> {
        let mut key = Vec::new();
        self.write_key(partition, &mut key);
        key
    }

    /// Sets `key` to the key of a partition. It takes at most eight bytes more than the name.
    pub fn write_key(self, partition: u16, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(self.0);
        let _ = write!(key, ":{{{partition}}}"); // a vector takes all that is written
    }
}

/// The slot of a key, as every node of a cluster computes it: from the bytes between the first `{`
/// and the next `}` if there are any, otherwise from the whole key.
pub fn slot_of(key: &[u8]) -> u16 {
    let tagged = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let len = rest.iter().position(|byte| *byte == b'}')?;
        (len > 0).then(|| &rest[..len])
    });
    crc16(tagged.unwrap_or(key)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn partitions(count: u64) -> Partitions {
        Partitions::new(count).unwrap()
    }

    #[test]
    fn the_number_of_partitions_is_a_power_of_two_up_to_that_of_the_slots() {
        let good: Vec<u64> = (0..=65_536).filter(|n| Partitions::new(*n).is_some()).collect();
        let powers: Vec<u64> = (0..=14).map(|power| 1 << power).collect();
        assert_eq!(good, powers);
        assert_eq!(Partitions::new(u64::MAX), None);
        assert_eq!(Partitions::new(1 << 32), None);
    }

    #[test]
    fn an_item_belongs_to_the_low_bits_of_its_checksum() {
        assert_eq!(partitions(16_384).of(b"123456789"), 0x31C3);
        assert_eq!(partitions(256).of(b"123456789"), 0xC3);
        assert_eq!(partitions(1).of(b"123456789"), 0);
        assert_eq!(partitions(64).of(b""), 0);
    }

    #[test]
    fn a_key_is_the_name_and_the_number_in_braces() {
        let name = Name::new(b"users").unwrap();
        assert_eq!(name.key(0), b"users:{0}");
        assert_eq!(name.key(16_383), b"users:{16383}");
        assert_eq!(Name::new(b"").unwrap().key(7), b":{7}");
        assert_eq!(Name::new(b"a{b"), None);
        assert_eq!(Name::new(b"{"), None);
    }

    #[test]
    fn the_slot_of_a_key_is_that_of_its_tag() {
        // The first two are in the specification of Redis Cluster.
        assert_eq!(slot_of(b"123456789"), 0x31C3);
        assert_eq!(slot_of(b"foo{{bar}}zap"), crc16(b"{bar") % SLOTS);
        assert_eq!(slot_of(b"foo{}{bar}"), crc16(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot_of(b"foo{bar"), crc16(b"foo{bar") % SLOTS);
        let drawn = [0, 1, 2, 3].map(|partition| Name(b"users").key(partition));
        assert_eq!(drawn.map(|key| slot_of(&key)), [13_907, 9_842, 5_649, 1_584]);
    }

    proptest! {
        #[test]
        fn the_number_alone_determines_the_slot_whatever_the_name(
            name in prop::collection::vec(
                any::<u8>().prop_filter("a tag", |byte| *byte != b'{'),
                0..20,
            ),
            partition in 0..SLOTS,
        ) {
            let key = Name::new(&name).unwrap().key(partition);
            prop_assert_eq!(slot_of(&key), crc16(partition.to_string().as_bytes()) % SLOTS);
        }

        #[test]
        fn doubling_the_partitions_splits_each_in_two(
            item in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            for power in 0..14 {
                let (fewer, more) = (partitions(1 << power), partitions(2 << power));
                prop_assert_eq!(more.of(&item) % fewer.count(), fewer.of(&item));
            }
        }
    }
}
