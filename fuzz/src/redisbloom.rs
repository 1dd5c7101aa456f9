//! A second reader of what RedisBloom writes of a Bloom filter, written from docs/format.md alone:
//! one bit after the other, in a map of bytes. The core must accept what this reader accepts,
//! refuse what it refuses, and answer alike.

use super::plain_reader::LN_2;
use super::stream::Stream;
use super::twins::Twin;
use splitbloom_filter::foreign::Description;
use splitbloom_filter::foreign::Fields;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct Layer {
    entries: u64,
    error_rate: f64,
    hashes: u64,
    bits_per_item: f64,
    bits: u64,
    n2: u64,
    items: u64,
    /// The bytes that are not 0.
    bytes: BTreeMap<u64, u8>,
}

#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub options: u64,
    pub growth: u64,
    layers: Vec<Layer>,
}

impl Layer {
    fn is_good(&self) -> bool {
        let used_fits = match self.n2 {
            0 => true,
            n2 => n2 < 64 && 1u64 << n2 <= self.bits,
        };
        let hashes = (LN_2 * self.bits_per_item).ceil();
        self.entries >= 1
            && self.error_rate > 0.0
            && self.error_rate < 1.0
            && (1..=1 << 47).contains(&self.bits)
            && self.n2 < 64
            && used_fits
            && self.bits_per_item > 0.0
            && hashes == self.hashes as f64
            && (1..=1076).contains(&self.hashes)
    }

    /// Old filters have 0 bits, and mean 2^n2.
    fn fill_in_bits(&mut self) {
        if self.bits == 0 && self.n2 < 64 {
            self.bits = 1 << self.n2;
        }
    }

    fn num_bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        for (at, byte) in (at..).zip(bytes).filter(|(_, byte)| **byte != 0) {
            *self.bytes.entry(at).or_default() |= byte;
        }
    }

    fn contains(&self, options: u64, item: &[u8]) -> bool {
        let (a, b) = match options & 4 {
            0 => {
                let a = murmur(item, 0x9747_b28c, &SHORT);
                (a, murmur(item, a, &SHORT))
            }
            _ => {
                let a = murmur(item, LONG.m, &LONG);
                (a, murmur(item, a, &LONG))
            }
        };
        let used = match self.n2 {
            0 => self.bits,
            n2 => 1 << n2,
        };
        (0..self.hashes).all(|i| {
            let sum = u128::from(a) + u128::from(i) * u128::from(b);
            let x = sum % (1 << 64) % u128::from(used);
            let byte = self.bytes.get(&((x / 8) as u64)).copied();
            byte.unwrap_or(0) >> (x % 8) & 1 == 1
        })
    }
}

impl Filter {
    /// From the fields of an encoding version.
    pub fn of_fields(version: u32, mut from: Stream<'_>) -> Option<Self> {
        if version > 4 {
            return None;
        }
        let items = from.unsigned()?;
        let num_layers = from.unsigned()?;
        let options = if version >= 2 { from.unsigned()? } else { 0 };
        let growth = if version >= 4 { from.unsigned()? } else { 2 };
        let mut filter = Self { options, growth, layers: Vec::new() };
        for _ in 0..num_layers {
            let mut layer = Layer {
                entries: from.unsigned()?,
                error_rate: from.double()?,
                hashes: from.unsigned()?,
                bits_per_item: from.double()?,
                ..Layer::default()
            };
            if version >= 1 {
                layer.bits = from.unsigned()?;
                layer.n2 = from.unsigned()?;
            } else {
                layer.bits = (layer.entries as f64 * layer.bits_per_item) as u64;
            }
            layer.fill_in_bits();
            if !layer.is_good() {
                return None;
            }
            let array = from.string()?;
            let len = array.len() as u64;
            let least = layer.bits.div_ceil(8);
            let most = 8 * layer.bits.div_ceil(64);
            if !(least..=most).contains(&len) {
                return None;
            }
            layer.put(0, array);
            layer.items = from.unsigned()?;
            filter.layers.push(layer);
        }
        filter.is_good(items).then_some(filter)
    }

