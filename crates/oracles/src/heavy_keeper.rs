//! Top-k sketches, plain and with windows, written from the formats' description and the paper
//! alone: buckets in a map, a list that is scanned, powers that are multiplied out.

use super::murmur::short_murmur;
use super::slices::Slices;
use super::{must, number};
use splitbloom_foundation::fields::Fields;
use std::collections::BTreeMap;

/// The state of SplitMix64.
#[derive(Clone, Debug)]
pub struct Generator(pub u64);

impl Generator {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 * (-53f64).exp2()
    }
}

/// A place of the list.
#[derive(Clone, Debug, Default)]
pub struct Place {
    pub count: u64,
    pub item: Option<Vec<u8>>,
    /// Whether queries find it: its fingerprint is that of its item.
    found: bool,
}

/// Parameters.
#[derive(Clone, Debug)]
pub struct Shape {
    pub k: u64,
    pub width: u64,
    pub depth: u64,
    pub decay: f64,
}

/// Buckets and list.
#[derive(Clone, Debug)]
pub struct Plain {
    pub shape: Shape,
    /// By number, over all rows: the fingerprint of the owner, and the count. Buckets where both
    /// are 0 are left out.
    buckets: BTreeMap<u64, (u64, u64)>,
    pub places: Vec<Place>,
}

fn fingerprint(item: &[u8]) -> u64 {
    short_murmur(item, 1919)
}

impl Shape {
    fn of_fields(from: &mut impl Fields) -> Option<Self> {
        let (k, width, depth) = (from.unsigned()?, from.unsigned()?, from.unsigned()?);
        let decay = from.double()?;
        let is_good = [k, width, depth].iter().all(|n| (1..1 << 32).contains(n));
        (is_good && (0.0..=1.0).contains(&decay)).then_some(Self { k, width, depth, decay })
    }

    /// The probability that a bucket of `count` loses one: each further one is a product.
    fn power(&self, count: u64) -> f64 {
        match count {
            0..256 => (0..count).fold(1.0, |power, _| power * self.decay),
            _ => self.squared(count),
        }
    }

    /// The same as a product of the squares for which `count` has a binary digit 1.
    fn squared(&self, count: u64) -> f64 {
        let mut squares = vec![self.decay];
        squares.extend((1..32).scan(self.decay, |square, _| {
            *square *= *square;
            Some(*square)
        }));
        let digits = squares.iter().enumerate().filter(|(digit, _)| count >> digit & 1 == 1);
        digits.fold(1.0, |power, (_, square)| power * square)
    }
}

impl Plain {
    /// An empty sketch.
    pub fn new(shape: Shape) -> Self {
        let places = vec![Place::default(); shape.k as usize];
        Self { shape, buckets: BTreeMap::new(), places }
    }

    /// Buckets, list, and the first pointer.
    fn of_fields(shape: Shape, from: &mut impl Fields) -> Option<(Self, u64)> {
        let mut plain = Self { shape, buckets: BTreeMap::new(), places: Vec::new() };
        let buckets = from.string()?;
        let len = u128::from(plain.shape.width) * u128::from(plain.shape.depth) * 8;
        must(buckets.as_ref().len() as u128 == len)?;
        for (place, bucket) in (0..).zip(buckets.as_ref().chunks(8)) {
            let bucket = (number(&bucket[..4]), number(&bucket[4..]));
            if bucket != (0, 0) {
                plain.buckets.insert(place, bucket);
            }
        }
        let places = from.string()?;
        must(places.as_ref().len() as u128 == u128::from(plain.shape.k) * 24)?;
        for place in places.as_ref().chunks(24) {
            let (fingerprint, count) = (number(&place[..4]), number(&place[16..20]));
            let item = from.string()?;
            let item = item.as_ref().strip_suffix(&[0])?;
            let is_none = item.is_empty() && fingerprint == 0 && count == 0;
            let found = !is_none && fingerprint == self::fingerprint(item);
            must(!found || !plain.lists(item))?;
            let item = (!is_none).then(|| item.to_vec());
            plain.places.push(Place { count, item, found });
        }
        Some((plain, number(&places.as_ref()[8..16])))
    }

    fn cells(&self, item: &[u8]) -> Vec<u64> {
        let Shape { width, depth, .. } = self.shape;
        (0..depth).map(|row| row * width + short_murmur(item, row) % width).collect()
    }

    /// The counts of the buckets that an item owns.
    fn owned(&self, item: &[u8]) -> Vec<u64> {
        let cells = self.cells(item).into_iter();
        let buckets = cells.map(|cell| self.buckets.get(&cell).copied().unwrap_or((0, 0)));
        buckets.filter(|bucket| bucket.0 == fingerprint(item)).map(|bucket| bucket.1).collect()
    }

    fn place_of(&self, item: &[u8]) -> Option<usize> {
        let mut places = self.places.iter();
        places.position(|place| place.found && place.item.as_deref() == Some(item))
    }

    pub fn lists(&self, item: &[u8]) -> bool {
        self.place_of(item).is_some()
    }

    pub fn count(&self, item: &[u8]) -> u64 {
        let least = if self.lists(item) { self.places[0].count } else { 0 };
        let owned = self.owned(item).into_iter();
        owned.filter(|count| *count >= least).max().unwrap_or(0)
    }

