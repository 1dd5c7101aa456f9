//! Bytes that nobody wrote: they are refused, or are a value that works.

use super::*;
use crate::error::DecodeError;
use proptest::prelude::*;

/// What any value must bear.
fn use_it(mut topk: TopK) {
    let before = topk.digest();
    assert_eq!(decode(&topk).digest(), before);
    let now = topk.latest();
    let len = list(&topk, now).len();
    assert!(len <= topk.shape().k() as usize);
    for item in [&b"item:1"[..], b"item:2", b"", b"a\0b"] {
        query(&topk, item, now);
        count(&topk, item, now);
        add(&mut topk, item, 3, now);
        add(&mut topk, item, MAX_UNITS, now + 1_000);
    }
    let copy = topk.try_clone().unwrap();
    assert_eq!((copy.digest(), decode(&topk).digest()), (topk.digest(), topk.digest()));
}

fn windowed() -> TopK {
    let mut topk = TopK::new(shape(3, 4, 2), Some(Span::new(10, 4).unwrap())).unwrap();
    for (item, time) in [(&b"item:1"[..], 100_000), (b"item:2", 104_000), (b"item:1", 105_000)] {
        add(&mut topk, item, 2, time);
    }
    topk
}

#[test]
fn values_that_end_early_are_refused() {
    for fields in golden::fields_of_all() {
        for len in 0..fields.len() {
            let mut short = Vec::from(&fields[..len]).into_iter();
            assert_eq!(TopK::decode(&mut short).err(), Some(DecodeError::Length));
        }
    }
    let fields = fields(&windowed());
    for len in 0..fields.len() {
        let mut short = Vec::from(&fields[..len]).into_iter();
        assert_eq!(TopK::decode_windowed(&mut short).err(), Some(DecodeError::Length));
    }
}

/// The values of a field at its bounds and around.
fn forgeries(field: &Field) -> Vec<Field> {
    match field {
        Field::Unsigned(value) => {
            let near = [value.wrapping_sub(1), value + 1, 0, 1, 2];
            let far = [u32::MAX.into(), 1 << 32, 1 << 53, (1 << 53) - 1, u64::MAX];
            near.into_iter().chain(far).map(Field::Unsigned).collect()
        }
        Field::Double(_) => {
            [0.0, 1.0, -0.0, -1.0, 1.1, f64::NAN, f64::INFINITY, 1e-300].map(Field::Double).to_vec()
        }
        Field::String(bytes) => {
            let shorter = bytes[..bytes.len() - 1].to_vec();
            let longer = [&bytes[..], &[0]].concat();
            [vec![], shorter, longer, vec![0xff; bytes.len()], vec![0; bytes.len()]]
                .map(Field::String)
                .to_vec()
        }
        Field::Signed(_) => Vec::new(),
    }
}

#[test]
fn every_field_at_its_bounds_is_refused_or_works() {
    let (mut refused, mut works) = (0, 0);
    let mut try_all = |fields: Vec<Field>, read: fn(&mut std::vec::IntoIter<Field>) -> _| {
        for n in 0..fields.len() {
            for forged in forgeries(&fields[n]) {
                let mut fields = fields.clone();
                fields[n] = forged;
                match read(&mut fields.into_iter()) {
                    Ok(topk) => {
                        use_it(topk);
                        works += 1;
                    }
                    Err(error) => {
                        assert_ne!(error, DecodeError::OutOfMemory);
                        refused += 1;
                    }
                }
            }
        }
    };
    golden::fields_of_all().for_each(|fields| try_all(fields, TopK::decode));
    try_all(fields(&windowed()), TopK::decode_windowed);
    assert!(refused > 500 && works > 100, "{refused} {works}");
}

