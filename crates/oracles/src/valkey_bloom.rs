//! valkey-bloom's filters. The reader collects all fields first and judges them then, and computes
//! SipHash from its own description.

use super::layers::{Description, Layers};
use super::stream::Stream;
use splitbloom_foundation::fields::Fields;
use std::f64::consts::LN_2;

/// The modulus of an item's numbers, from number 2 on.
const MODULUS: u64 = 0xFFFF_FFFF_FFFF_FFC5;

#[derive(Clone, Debug)]
struct Layer {
    hashes: u64,
    keys: [u8; 32],
    bytes: Vec<u8>,
    items: u64,
    capacity: u64,
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub expansion: u64,
    error_rate: f64,
    tightening: f64,
    seed_is_random: u64,
    layers: Vec<Layer>,
}

impl Layer {
    /// From a bitmap.
    fn of(bitmap: &[u8], items: u64, capacity: u64) -> Option<Self> {
        let mut from = Stream(bitmap);
        let (version, len) = (from.number(1)?, from.number(8)?);
        let (hashes, keys) = (from.number(4)?, from.take(32)?);
        let bytes = from.0.to_vec();
        let is_good = version == 1 && len == bytes.len() as u64;
        is_good.then_some(Self { hashes, keys: keys.try_into().ok()?, bytes, items, capacity })
    }

    fn is_good(&self) -> bool {
        let best = (8 * self.bytes.len()) as f64 * LN_2 / self.capacity as f64;
        let is_best = (best - self.hashes as f64).abs() < 0.5 || self.hashes == 1 && best < 1.0;
        !self.bytes.is_empty()
            && self.capacity >= 1
            && self.items <= self.capacity
            && is_best
            && (1..=1076).contains(&self.hashes)
    }

    fn contains(&self, item: &[u8]) -> bool {
        let hashed = [&item.len().to_le_bytes(), item].concat();
        let (first, second) = self.keys.split_at(16);
        let (a, b) = (sip_1_3(first, &hashed), sip_1_3(second, &hashed));
        (0..self.hashes).all(|i| {
            let number = match i {
                0 => a,
                1 => b,
                _ => a.wrapping_add(i.wrapping_mul(b)) % MODULUS,
            };
            let bit = number % (8 * self.bytes.len() as u64);
            self.bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1
        })
    }
}

impl Filter {
    /// From the fields of an encoding version.
    pub fn of_fields(version: u32, mut from: Stream<'_>) -> Option<Self> {
        let num_layers = from.unsigned()?;
        let mut filter = Self {
            expansion: from.unsigned()?,
            error_rate: from.double()?,
            tightening: from.double()?,
            seed_is_random: from.unsigned()?,
            layers: Vec::new(),
        };
        for number in 1..=num_layers {
            let (bitmap, capacity) = (from.string()?, from.unsigned()?);
            let is_last = number == num_layers;
            let items = if is_last { from.unsigned()? } else { capacity };
            filter.layers.push(Layer::of(bitmap, items, capacity)?);
        }
        (version == 1 && filter.is_good()).then_some(filter)
    }

    /// From the value of a BF.LOAD.
    pub fn of_load(value: &[u8]) -> Option<Self> {
        let mut from = Stream(value);
        let version = from.number(1)?;
        let mut filter = Self {
            expansion: from.number(4)?,
            error_rate: from.double()?,
            tightening: from.double()?,
            seed_is_random: from.number(1)?,
            layers: Vec::new(),
        };
        for _ in 0..from.number(8)? {
            let len = from.number(8)?;
            let bitmap = from.take(len.try_into().ok()?)?;
            let (items, capacity) = (from.number(8)?, from.number(8)?);
            filter.layers.push(Layer::of(bitmap, items, capacity)?);
        }
        (version == 1 && from.0.is_empty() && filter.is_good()).then_some(filter)
    }

    /// The error rate of each layer.
    fn error_rates(&self) -> impl Iterator<Item = f64> + '_ {
        let next = |rate: &f64| Some(rate * self.tightening);
        std::iter::successors(Some(self.error_rate), next)
    }

    fn is_good(&self) -> bool {
        let is_share = |number: f64| number > 0.0 && number < 1.0;
        let keys = self.layers.first().map(|layer| layer.keys);
        let all_are_good = self
            .layers
            .iter()
            .zip(self.error_rates())
            .all(|(layer, rate)| layer.is_good() && Some(layer.keys) == keys && is_share(rate));
        let may_be_so_many = match self.expansion {
            0 => self.layers.len() == 1,
            _ => !self.layers.is_empty(),
        };
        all_are_good
            && may_be_so_many
            && is_share(self.tightening)
            && self.expansion < 1 << 32
            && self.seed_is_random <= 1
    }
}

impl Layers for Filter {
    fn descriptions(&self) -> Vec<Description> {
        let layers = self.layers.iter().zip(self.error_rates());
        let described = layers.map(|(layer, error_rate)| Description {
            entries: layer.capacity,
            error_rate,
            hashes: layer.hashes,
            bits_per_item: (layer.hashes as f64 - 0.5) / LN_2,
            bits: 8 * layer.bytes.len() as u64,
            n2: 0,
            items: layer.items,
        });
        described.collect()
    }

    fn set_bits(&self) -> u64 {
        let bytes = self.layers.iter().flat_map(|layer| &layer.bytes);
        bytes.map(|byte| u64::from(byte.count_ones())).sum()
    }

    fn contains(&self, item: &[u8]) -> bool {
        self.layers.iter().any(|layer| layer.contains(item))
    }
}

/// SipHash, by Jean-Philippe Aumasson and Daniel J. Bernstein, with one round a word and three at
/// the end. The key has 16 bytes.
fn sip_1_3(key: &[u8], bytes: &[u8]) -> u64 {
    let mut key = Stream(key);
    let [k0, k1] = [(); 2].map(|()| key.number(8).expect("keys have 16 bytes"));
    // "somepseudorandomlygeneratedbytes"
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    // The last word has what is left, and the length in its highest byte.
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = bytes.len() as u8;
    for word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(*word);
        v[3] ^= word;
        round(&mut v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn round(v: &mut [u64; 4]) {
    /// Adds the second to the first, rotates the second, and mixes the first into it.
    fn half(v: &mut [u64; 4], [to, from]: [usize; 2], by: u32) {
        v[to] = v[to].wrapping_add(v[from]);
        v[from] = v[from].rotate_left(by) ^ v[to];
    }
    half(v, [0, 1], 13);
    v[0] = v[0].rotate_left(32);
    half(v, [2, 3], 16);
    half(v, [0, 3], 21);
    half(v, [2, 1], 17);
    v[2] = v[2].rotate_left(32);
}
