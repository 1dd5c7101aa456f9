//! Filters that RedisBloom wrote, with what it answered for them.

use splitbloom_foundation::fields::Field;
use splitbloom_test_dump::Dump;

/// The files, which say how they were made.
const GOLDEN: [&str; 12] = [
    include_str!("../golden/empty.txt"),
    include_str!("../golden/two-buckets.txt"),
    include_str!("../golden/layers-of-one-size.txt"),
    include_str!("../golden/growing.txt"),
    include_str!("../golden/fourfold.txt"),
    include_str!("../golden/fixed.txt"),
    include_str!("../golden/large-buckets.txt"),
    include_str!("../golden/version-1.txt"),
    include_str!("../golden/version-2.txt"),
    include_str!("../golden/version-3.txt"),
    include_str!("../golden/buckets-of-300.txt"),
    include_str!("../golden/no-iterations.txt"),
];

pub struct Golden {
    lines: Vec<(&'static str, &'static str)>,
}

impl Golden {
    pub fn all() -> impl Iterator<Item = Self> {
        GOLDEN.into_iter().map(|text| Self {
            lines: text
                .lines()
                .filter(|line| !line.starts_with('#'))
                .filter_map(|line| line.split_once(' '))
                .collect(),
        })
    }

    fn values(&self, name: &'static str) -> impl Iterator<Item = &'static str> + '_ {
        let lines = self.lines.iter().filter(move |line| line.0 == name);
        lines.map(|line| line.1)
    }

    pub fn number(&self, name: &'static str) -> u64 {
        self.values(name).next().unwrap().parse().unwrap()
    }

    /// The fields of the value in its dump.
    pub fn fields(&self) -> Vec<Field> {
        let dump = bytes(self.values("dump").next().unwrap());
        Dump::parse(&dump).fields
    }

    /// What CF.SCANDUMP answered.
    pub fn pieces(&self) -> Vec<(u64, Vec<u8>)> {
        let pieces = self.values("piece");
        let pieces = pieces.map(|piece| piece.split_once(' ').unwrap());
        let pieces = pieces.map(|(iterator, hex)| (iterator.parse().unwrap(), bytes(hex)));
        pieces.collect()
    }

    /// Items, and what CF.COUNT answered for them.
    pub fn counts(&self) -> Vec<(String, u64)> {
        let of_kind = |kind: &'static str| {
            let counts = self.values(kind).next().unwrap().split(' ').enumerate();
            counts.map(move |(number, count)| (format!("{kind}:{number}"), count.parse().unwrap()))
        };
        of_kind("item").chain(of_kind("stranger")).collect()
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let digits = digits.map(|two| std::str::from_utf8(two).unwrap());
    digits.map(|two| u8::from_str_radix(two, 16).unwrap()).collect()
}
