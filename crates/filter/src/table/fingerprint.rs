//! Fingerprints of any length: some bits of an item's path, and a payload.
//!
//! ```text
//!   | bits of the path below the page's depth | 1 | 0 ... 0 | payload |
//!     length of them, at most 59             delimiter        4 bits
//! ```
//!
//! When a page splits, the first bit tells which half an entry goes to, and the rest moves up. When
//! two pages merge, each entry gets that bit back. Fingerprints are compared as numbers, which
//! sorts them by bucket, then by their bits, then by payload.
//!
//! In a page a fingerprint lies in a slot, without the bits that its bucket implies; the slots of a
//! page have one width ([`SlotShape`]).

/// Bits at the end of a fingerprint that hold the payload.
const PAYLOAD_BITS: u32 = 4;
/// The largest payload.
pub const MAX_PAYLOAD: u8 = (1 << PAYLOAD_BITS) - 1;
/// All payloads: those of 4 bits.
pub const ALL_PAYLOADS: u16 = u16::MAX;
/// The maximum number of path bits in a fingerprint.
pub const MAX_LENGTH: u8 = 64 - PAYLOAD_BITS as u8 - 1;

/// A fingerprint: bits of a path below the depth of its page, and a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The first `length` bits of `below`, which is a path without the bits that led to the page.
    #[inline]
    pub fn new(below: u64, length: u8, payload: u8) -> Self {
        debug_assert!(length <= MAX_LENGTH && payload <= MAX_PAYLOAD);
        let delimiter = 1 << (63 - length);
        Self(below & !(u64::MAX >> length) | delimiter | u64::from(payload))
    }

    /// The fingerprint with these bits; `None` if there is no delimiter.
    pub fn from_bits(bits: u64) -> Option<Self> {
        (bits >> PAYLOAD_BITS != 0).then_some(Self(bits))
    }

    /// A fingerprint of these path bits with a delimiter (or a part of them), and a payload.
    #[inline]
    pub fn of_parts(bits: u64, payload: u8) -> Self {
        Self(bits | u64::from(payload))
    }

    /// Combines two parts.
    #[inline]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// All bits, payload included.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The path bits and the delimiter, without the payload.
    #[inline]
    pub fn without_payload(self) -> u64 {
        self.0 >> PAYLOAD_BITS << PAYLOAD_BITS
    }

    /// The path bits, followed by zeros.
    pub fn path(self) -> u64 {
        let bits = self.without_payload();
        bits & bits.wrapping_sub(1)
    }

    #[inline]
    pub fn payload(self) -> u8 {
        self.0 as u8 & MAX_PAYLOAD
    }

    /// The number of path bits.
    #[inline]
    pub fn length(self) -> u8 {
        63 - self.without_payload().trailing_zeros() as u8
    }

    /// Whether it has less than `length` path bits.
    #[inline]
    pub fn is_shorter_than(self, length: u8) -> bool {
        // The delimiter is then above the bits that are left.
        self.without_payload() << length == 0
    }

    /// Whether an item with this path below the page matches.
    #[inline]
    pub fn matches(self, below: u64) -> bool {
        let bits = self.without_payload();
        bits ^ below <= bits ^ (bits - 1)
    }

    /// Its bucket of `2^bits`; it is at least as long.
    #[inline]
    pub fn bucket(self, bits: u8) -> usize {
        (self.0 >> (64 - bits)) as usize
    }

    /// With one more path bit in front, for a merged page. A fingerprint of full length loses its
    /// last bit.
    pub fn with_first_bit(self, bit: bool) -> Self {
        let length = (self.length() + 1).min(MAX_LENGTH);
        let below = self.without_payload() >> 1 | u64::from(bit) << 63;
        Self::new(below, length, self.payload())
    }

    /// The first path bit, and the fingerprint without it; `None` for a fingerprint of no length,
    /// which belongs to both halves.
    pub fn split_first_bit(self) -> Option<(bool, Self)> {
        let rest = self.without_first_bit();
        (rest.without_payload() != 0).then_some((self.0 >> 63 == 1, rest))
    }

    /// Without the first path bit, which must exist.
    #[inline]
    pub fn without_first_bit(self) -> Self {
        Self(self.without_payload() << 1 | u64::from(self.payload()))
    }

    /// The two fingerprints, longer by one bit, that together match what this one matches.
    pub fn halves(self) -> [Self; 2] {
        let bits = self.without_payload();
        let delimiter = bits & bits.wrapping_neg();
        let half = delimiter >> 1;
        let payload = u64::from(self.payload());
        [bits ^ delimiter | half | payload, bits | half | payload].map(Self)
    }
}

