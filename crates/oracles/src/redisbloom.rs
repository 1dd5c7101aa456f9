//! RedisBloom's Bloom filters: what it writes, and how it answers. The reader is written from
//! docs/format.md alone, one bit after the other, in a map of blocks.

use super::layers::{Description, Layers};
use super::murmur::{long_murmur, short_murmur, SEED};
use super::plain_reader::LN_2;
use super::stream::Stream;
use super::{must, written};
use splitbloom_foundation::fields::{Field, Fields};
use std::collections::BTreeMap;

/// Bytes of an array that are kept together.
const BLOCK: u64 = 4096;

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
pub struct Layer {
    pub entries: u64,
    pub error_rate: f64,
    pub hashes: u64,
    bits_per_item: f64,
    bits: u64,
    pub n2: u64,
    pub items: u64,
    arrays: Arrays,
    /// The blocks that are not all 0.
    blocks: BTreeMap<u64, Vec<u8>>,
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub options: u64,
    pub growth: u64,
    pub layers: Vec<Layer>,
}

impl Layer {
    fn new(entries: u64, error_rate: f64, arrays: Arrays) -> Self {
        let bits_per_item = error_rate.ln().abs() / 0.480_453_013_918_201;
        let bits = (entries as f64 * bits_per_item).max(1.0) as u64;
        let (bits, n2) = match arrays {
            Arrays::Words => (bits.next_multiple_of(64), 0),
            Arrays::Bytes => (bits.next_multiple_of(8), 0),
            Arrays::Powers => (2 << bits.ilog2(), u64::from(bits.ilog2()) + 1),
        };
        let hashes = (LN_2 * bits_per_item).ceil() as u64;
        let blocks = BTreeMap::new();
        Self { entries, error_rate, hashes, bits_per_item, bits, n2, items: 0, arrays, blocks }
    }

    fn description(&self) -> Description {
        let Self { entries, error_rate, hashes, bits_per_item, bits, n2, items, .. } = *self;
        Description { entries, error_rate, hashes, bits_per_item, bits, n2, items }
    }

    /// A layer without set bits. Old filters store 0 bits, and mean 2^n2.
    fn described(mut layer: Description) -> Option<Self> {
        if layer.bits == 0 && layer.n2 < 64 {
            layer.bits = 1 << layer.n2;
        }
        must(layer.is_good())?;
        let Description { entries, error_rate, hashes, bits_per_item, bits, n2, items } = layer;
        let (arrays, blocks) = (Arrays::Words, BTreeMap::new());
        Some(Self { entries, error_rate, hashes, bits_per_item, bits, n2, items, arrays, blocks })
    }

    fn stored_bits(&self) -> u64 {
        match self.arrays {
            Arrays::Powers => 0,
            Arrays::Words | Arrays::Bytes => self.bits,
        }
    }

    pub fn num_bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    fn byte(&self, at: u64) -> u8 {
        self.blocks.get(&(at / BLOCK)).map_or(0, |block| block[(at % BLOCK) as usize])
    }

    fn array(&self) -> Vec<u8> {
        (0..self.num_bytes()).map(|at| self.byte(at)).collect()
    }

    pub fn put(&mut self, at: u64, bytes: &[u8]) {
        for (at, byte) in (at..).zip(bytes).filter(|(_, byte)| **byte != 0) {
            let block = self.blocks.entry(at / BLOCK);
            block.or_insert_with(|| vec![0; BLOCK as usize])[(at % BLOCK) as usize] |= byte;
        }
    }

    /// The bytes that have bits of an item, and these bits.
    fn places(&self, options: u64, item: &[u8]) -> impl Iterator<Item = (u64, u8)> {
        let (a, b) = match options & 4 {
            0 => {
                let a = short_murmur(item, 0x9747_b28c);
                (a, short_murmur(item, a))
            }
            _ => {
                let a = long_murmur(item, SEED);
                (a, long_murmur(item, a))
            }
        };
        let used = match self.n2 {
            0 => self.bits,
            n2 => 1 << n2,
        };
        (0..self.hashes).map(move |i| {
            let sum = u128::from(a) + u128::from(i) * u128::from(b);
            let x = (sum % (1 << 64)) as u64 % used;
            (x / 8, 1 << (x % 8))
        })
    }

