//! The slots of a page: a fingerprint and a payload each, all of one width.

/// Bits that one read of eight bytes at any bit gives at least.
pub const WINDOW_BITS: usize = 57;
/// The most bits of a slot: it is read at once.
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

    /// The delimiter of the fingerprint in a slot: the lower, the longer it is.
    #[inline]
    pub fn delimiter(self, value: u64) -> u64 {
        let e = value >> self.payload_bits;
        e & e.wrapping_neg()
    }

    /// Whether the fingerprint in a slot is a prefix of the `fingerprint_bits` bits of `wanted`.
    /// Compared are the bits above the delimiter, which is the lowest bit set: `e ^ (e - 1)` masks
    /// it and all below.
    #[inline]
    pub fn matches(self, value: u64, wanted: u64) -> bool {
        let e = value >> self.payload_bits;
        e ^ wanted <= e ^ e.wrapping_sub(1)
    }
}
