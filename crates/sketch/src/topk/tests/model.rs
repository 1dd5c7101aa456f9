//! A naive twin: buckets in a map, a list that is scanned, each item on its own.

use super::decay::Decay;
use super::*;
use proptest::prelude::*;
use splitbloom_foundation::murmur::murmur32;
use std::collections::HashMap;

struct Twin {
    shape: Shape,
    decay: Decay,
    random: Random,
    /// By row and column: fingerprint and count.
    buckets: HashMap<(u32, u32), (u32, u32)>,
    /// A heap, as RedisBloom arranges it: counts and items.
    heap: Vec<(u32, Option<Vec<u8>>)>,
}

impl Twin {
    fn new(shape: Shape) -> Self {
        let decay = Decay::new(shape.decay).unwrap();
        let heap = vec![(0, None); shape.k as usize];
        Self { shape, decay, random: Random(0), buckets: HashMap::new(), heap }
    }

    fn buckets_of(&self, item: &[u8]) -> Vec<(u32, u32)> {
        let column = |row| murmur32(item, row) % self.shape.width;
        (0..self.shape.depth).map(|row| (row, column(row))).collect()
    }

    fn add(&mut self, item: &[u8], units: u32) -> Option<Vec<u8>> {
        let fingerprint = murmur32(item, 1919);
        let mut highest = 0;
        for bucket in self.buckets_of(item) {
            let (owner, count) = self.buckets.entry(bucket).or_insert((fingerprint, 0));
            if *owner == fingerprint || *count == 0 {
                (*owner, *count) = (fingerprint, *count + units);
            } else {
                let (left, own) = match units {
                    1 => (*count - u32::from(self.decay.hits(*count, &mut self.random)), 1),
                    _ => self.decay.wear(*count, units, &mut self.random),
                };
                (*owner, *count) = if left > 0 { (*owner, left) } else { (fingerprint, own) };
            }
            if *owner == fingerprint {
                highest = highest.max(*count);
            }
        }
        if highest < self.heap[0].0 {
            return None;
        }
        let place = self.heap.iter().position(|(_, other)| other.as_deref() == Some(item));
        let left = match place {
            Some(place) => {
                self.heap[place].0 = self.heap[place].0.max(highest);
                None
            }
            None => std::mem::replace(&mut self.heap[0], (highest, Some(item.to_vec()))).1,
        };
        let place = place.unwrap_or(0);
        self.sift(place);
        left
    }

    fn sift(&mut self, mut place: usize) {
        let mut is_first = true;
        while 2 * place + 1 < self.heap.len() {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let is_right = right < self.heap.len() && self.heap[right].0 < self.heap[left].0;
            let child = if is_right { right } else { left };
            let (above, below) = (self.heap[place].0, self.heap[child].0);
            if below > above || below == above && !is_first {
                break;
            }
            self.heap.swap(place, child);
            (place, is_first) = (child, false);
        }
    }

    fn count(&self, item: &[u8]) -> u64 {
        let owned = self.buckets_of(item).into_iter().filter_map(|bucket| {
            let (owner, count) = self.buckets.get(&bucket)?;
            (*owner == murmur32(item, 1919)).then_some(*count)
        });
        let is_listed = self.heap.iter().any(|(_, other)| other.as_deref() == Some(item));
        let least = if is_listed { self.heap[0].0 } else { 0 };
        owned.filter(|count| *count >= least).max().unwrap_or(0).into()
    }

    fn list(&self) -> Vec<(Vec<u8>, u64)> {
        let items = self.heap.iter().filter(|(count, _)| *count > 0);
        let items = items.filter_map(|(count, item)| Some((item.clone()?, u64::from(*count))));
        let mut list: Vec<_> = items.collect();
        list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        list
    }
}

proptest! {
    #[test]
    fn a_topk_is_its_naive_twin(
        (k, width, depth) in (1..12_u32, 1..12_u32, 1..11_u32),
        decay in prop_oneof![Just(0.9), Just(0.5), Just(1.0), Just(0.999)],
        steps in prop::collection::vec(
            (0..40_u16, prop_oneof![8 => Just(1_u32), 1 => 0..5_u32, 1 => 0..=MAX_UNITS]),
            0..300,
        ),
        batch in 1..40_usize,
    ) {
        let shape = Shape::new(k, width, depth, decay).unwrap();
        let mut topk = TopK::new(shape).unwrap();
        let mut twin = Twin::new(shape);
        let item = |number: u16| number.to_be_bytes()[usize::from(number % 2)..].to_vec();
        let steps: Vec<(Vec<u8>, u32)> =
            steps.into_iter().map(|(number, units)| (item(number), units)).collect();
        for steps in steps.chunks(batch) {
            let mut answers = Answers::default();
            let items = steps.iter().map(|(item, units)| (&**item, *units));
            topk.open(0, drop).unwrap().add_many(items, &mut answers).unwrap();
            let left: Vec<_> = answers.iter().map(|item| item.map(<[u8]>::to_vec)).collect();
            let expected: Vec<_> =
                steps.iter().map(|(item, units)| twin.add(item, *units)).collect();
            prop_assert_eq!(left, expected);
            prop_assert_eq!(list(&topk, 0), twin.list());
        }
        for number in 0..45 {
            let item = item(number);
            prop_assert_eq!(count(&topk, &item, 0), twin.count(&item));
            let is_in = twin.heap.iter().any(|(_, other)| other.as_deref() == Some(&*item));
            prop_assert_eq!(query(&topk, &item, 0), is_in);
        }
        prop_assert_eq!(decode(&topk).digest(), topk.digest());
    }
}
