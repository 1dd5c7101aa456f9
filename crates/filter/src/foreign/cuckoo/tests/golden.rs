//! Filters that RedisBloom wrote, with what it answered for them.

use crate::foreign::rdb::Fields;
use std::collections::VecDeque;

/// The files, which say how they were made.
const GOLDEN: [&str; 10] = [
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
    pub fn fields(&self) -> Recorded {
        let dump = bytes(self.values("dump").next().unwrap());
        let mut rest = &dump[..];
        let mut fields = VecDeque::new();
        let head = take(&mut rest, 10);
        assert_eq!((head[0], head[1]), (7, 0x81), "a module's value");
        loop {
            match take(&mut rest, 1)[0] {
                0 => break,
                2 => fields.push_back(Field::Unsigned(length(&mut rest) as u64)),
                5 => {
                    let len = length(&mut rest);
                    fields.push_back(Field::String(take(&mut rest, len).to_vec()));
                }
                other => panic!("{other} is the kind of no field here"),
            }
        }
        assert_eq!(rest.len(), 10, "RDB version and checksum");
        Recorded(fields)
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

fn take<'a>(rest: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (taken, after) = rest.split_at(len);
    *rest = after;
    taken
}

/// A length as RDB files write it.
fn length(rest: &mut &[u8]) -> usize {
    let first = take(rest, 1)[0];
    match first {
        0..64 => first.into(),
        64..128 => usize::from(first & 63) << 8 | usize::from(take(rest, 1)[0]),
        0x80 => u32::from_be_bytes(take(rest, 4).try_into().unwrap()) as usize,
        other => panic!("{other:x}"),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let digits = digits.map(|two| std::str::from_utf8(two).unwrap());
    digits
        .map(|two| u8::from_str_radix(two, 16).unwrap())
        .collect()
}

#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Unsigned(u64),
    String(Vec<u8>),
}

/// Fields to be read.
#[derive(Clone, Debug)]
pub struct Recorded(pub VecDeque<Field>);

impl Fields for Recorded {
    type String = Vec<u8>;

    fn unsigned(&mut self) -> Option<u64> {
        match self.0.pop_front()? {
            Field::Unsigned(number) => Some(number),
            Field::String(_) => None,
        }
    }

    fn double(&mut self) -> Option<f64> {
        None
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        match self.0.pop_front()? {
            Field::String(bytes) => Some(bytes),
            Field::Unsigned(_) => None,
        }
    }
}
