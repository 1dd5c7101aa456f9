//! Values that RedisBloom wrote, with what it answered for them.

use super::*;
use splitbloom_test_dump::Dump;

/// The files, which say how they were made.
const GOLDEN: [&str; 7] = [
    include_str!("../golden/empty.txt"),
    include_str!("../golden/defaults.txt"),
    include_str!("../golden/wide.txt"),
    include_str!("../golden/one-bucket.txt"),
    include_str!("../golden/without-decay.txt"),
    include_str!("../golden/increments.txt"),
    include_str!("../golden/any-bytes.txt"),
];

/// The lines of a kind, without it.
fn lines<'a>(text: &'a str, kind: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    lines.filter(move |words| words[0] == kind).map(|words| words[1..].to_vec())
}

/// Bytes in hexadecimal; none are a hyphen.
fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).filter(|_| hex != "-");
    let digits = digits.map(|two| std::str::from_utf8(two).unwrap());
    digits.map(|two| u8::from_str_radix(two, 16).unwrap()).collect()
}

fn dump(text: &str) -> Dump {
    Dump::parse(&bytes(lines(text, "dump").next().unwrap()[0]))
}

pub fn fields_of_all() -> impl Iterator<Item = Vec<Field>> {
    GOLDEN.iter().map(|text| dump(text).fields)
}

#[test]
fn what_redisbloom_wrote_answers_as_in_redisbloom() {
    for text in GOLDEN {
        let Dump { version, fields } = dump(text);
        assert_eq!(version, 0);
        let topk = TopK::decode(&mut fields.into_iter()).unwrap();
        let number = |kind| lines(text, kind).next().unwrap()[0].to_string();
        let Shape { k, width, depth, decay } = topk.shape();
        let shape = [k.to_string(), width.to_string(), depth.to_string(), decay.to_string()];
        assert_eq!(shape, ["k", "width", "depth", "decay"].map(number));
        let listed: Vec<(Vec<u8>, u64)> = lines(text, "listed")
            .map(|words| (bytes(words[0]), words[1].parse().unwrap()))
            .collect();
        assert_eq!(list(&topk, 0), listed);
        let mut asked = 0;
        for words in lines(text, "asked") {
            let item = bytes(words[0]);
            let found = [u64::from(query(&topk, &item, 0)), count(&topk, &item, 0)];
            assert_eq!(found.map(|number| number.to_string()), words[1..]);
            asked += 1;
        }
        assert!(asked >= 3);
    }
}

/// A list without the pointers, which are RedisBloom's own.
fn without_pointers(list: &Field) -> Vec<u8> {
    let Field::String(list) = list else { panic!("no string") };
    let mut list = list.clone();
    list.chunks_mut(24).for_each(|place| place[8..16].fill(0));
    list
}

#[test]
fn what_redisbloom_wrote_is_written_again_except_for_its_pointers() {
    for text in &GOLDEN[..6] {
        let original = dump(text).fields;
        let topk = TopK::decode(&mut original.clone().into_iter()).unwrap();
        let written = fields(&topk);
        assert_eq!(written.len(), original.len());
        assert_eq!(written[..5], original[..5]);
        assert_eq!(without_pointers(&written[5]), without_pointers(&original[5]));
        assert_eq!(written[6..], original[6..]);
        assert_eq!(decode(&topk).digest(), topk.digest());
    }
}

#[test]
fn the_bytes_of_a_window_are_those_of_every_release() {
    let mut topk =
        TopK::new(Shape::new(2, 3, 1, 0.9).unwrap(), Some(Span::new(60, 3).unwrap())).unwrap();
    add(&mut topk, b"a\0b", 5, 1_700_000_000_000);
    for item in [b"x", b"y", b"z"] {
        add(&mut topk, item, 2, 1_700_000_030_000);
    }
    let string = |hex: &str| Field::String(bytes(hex));
    let empty = "0000000000000000";
    let mut expected = [60, 3, 1_700_000_030_000].map(Field::Unsigned).to_vec();
    // SplitMix64 after two numbers: 2 × 0x9e3779b97f4a7c15.
    expected.push(Field::Unsigned(0x3c6e_f372_fe94_f82a));
    expected.extend([2, 3, 1].map(Field::Unsigned));
    expected.push(Field::Double(0.9));
    // Slices are 20 s. In the two oldest nothing has happened.
    expected.extend([0, 0, 1].map(Field::Unsigned));
    expected.push(string(&format!("fbfc696305000000{empty}{empty}")));
    let item = "fbfc6963030000000000000000000000" // fingerprint, length, pointer
        .to_string()
        + "0500000000000000"; // count
    expected.push(string(&format!("{empty}{empty}{empty}{item}")));
    expected.extend(["00", "61006200"].map(string));
    expected.push(Field::Unsigned(1));
    expected.push(string(&format!("{empty}3441729202000000a9f07d9601000000")));
    let x = "34417292010000000000000000000000".to_string() + "0200000000000000";
    let y = "a9f07d96010000000000000000000000".to_string() + "0200000000000000";
    expected.push(string(&format!("{x}{y}")));
    expected.extend(["7800", "7900"].map(string));
    assert_eq!(fields(&topk), expected);
}
