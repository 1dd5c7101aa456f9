//! The slots of a page, all of one width: a fingerprint and a payload each.

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