/// The minimum number of bits that a read of eight bytes returns from any bit on.
pub const WINDOW_BITS: usize = 57;
/// The maximum number of bits of a slot: one read returns it.
pub const MAX_SLOT_BITS: usize = WINDOW_BITS;

/// The slots of a page: `[remainder | 1 | 0 ... | payload]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotShape {
    /// Bits of remainder and delimiter.
    pub fingerprint_bits: u8,
    pub payload_bits: u8,
}

impl SlotShape {
    #[inline]
    pub fn bits(self) -> usize {
        usize::from(self.fingerprint_bits) + usize::from(self.payload_bits)
    }

    #[inline]
    pub fn mask(self) -> u64 {
        (1 << self.bits()) - 1
    }

    #[inline]
    pub fn payload_mask(self) -> u64 {
        (1 << self.payload_bits) - 1
    }

    /// The payload in a slot.
    #[inline]
    pub fn payload(self, value: u64) -> u8 {
        (value & self.payload_mask()) as u8
    }

    /// The delimiter of the fingerprint in a slot: the lower, the longer the fingerprint.
    #[inline]
    pub fn delimiter(self, value: u64) -> u64 {
        let e = value >> self.payload_bits;
        e & e.wrapping_neg()
    }

    /// Whether the fingerprint in a slot is a prefix of `wanted`, which has `fingerprint_bits`
    /// bits. Compares the bits above the delimiter, which is the lowest bit set: `e ^ (e - 1)`
    /// masks it and all bits below.
    #[inline]
    pub fn matches(self, value: u64, wanted: u64) -> bool {
        let e = value >> self.payload_bits;
        e ^ wanted <= e ^ e.wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_fingerprint_matches_the_paths_that_begin_with_its_bits(
            path in any::<u64>(), other in any::<u64>(), length in 0..=MAX_LENGTH,
            payload in 0..=MAX_PAYLOAD, common in 0u32..64,
        ) {
            let fingerprint = Fingerprint::new(path, length, payload);
            prop_assert_eq!((fingerprint.length(), fingerprint.payload()), (length, payload));
            for other in 0..=MAX_LENGTH + 1 {
                prop_assert_eq!(fingerprint.is_shorter_than(other), length < other);
            }
            let other = path ^ (other >> common);
            let equal = (path ^ other).leading_zeros();
            prop_assert_eq!(fingerprint.matches(other), equal >= u32::from(length));
            prop_assert_eq!(Fingerprint::from_bits(fingerprint.bits()), Some(fingerprint));
        }

        #[test]
        fn a_bit_taken_off_and_put_back_leaves_a_fingerprint_as_it_was(
            path in any::<u64>(), length in 1..=MAX_LENGTH, payload in 0..=MAX_PAYLOAD,
        ) {
            let fingerprint = Fingerprint::new(path, length, payload);
            let (bit, rest) = fingerprint.split_first_bit().unwrap();
            prop_assert_eq!(rest, Fingerprint::new(path << 1, length - 1, payload));
            prop_assert_eq!(rest.with_first_bit(bit), fingerprint);
            if length < MAX_LENGTH {
                let [low, high] = fingerprint.halves();
                let next = 1 << (63 - length);
                prop_assert_eq!(low, Fingerprint::new(path & !next, length + 1, payload));
                prop_assert_eq!(high, Fingerprint::new(path | next, length + 1, payload));
            }
        }
    }

    #[test]
    fn a_fingerprint_without_length_belongs_to_both_halves() {
        assert_eq!(Fingerprint::new(u64::MAX, 0, 3).split_first_bit(), None);
    }
}