    pub fn list(&self) -> Vec<(Vec<u8>, u64)> {
        let places = self.places.iter().filter(|place| place.count > 0);
        let items = places.filter_map(|place| Some((place.item.clone()?, place.count)));
        let mut list: Vec<_> = items.collect();
        list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        list
    }

    /// Adds one unit of an item. Returns the item that has left the list.
    pub fn add(&mut self, item: &[u8], generator: &mut Generator) -> Option<Vec<u8>> {
        let shape = self.shape.clone();
        self.add_units(item, 1, |count| {
            // If a hit is that rare, nothing is drawn.
            let is_stable = shape.squared(count) < (-53f64).exp2();
            let is_hit = !is_stable && generator.draw() < shape.power(count);
            (count - u64::from(is_hit), 1)
        })
    }

    /// Adds units of an item. `wear` returns what they leave of a count of another item, and if
    /// that is 0, how many units are left.
    pub fn add_units(
        &mut self,
        item: &[u8],
        units: u64,
        mut wear: impl FnMut(u64) -> (u64, u64),
    ) -> Option<Vec<u8>> {
        let own = fingerprint(item);
        let mut highest = 0;
        for cell in self.cells(item) {
            let (owner, count) = self.buckets.get(&cell).copied().unwrap_or((own, 0));
            let bucket = if owner == own || count == 0 {
                (own, (count + units).min(u32::MAX.into()))
            } else {
                match wear(count) {
                    (0, units) => (own, units),
                    (left, _) => (owner, left),
                }
            };
            self.buckets.insert(cell, bucket);
            if bucket.0 == own {
                highest = highest.max(bucket.1);
            }
        }
        if highest < self.places[0].count {
            return None;
        }
        if let Some(place) = self.place_of(item) {
            self.places[place].count = self.places[place].count.max(highest);
            self.sift(place);
            return None;
        }
        let new = Place { count: highest, item: Some(item.to_vec()), found: true };
        let left = std::mem::replace(&mut self.places[0], new);
        self.sift(0);
        left.item
    }

    /// Swaps a place with the lower of those below it: in the first step also with an equal one.
    fn sift(&mut self, from: usize) {
        let mut place = from;
        loop {
            let below = [2 * place + 1, 2 * place + 2];
            let below = below.into_iter().filter(|below| *below < self.places.len());
            let Some(lowest) = below.min_by_key(|below| self.places[*below].count) else { return };
            let (above, below) = (self.places[place].count, self.places[lowest].count);
            if below > above || below == above && place != from {
                return;
            }
            self.places.swap(place, lowest);
            place = lowest;
        }
    }
}

/// One without a window.
#[derive(Clone, Debug)]
pub struct PlainTopK {
    pub plain: Plain,
    pub generator: Generator,
}

impl PlainTopK {
    pub fn of_fields(from: &mut impl Fields) -> Option<Self> {
        let (plain, state) = Plain::of_fields(Shape::of_fields(from)?, from)?;
        Some(Self { plain, generator: Generator(state) })
    }
}

/// One with a window.
#[derive(Clone, Debug)]
pub struct PlainWindow {
    pub slices: Slices<Plain>,
    pub generator: Generator,
    shape: Shape,
}

impl PlainWindow {
    pub fn of_fields(from: &mut impl Fields) -> Option<Self> {
        let window = Slices::new(from.unsigned()?, from.unsigned()?, from.unsigned()?)?;
        let generator = Generator(from.unsigned()?);
        let shape = Shape::of_fields(from)?;
        // Only splitbloom writes these, so the limits are those of new ones.
        let slices = window.slices;
        let buckets = (shape.width * shape.depth).saturating_mul(slices + 1);
        must(buckets <= 1 << 25 && shape.depth <= 256 && shape.decay != 0.0)?;
        let lookups = shape.k * (slices + 1) * (slices + 1);
        must(lookups.saturating_mul(shape.depth + 2) <= 1 << 22)?;
        let slices = window.read(from, |from| Some(Plain::of_fields(shape.clone(), from)?.0))?;
        Some(Self { slices, generator, shape })
    }

    pub fn count(&self, item: &[u8], now: u64) -> u64 {
        let counts = self.slices.live(now).map(|plain| {
            let listed = plain.place_of(item).map(|place| plain.places[place].count);
            plain.owned(item).into_iter().chain(listed).max().unwrap_or(0)
        });
        counts.sum()
    }

    pub fn list(&self, now: u64) -> Vec<(Vec<u8>, u64)> {
        let items = self.slices.live(now).flat_map(|plain| &plain.places);
        let mut sums: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for item in items.filter_map(|place| place.item.as_ref()) {
            sums.insert(item.clone(), self.count(item, now));
        }
        let mut list: Vec<_> = sums.into_iter().filter(|(_, count)| *count > 0).collect();
        list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        list.truncate(self.shape.k as usize);
        list
    }

    pub fn add(&mut self, item: &[u8], now: u64) -> Option<Vec<u8>> {
        let plain = self.slices.current(now, || Plain::new(self.shape.clone()));
        plain.add(item, &mut self.generator)
    }
}
