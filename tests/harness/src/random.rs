//! A small seeded random number generator (SplitMix64), so that failures are reproducible, and how
//! many trials tests run.

use std::env;

/// The variable that says how many items or commands tests against models send.
const TRIALS: &str = "SPLITBLOOM_TRIALS";

/// The number in `SPLITBLOOM_TRIALS`, or else `few`.
pub fn trials(few: u64) -> u64 {
    let number = env::var(TRIALS).map(|number| number.parse());
    number.map_or(few, |number| number.expect("SPLITBLOOM_TRIALS is a number"))
}

/// The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014)
/// as a function of its counter: a bijection whose results look random.
pub fn splitmix64(counter: u64) -> u64 {
    mixed(counter.wrapping_mul(INCREMENT))
}

const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;

fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Random {
        Random(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        mixed(self.0)
    }

    /// A number below the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// True with a chance in percent.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.number() as u8).collect()
    }

    /// The bytes with one of them changed, or in a tenth of the cases two, from `first` on.
    pub fn mutated(&mut self, bytes: &[u8], first: usize) -> Vec<u8> {
        let mut mutant = bytes.to_vec();
        let changes = if self.percent(90) { 1 } else { 2 };
        for _ in 0..changes {
            let at = first + self.index(bytes.len() - first);
            mutant[at] ^= 1 + self.below(255) as u8;
        }
        mutant
    }
}