#[test]
fn a_window_without_slices_is_bounded_by_the_limits_of_new_ones() {
    let span = Span::new(60, 2).unwrap();
    let empty = fields(&TopK::new(shape(3, 4, 2), Some(span)).unwrap());
    use_it(TopK::decode_windowed(&mut empty.clone().into_iter()).unwrap());
    let most = u32::MAX;
    for (k, width, depth) in [
        (1, most, most),
        (1, 3_037_000_500, 3_037_000_500),
        (1, 1, most),
        (1, 1, 257),
        (1, most, 1),
        (most, 1, 1),
        (1 << 20, 1, 1), // in each of three slices
        (1, 1 << 25, 1),
        (1_807, 1, 256), // too many reads
    ] {
        let mut forged = empty.clone();
        forged[4..7]
            .clone_from_slice(&[k, width, depth].map(|number| Field::Unsigned(number.into())));
        let error = TopK::decode_windowed(&mut forged.into_iter()).err();
        assert!(matches!(error, Some(DecodeError::Field(_))), "{k} {width} {depth}: {error:?}");
    }
    // The largest that there is saves nothing but its parameters.
    let largest = Shape::new(1_806, 43_690, 256, 0.9).unwrap().in_window(span).unwrap();
    let largest = TopK::new(largest, Some(span)).unwrap();
    assert_eq!(fields(&largest).len(), empty.len());
}

#[test]
fn a_list_without_a_window_has_a_largest_length_and_number_of_buckets() {
    let saved = |k, width, depth| Shape::saved(k, width, depth, 0.9);
    assert!(saved(1 << 27, 1, u32::MAX).is_ok());
    assert_eq!(saved(1, u32::MAX, 1 << 29), Err(ShapeError::Buckets));
    assert_eq!(saved((1 << 27) + 1, 1, 1), Err(ShapeError::K));
}

#[test]
fn an_item_that_queries_find_comes_once() {
    let mut topk = whole(2, 10, 1);
    add(&mut topk, b"a", 2, 0);
    add(&mut topk, b"b", 3, 0);
    let mut saved = fields(&topk);
    let place_of = |item: &[u8]| [rules::fingerprint(item), 1, 0, 0, 3, 0].map(u32::to_le_bytes);
    saved[5] = Field::String([place_of(b"a"), place_of(b"a")].concat().concat());
    saved[6] = Field::String(b"a\0".to_vec());
    saved[7] = saved[6].clone();
    let error = TopK::decode(&mut saved.clone().into_iter()).err();
    assert_eq!(error, Some(DecodeError::Field("item that comes twice")));
    // As RedisBloom has cut it.
    saved[5] = Field::String([place_of(b"a"), place_of(b"a\0b")].concat().concat());
    use_it(TopK::decode(&mut saved.into_iter()).unwrap());
}

#[test]
fn a_hundred_thousand_equal_items_load_at_once_and_work() {
    const K: u32 = 100_000;
    // Those that RedisBloom has cut differ in their fingerprints; what nobody wrote need not.
    for differ in [0, 1] {
        let mut fields = [K, 1, 1].map(|number| Field::Unsigned(number.into())).to_vec();
        fields.push(Field::Double(0.9));
        fields.push(Field::String(vec![0; 8]));
        let place = |n: u32| [1 + n * differ, 1, 0, 0, 7, 0].map(u32::to_le_bytes).concat();
        fields.push(Field::String((0..K).flat_map(place).collect()));
        fields.extend((0..K).map(|_| Field::String(b"x\0".to_vec())));
        let topk = TopK::decode(&mut fields.into_iter()).unwrap();
        assert_eq!(list(&topk, 0).len(), K as usize);
        use_it(topk);
    }
}

proptest! {
    #[test]
    fn mutated_strings_are_refused_or_work(
        which in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        for (fields, is_windowed) in golden::fields_of_all()
            .map(|fields| (fields, false))
            .chain([(fields(&windowed()), true)])
        {
            let mut fields = fields;
            let which = which.index(fields.len());
            if let Field::String(bytes) = &mut fields[which] {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            let mut fields = fields.into_iter();
            let read = match is_windowed {
                false => TopK::decode(&mut fields),
                true => TopK::decode_windowed(&mut fields),
            };
            if let Ok(topk) = read {
                use_it(topk);
            }
        }
    }
}
