//! The generator that decides what decays. Its state is part of the value, so that the same
//! commands leave the same value on every server.

/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. All of
/// its state is a number of 64 bits, and any number will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number in [0, 1), a multiple of 2^-53: as fine as doubles below 1 are.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        // Its first numbers from state 1234567, as its authors' C code prints them.
        let mut random = Random(1_234_567);
        let numbers = [0; 3].map(|_| random.next());
        let known =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers, known);
    }
}
