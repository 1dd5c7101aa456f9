//! Sketches that RedisBloom wrote, with what it returned for them; and some in encoding version 1,
//! which come from this module, until there is a server that has it.

use super::*;
use splitbloom_test_dump::Dump;

/// The files, which say how they were made.
const GOLDEN: [&str; 11] = [
    include_str!("../golden/empty.txt"),
    include_str!("../golden/one-counter.txt"),
    include_str!("../golden/by-probability.txt"),
    include_str!("../golden/any-bytes.txt"),
    include_str!("../golden/saturated.txt"),
    include_str!("../golden/deep.txt"),
    include_str!("../golden/merged.txt"),
    include_str!("../golden/cells-of-1.txt"),
    include_str!("../golden/cells-of-2.txt"),
    include_str!("../golden/cells-of-4.txt"),
    include_str!("../golden/cells-of-8.txt"),
];

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

#[test]
fn what_was_written_is_read_and_written_again() {
    for text in GOLDEN {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let lines: Vec<_> = lines.filter_map(|line| line.split_once(' ')).collect();
        let value = |name| lines.iter().find(|line| line.0 == name).map(|line| line.1);
        let number = |name| value(name).map(|number| number.parse::<u64>().unwrap());
        let dump = Dump::parse(&bytes(value("dump").unwrap()));
        let (version, size) = match number("size") {
            None => (Version::Zero, CellSize::Four),
            Some(size) => (Version::One, CellSize::of(size).unwrap()),
        };
        assert_eq!(dump.version, u32::from(version == Version::One));
        let sketch = CountMinSketch::decode(version, &mut dump.fields.clone().into_iter()).unwrap();
        let shape = Shape::new(number("width").unwrap(), number("depth").unwrap(), size).unwrap();
        assert_eq!((sketch.shape(), Some(sketch.count(0))), (shape, number("counter")));
        let counts = lines.iter().filter(|line| line.0 == "count");
        let counts: Vec<_> = counts.map(|line| line.1.split_once(' ').unwrap()).collect();
        assert!(!counts.is_empty());
        for (count, item) in counts {
            assert_eq!(estimate(&sketch, &bytes(item)), count.parse::<u64>().unwrap(), "{item}");
        }
        let mut written = Vec::new();
        sketch.save_as(version, &mut written).unwrap();
        assert_eq!(written, dump.fields);
    }
}

/// Their bytes follow from the description alone.
#[test]
fn version_1_is_written_as_it_is_described() {
    let item = |n: i64| (format!("item:{n}"), 17 * n % 256);
    let bytes_of_one = (0..20).map(item).chain([("item:3".into(), -20), ("item:5".into(), -85)]);
    let named = |items: &[(&str, i64)]| -> Vec<(String, i64)> {
        items.iter().map(|(item, by)| ((*item).to_owned(), *by)).collect()
    };
    let made = [
        (Plain::new(9, 3, 1), bytes_of_one.collect()),
        (Plain::new(7, 2, 2), named(&[("x", 65_535), ("y", 1), ("x", -535), ("z", 300)])),
        (Plain::new(5, 2, 4), named(&[("a", u32::MAX.into()), ("b", 7)])),
        (
            Plain::new(4, 3, 8),
            named(&[("a", 9_223_372_036_854_775_000), ("b", 800), ("c", 8), ("a", -1)]),
        ),
    ];
    for (text, (mut twin, items)) in GOLDEN[7..].iter().zip(made) {
        for (item, by) in items {
            let _ = twin.increment(item.as_bytes(), by); // some do not fit
        }
        let dump = text.lines().find_map(|line| line.strip_prefix("dump ")).unwrap();
        assert_eq!(twin.fields(), Dump::parse(&bytes(dump)).fields);
    }
}

#[test]
fn our_increments_leave_the_bytes_that_redisblooms_leave() {
    let increments = |key: &str| -> (CountMinSketch, Vec<(Vec<u8>, u64)>) {
        match key {
            "one-counter" => (sketch(1, 1), vec![(b"x".into(), 1), (b"y".into(), 2)]),
            "by-probability" => {
                let (width, depth) = Shape::dimensions_for(0.05, 0.02);
                let shape = Shape::new(width, depth, CellSize::Four).unwrap();
                let item = |n: u64| (format!("item:{n}").into_bytes(), 7 * n + 1);
                (CountMinSketch::new(shape, None).unwrap(), (0..40).map(item).collect())
            }
            "any-bytes" => {
                let items: [&[u8]; 4] = [b"", b"\0", b"a\0b", b"a\0c"];
                let mut items: Vec<Vec<u8>> = items.map(Vec::from).into();
                items.extend([(0..=255).collect(), vec![255; 33]]);
                (sketch(16, 4), items.into_iter().zip(1..).collect())
            }
            "saturated" => {
                let max = i64::MAX as u64;
                let items = [(b"x", (1 << 32) - 2), (b"x", 1), (b"y", max), (b"y", max), (b"z", 5)];
                (sketch(7, 3), items.map(|(item, increment)| (item.to_vec(), increment)).into())
            }
            _ => {
                let item = |n: u64| (format!("item:{n}").into_bytes(), 1);
                (sketch(3, 70), (0..40).map(item).collect())
            }
        }
    };
    let keys = ["one-counter", "by-probability", "any-bytes", "saturated", "deep"];
    for (text, key) in GOLDEN[1..6].iter().zip(keys) {
        let (mut ours, items) = increments(key);
        let items: Vec<_> = items.into_iter().map(|(item, by)| (item, by as i64)).collect();
        let counted = increment_many(&mut ours, &items, OutOfRange::Saturate);
        assert!(counted.iter().all(Result::is_ok));
        let dump = text.lines().find_map(|line| line.strip_prefix("dump ")).unwrap();
        let mut expected = Dump::parse(&bytes(dump)).fields;
        if key == "saturated" {
            // RedisBloom's sum of increments began again at 0.
            assert_eq!(expected[2], Field::Unsigned(1 << 32 | 2));
            expected[2] = Field::Unsigned(MAX_COUNT);
        }
        assert_eq!(fields(&ours), expected, "{key}");
    }
}
