//! Sketches that RedisBloom wrote, with what it returned for them.

use super::*;
use splitbloom_test_dump::Dump;

/// The files, which say how they were made.
const GOLDEN: [&str; 7] = [
    include_str!("../golden/empty.txt"),
    include_str!("../golden/one-counter.txt"),
    include_str!("../golden/by-probability.txt"),
    include_str!("../golden/any-bytes.txt"),
    include_str!("../golden/saturated.txt"),
    include_str!("../golden/deep.txt"),
    include_str!("../golden/merged.txt"),
];

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

#[test]
fn what_redisbloom_wrote_is_read_and_written_again() {
    for text in GOLDEN {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let lines: Vec<_> = lines.filter_map(|line| line.split_once(' ')).collect();
        let value = |name| lines.iter().find(|line| line.0 == name).unwrap().1;
        let number = |name| value(name).parse::<u64>().unwrap();
        let dump = Dump::parse(&bytes(value("dump")));
        assert_eq!(dump.version, 0);
        let mut saved = dump.fields.clone().into_iter();
        let sketch = Table::decode(Version::Zero, &mut saved).unwrap();
        let shape = Shape::new(number("width"), number("depth"), CellSize::Four).unwrap();
        assert_eq!((sketch.shape(), sketch.count()), (shape, number("counter")));
        let counts = lines.iter().filter(|line| line.0 == "count");
        let counts: Vec<_> = counts.map(|line| line.1.split_once(' ').unwrap()).collect();
        assert!(!counts.is_empty());
        for (count, item) in counts {
            assert_eq!(sketch.estimate(&bytes(item)), count.parse::<u64>().unwrap(), "{item}");
        }
        assert_eq!(fields(&sketch), dump.fields);
    }
}

#[test]
fn our_increments_leave_the_bytes_that_redisblooms_leave() {
    let increments = |key: &str| -> (Table, Vec<(Vec<u8>, u64)>) {
        match key {
            "one-counter" => (sketch(1, 1), vec![(b"x".into(), 1), (b"y".into(), 2)]),
            "by-probability" => {
                let (width, depth) = Shape::dimensions_for(0.05, 0.02);
                let shape = Shape::new(width, depth, CellSize::Four).unwrap();
                let item = |n: u64| (format!("item:{n}").into_bytes(), 7 * n + 1);
                (Table::new(shape).unwrap(), (0..40).map(item).collect())
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
        for (item, by) in items {
            ours.increment(&item, by as i64, OutOfRange::Saturate).unwrap().unwrap();
        }
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