    /// From a header.
    pub fn of_header(header: &[u8]) -> Option<Self> {
        let len = header.len() as u64;
        let mut from = Stream(header);
        let mut field = |width| from.number(width);
        let (items, num_layers) = (field(8)?, field(4)?);
        let wide = len == 20 + 53 * num_layers;
        let mut filter = Self {
            options: field(4)?,
            growth: if len == 16 + 49 * num_layers { 2 } else { field(4)? },
            layers: Vec::new(),
        };
        for _ in 0..num_layers {
            let (bytes, bits, items) = (field(8)?, field(8)?, field(8)?);
            let (error_rate, bits_per_item) = (field(8)?, field(8)?);
            let mut layer = Layer {
                error_rate: f64::from_bits(error_rate),
                bits_per_item: f64::from_bits(bits_per_item),
                hashes: field(4)?,
                entries: field(if wide { 8 } else { 4 })?,
                n2: field(1)?,
                bits,
                items,
                bytes: BTreeMap::new(),
            };
            layer.fill_in_bits();
            if !layer.is_good() || bytes != layer.num_bytes() {
                return None;
            }
            filter.layers.push(layer);
        }
        (from.0.is_empty() && filter.is_good(items)).then_some(filter)
    }

    fn is_good(&self, items: u64) -> bool {
        !self.layers.is_empty()
            && self.options < 1 << 31
            && self.growth < 1 << 32
            && self.layers.iter().map(|layer| u128::from(layer.items)).sum::<u128>()
                == u128::from(items)
    }

    /// Takes a piece, if there is a place for it. Returns whether there was.
    pub fn take_piece(&mut self, iterator: u64, piece: &[u8]) -> bool {
        let start = i128::from(iterator) - 1 - piece.len() as i128;
        let mut begin = 0;
        for layer in &mut self.layers {
            let end = begin + i128::from(layer.num_bytes());
            if (begin..end).contains(&start) {
                let fits = start + piece.len() as i128 <= end;
                if fits {
                    layer.put((start - begin) as u64, piece);
                }
                return fits;
            }
            begin = end;
        }
        false
    }
}

impl Twin for Filter {
    fn layers(&self) -> Vec<Description> {
        let described = self.layers.iter().map(|layer| Description {
            entries: layer.entries,
            error_rate: layer.error_rate,
            hashes: layer.hashes as u32,
            bits_per_item: layer.bits_per_item,
            bits: layer.bits,
            n2: layer.n2 as u8,
            items: layer.items,
        });
        described.collect()
    }

    fn set_bits(&self) -> u64 {
        let bytes = self.layers.iter().flat_map(|layer| layer.bytes.values());
        bytes.map(|byte| u64::from(byte.count_ones())).sum()
    }

    fn contains(&self, item: &[u8]) -> bool {
        let mut layers = self.layers.iter();
        layers.any(|layer| layer.contains(self.options, item))
    }
}

/// What the two functions called MurmurHash2 do not share.
struct Murmur {
    m: u64,
    /// Bytes of a word.
    width: usize,
    shift: u32,
    last_shifts: [u32; 2],
    /// Whether the length is multiplied, and a word after it is mixed in instead of before.
    is_long: bool,
}

const LONG: Murmur =
    Murmur { m: 0xc6a4_a793_5bd1_e995, width: 8, shift: 47, last_shifts: [47, 47], is_long: true };

const SHORT: Murmur =
    Murmur { m: 0x5bd1_e995, width: 4, shift: 24, last_shifts: [13, 15], is_long: false };

/// MurmurHash2 of 32 bits.
pub fn short_murmur(item: &[u8], seed: u32) -> u64 {
    murmur(item, seed.into(), &SHORT)
}

/// Austin Appleby's public-domain functions, both in one.
fn murmur(item: &[u8], seed: u64, with: &Murmur) -> u64 {
    let modulus = 1u128 << (8 * with.width);
    let times_m = |x: u64| (u128::from(x) * u128::from(with.m) % modulus) as u64;
    let len = item.len() as u64;
    let mut hash = seed ^ if with.is_long { times_m(len) } else { len };
    for word in item.chunks(with.width) {
        let digits = word.iter().rev();
        let number = digits.fold(0, |number, byte| number << 8 | u64::from(*byte));
        if word.len() < with.width {
            hash = times_m(hash ^ number);
            continue;
        }
        let mixed = times_m(number);
        let mixed = times_m(mixed ^ mixed >> with.shift);
        hash = if with.is_long { times_m(hash ^ mixed) } else { times_m(hash) ^ mixed };
    }
    let [first, second] = with.last_shifts;
    hash = times_m(hash ^ hash >> first);
    hash ^ hash >> second
}
