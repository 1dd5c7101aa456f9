//! The same filter, the plain way: arrays of bytes, filled and read as RedisBloom does it.

use crate::foreign::layer::LN_2;
use splitbloom_foundation::fields::Field;
use splitbloom_foundation::murmur::{murmur32, murmur64a};

/// How RedisBloom has laid out arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrays {
    /// Whole words, as of today.
    Words,
    /// Whole bytes, in 2.2.0 to 2.2.4.
    Bytes,
    /// A power of two, for which 0 bits are stored, before 2.2.
    Powers,
}

#[derive(Clone, Debug)]
pub struct TwinLayer {
    pub entries: u64,
    pub error_rate: f64,
    pub hashes: u64,
    pub bits_per_item: f64,
    pub n2: u64,
    pub bytes: Vec<u8>,
    pub items: u64,
    arrays: Arrays,
}

#[derive(Clone, Debug)]
pub struct Twin {
    pub options: u64,
    pub growth: u64,
    pub layers: Vec<TwinLayer>,
}

impl TwinLayer {
    fn new(entries: u64, error_rate: f64, arrays: Arrays) -> Self {
        let bits_per_item = error_rate.ln().abs() / 0.480_453_013_918_201;
        let bits = (entries as f64 * bits_per_item).max(1.0) as usize;
        let (bytes, n2) = match arrays {
            Arrays::Words => (bits.div_ceil(64) * 8, 0),
            Arrays::Bytes => (bits.div_ceil(8), 0),
            Arrays::Powers => ((2usize << bits.ilog2()).div_ceil(8), bits.ilog2() + 1),
        };
        Self {
            entries,
            error_rate,
            hashes: (LN_2 * bits_per_item).ceil() as u64,
            bits_per_item,
            n2: n2.into(),
            bytes: vec![0; bytes],
            items: 0,
            arrays,
        }
    }

    fn bits(&self) -> u64 {
        8 * self.bytes.len() as u64
    }

    fn stored_bits(&self) -> u64 {
        match self.arrays {
            Arrays::Powers => 0,
            Arrays::Words | Arrays::Bytes => self.bits(),
        }
    }

    fn places(&self, options: u64, item: &[u8]) -> Vec<(usize, u8)> {
        let (a, b) = if options & 4 != 0 {
            let a = murmur64a(item, 0xc6a4_a793_5bd1_e995);
            (a, murmur64a(item, a))
        } else {
            let a = murmur32(item, 0x9747_b28c);
            (a.into(), murmur32(item, a).into())
        };
        let used = if self.n2 > 0 { 1 << self.n2 } else { self.bits() };
        let place = |i: u64| a.wrapping_add(i.wrapping_mul(b)) % used;
        let place = |i| ((place(i) >> 3) as usize, 1 << (place(i) & 7));
        (0..self.hashes).map(place).collect()
    }
}

impl Twin {
    /// An empty filter.
    pub fn new(error_rate: f64, capacity: u64, growth: u64) -> Self {
        Self::with_arrays(error_rate, capacity, growth, Arrays::Words)
    }

    /// An empty filter with arrays of that kind.
    pub fn with_arrays(error_rate: f64, capacity: u64, growth: u64, arrays: Arrays) -> Self {
        let (first, options) = match growth {
            0 => (error_rate, 13),
            _ => (error_rate / 2.0, 5),
        };
        Self { options, growth, layers: vec![TwinLayer::new(capacity, first, arrays)] }
    }

    /// One with the items 0 to `items`.
    pub fn filled(error_rate: f64, capacity: u64, growth: u64, items: u64) -> Self {
        let mut twin = Self::new(error_rate, capacity, growth);
        for number in 0..items {
            twin.add(&super::item(number));
        }
        twin
    }

    pub fn contains(&self, item: &[u8]) -> bool {
        self.layers.iter().any(|layer| {
            let mut places = layer.places(self.options, item).into_iter();
            places.all(|(byte, mask)| layer.bytes[byte] & mask != 0)
        })
    }

    /// Adds an item that is not there, if there is room.
    pub fn add(&mut self, item: &[u8]) {
        if self.contains(item) {
            return;
        }
        let last = self.layers.last().unwrap();
        if last.items == last.entries {
            if self.options & 8 != 0 {
                return;
            }
            self.grow();
        }
        let last = self.layers.last_mut().unwrap();
        for (byte, mask) in last.places(self.options, item) {
            last.bytes[byte] |= mask;
        }
        last.items += 1;
    }

    /// Adds a layer.
    pub fn grow(&mut self) {
        let last = self.layers.last().unwrap();
        let (entries, error_rate) = (last.entries * self.growth, last.error_rate / 2.0);
        let layer = TwinLayer::new(entries, error_rate, last.arrays);
        self.layers.push(layer);
    }

    pub fn items(&self) -> u64 {
        self.layers.iter().map(|layer| layer.items).sum()
    }

    /// The fields of encoding version 4.
    pub fn fields(&self) -> Vec<Field> {
        use Field::{Double, String, Unsigned};
        let num_layers = self.layers.len() as u64;
        let head = [self.items(), num_layers, self.options, self.growth];
        let layers = self.layers.iter().flat_map(|layer| {
            [
                Unsigned(layer.entries),
                Double(layer.error_rate),
                Unsigned(layer.hashes),
                Double(layer.bits_per_item),
                Unsigned(layer.stored_bits()),
                Unsigned(layer.n2),
                String(layer.bytes.clone()),
                Unsigned(layer.items),
            ]
        });
        head.map(Unsigned).into_iter().chain(layers).collect()
    }

    /// What SCANDUMP answers first.
    pub fn header(&self) -> Vec<u8> {
        let mut header = self.items().to_le_bytes().to_vec();
        let head = [self.layers.len() as u64, self.options, self.growth];
        header.extend(head.map(|field| field as u32).map(u32::to_le_bytes).as_flattened());
        for layer in &self.layers {
            header.extend((layer.bytes.len() as u64).to_le_bytes());
            header.extend(layer.stored_bits().to_le_bytes());
            header.extend(layer.items.to_le_bytes());
            header.extend(layer.error_rate.to_le_bytes());
            header.extend(layer.bits_per_item.to_le_bytes());
            header.extend((layer.hashes as u32).to_le_bytes());
            header.extend(layer.entries.to_le_bytes());
            header.push(layer.n2 as u8);
        }
        header
    }

    /// What it answers then, in pieces of a limited number of bytes.
    pub fn pieces(&self, len: usize) -> Vec<(u64, Vec<u8>)> {
        let mut end = 1;
        let pieces = self.layers.iter().flat_map(|layer| layer.bytes.chunks(len));
        pieces
            .map(|piece| {
                end += piece.len() as u64;
                (end, piece.to_vec())
            })
            .collect()
    }
}