    fn contains(&self, options: u64, item: &[u8]) -> bool {
        let mut places = self.places(options, item);
        places.all(|(at, bit)| self.byte(at) & bit != 0)
    }
}

impl Filter {
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
        Self { options, growth, layers: vec![Layer::new(capacity, first, arrays)] }
    }

    fn last(&mut self) -> &mut Layer {
        self.layers.last_mut().expect("filters begin with a layer")
    }

    /// Adds an item that is not there, if there is room.
    pub fn add(&mut self, item: &[u8]) {
        if self.contains(item) {
            return;
        }
        let options = self.options;
        if self.last().items == self.last().entries {
            if options & 8 != 0 {
                return;
            }
            self.grow();
        }
        let last = self.last();
        last.places(options, item).for_each(|(at, bit)| last.put(at, &[bit]));
        last.items += 1;
    }

    /// Adds a layer.
    pub fn grow(&mut self) {
        let (growth, last) = (self.growth, self.last());
        let layer = Layer::new(last.entries * growth, last.error_rate / 2.0, last.arrays);
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
                String(layer.array()),
                Unsigned(layer.items),
            ]
        });
        head.map(Unsigned).into_iter().chain(layers).collect()
    }

    /// The header, which SCANDUMP returns first.
    pub fn header(&self) -> Vec<u8> {
        let head = [self.items(), self.layers.len() as u64, self.options, self.growth];
        let layers = self.layers.iter().flat_map(|layer| {
            let (bytes, bits, n2) = (layer.num_bytes(), layer.stored_bits(), layer.n2);
            let [rate, per_item] = [layer.error_rate, layer.bits_per_item].map(f64::to_bits);
            let numbers = [bytes, bits, layer.items, rate, per_item];
            let rest = written([4, 8, 1], [layer.hashes, layer.entries, n2]);
            [written([8; 5], numbers), rest].concat()
        });
        written([8, 4, 4, 4], head).into_iter().chain(layers).collect()
    }

    /// What SCANDUMP returns after the header, in pieces of at most `len` bytes.
    pub fn pieces(&self, len: usize) -> Vec<(u64, Vec<u8>)> {
        let (mut end, mut pieces) = (1, Vec::new());
        for layer in &self.layers {
            for piece in layer.array().chunks(len) {
                end += piece.len() as u64;
                pieces.push((end, piece.to_vec()));
            }
        }
        pieces
    }

    /// From the fields of an encoding version.
    pub fn of_fields(version: u32, mut from: Stream<'_>) -> Option<Self> {
        must(version <= 4)?;
        let items = from.unsigned()?;
        let num_layers = from.unsigned()?;
        let options = if version >= 2 { from.unsigned()? } else { 0 };
        let growth = if version >= 4 { from.unsigned()? } else { 2 };
        let mut filter = Self { options, growth, layers: Vec::new() };
        for _ in 0..num_layers {
            let (entries, error_rate) = (from.unsigned()?, from.double()?);
            let (hashes, bits_per_item) = (from.unsigned()?, from.double()?);
            let (bits, n2) = match version {
                0 => ((entries as f64 * bits_per_item) as u64, 0),
                _ => (from.unsigned()?, from.unsigned()?),
            };
            let read =
                Description { entries, error_rate, hashes, bits_per_item, bits, n2, items: 0 };
            let mut layer = Layer::described(read)?;
            let array = from.string()?;
            let (least, most) = (layer.num_bytes(), 8 * layer.bits.div_ceil(64));
            must((least..=most).contains(&(array.len() as u64)))?;
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
            let layer = Layer::described(Description {
                error_rate: f64::from_bits(error_rate),
                bits_per_item: f64::from_bits(bits_per_item),
                hashes: field(4)?,
                entries: field(if wide { 8 } else { 4 })?,
                n2: field(1)?,
                bits,
                items,
            })?;
            must(bytes == layer.num_bytes())?;
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

impl Layers for Filter {
    fn descriptions(&self) -> Vec<Description> {
        self.layers.iter().map(Layer::description).collect()
    }

    fn set_bits(&self) -> u64 {
        let bytes = self.layers.iter().flat_map(|layer| layer.blocks.values().flatten());
        bytes.map(|byte| u64::from(byte.count_ones())).sum()
    }

    fn contains(&self, item: &[u8]) -> bool {
        let mut layers = self.layers.iter();
        layers.any(|layer| layer.contains(self.options, item))
    }
}
