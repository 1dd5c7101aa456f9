//! A naive twin: buckets in a map, a list that is scanned, each item on its own. What an item wears
//! off another one is drawn as the sketch draws it.

use super::decay::Decay;
use super::*;
use proptest::prelude::*;
use splitbloom_oracles::heavy_keeper::{self, Plain};

struct Twin {
    plain: Plain,
    decay: Decay,
    random: Random,
}

impl Twin {
    fn new(Shape { k, width, depth, decay }: Shape) -> Self {
        let [k, width, depth] = [k, width, depth].map(u64::from);
        let plain = Plain::new(heavy_keeper::Shape { k, width, depth, decay });
        Self { plain, decay: Decay::new(decay).unwrap(), random: Random(0) }
    }

    fn add(&mut self, item: &[u8], units: u32) -> Option<Vec<u8>> {
        let Self { plain, decay, random } = self;
        plain.add_units(item, units.into(), |count| {
            let (left, own) = match (count as u32, units) {
                (count, 1) => (count - u32::from(decay.hits(count, random)), 1),
                (count, units) => decay.wear(count, units, random),
            };
            (left.into(), own.into())
        })
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
        let mut topk = TopK::new(shape, None).unwrap();
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
            prop_assert_eq!(list(&topk, 0), twin.plain.list());
        }
        for number in 0..45 {
            let item = item(number);
            prop_assert_eq!(count(&topk, &item, 0), twin.plain.count(&item));
            prop_assert_eq!(query(&topk, &item, 0), twin.plain.lists(&item));
        }
        prop_assert_eq!(decode(&topk).digest(), topk.digest());
    }
}
