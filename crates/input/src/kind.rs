//! What an input contains, by its first bytes: its name may say anything.

use crate::Framing;
use std::io::{self, Read};

/// Bytes that are looked at: the header of a tar archive, and the first line of most lists.
pub const FIRST_BYTES: usize = 4096;

/// How an input is packed that is read as it is, without another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Zstd,
}

/// Any byte in the patterns below.
const ANY: u8 = b'?';

const PACKINGS: [(&[u8], Packing); 3] = [
    (b"\x1f\x8b\x08", Packing::Gzip),
    (b"\x28\xb5\x2f\xfd", Packing::Zstd),
    // A frame for other programs, which some write first; its first byte is 0x50 to 0x5f.
    (b"?\x2a\x4d\x18", Packing::Zstd),
];

/// Contents that are never items, and the program that writes the items to a pipe.
const OTHERS: [(&[u8], &str, &str); 14] = [
    (b"\xfd7zXZ\0", "xz data", "xz -dc"),
    (b"BZh?1AY&SY", "bzip2 data", "bzip2 -dc"),
    (b"BZh?\x17\x72\x45\x38\x50\x90", "bzip2 data", "bzip2 -dc"),
    (b"PK\x03\x04", "a zip archive", "unzip -p"),
    (b"PK\x05\x06", "a zip archive", "unzip -p"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so"),
    (b"Rar!\x1a\x07", "a rar archive", "unrar p -inul"),
    (b"\x04\x22\x4d\x18", "lz4 data", "lz4 -dc"),
    (b"\x02\x21\x4c\x18", "lz4 data", "lz4 -dc"),
    (b"LZIP\x01", "lzip data", "lzip -dc"),
    (b"\x89LZO\0\r\n\x1a\n", "lzop data", "lzop -dc"),
    (b"\x1f\x9d", "data of compress", "gzip -dc"),
    (b"\x1f\x8b\x08", "gzip data", "gzip -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "zstd -dc"),
];
const FILTER: &[u8] = b"\x89SBF\r\n\x1a\n";
/// Where the header of a tar archive says so.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// Of text only: pieces of a fixed width may begin with any two bytes.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// How an input with these first bytes is packed.
pub fn packing(first: &[u8]) -> Option<Packing> {
    let found = PACKINGS.iter().find(|(magic, _)| begins(first, magic));
    found.map(|(_, packing)| *packing)
}

/// What an input contains that has no items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// What it is, and the program that writes the items to a pipe.
    Packed(&'static str, &'static str),
    Filter,
}

impl Contents {
    pub fn name(self) -> &'static str {
        match self {
            Self::Packed(name, _) => name,
            Self::Filter => "a filter",
        }
    }
}

/// Why the items are probably not the ones that the user expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The first item begins with a byte order mark.
    ByteOrderMark,
    /// The first line ends with `\r\n`.
    CarriageReturn,
    /// Every other byte is 0.
    Wide,
}

/// What is doubtful about an unpacked input with these first bytes.
///
/// # Errors
/// They belong to no items.
pub fn check(first: &[u8], framing: Framing) -> Result<Vec<Doubt>, Contents> {
    // Pieces of a fixed width may begin with any two bytes.
    let is_fixed = matches!(framing, Framing::Fixed(_));
    let is_it = |magic: &[u8]| begins(first, magic) && (magic.len() > 2 || !is_fixed);
    if let Some((_, what, program)) = OTHERS.iter().find(|(magic, ..)| is_it(magic)) {
        return Err(Contents::Packed(what, program));
    }
    if first.starts_with(FILTER) {
        return Err(Contents::Filter);
    }
    if first.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1)) {
        return Err(Contents::Packed("a tar archive", "tar -xOf"));
    }
    if is_fixed {
        return Ok(Vec::new());
    }
    if UTF_16.iter().any(|mark| first.starts_with(mark)) {
        return Err(Contents::Packed("UTF-16 text", "iconv -f UTF-16 -t UTF-8"));
    }
    match framing {
        Framing::Lines => Ok(doubts(first)),
        _ => Ok(Vec::new()),
    }
}

fn doubts(first: &[u8]) -> Vec<Doubt> {
    let line = first.split(|byte| *byte == b'\n').next();
    let has_crlf = line.is_some_and(|line| line.len() < first.len() && line.ends_with(b"\r"));
    let all = [
        (first.starts_with(BYTE_ORDER_MARK), Doubt::ByteOrderMark),
        (has_crlf, Doubt::CarriageReturn),
        (is_wide(first), Doubt::Wide),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, doubt)| doubt).collect()
}

/// Whether these may be characters of two bytes each, of which one is 0.
fn is_wide(first: &[u8]) -> bool {
    /// Enough not to be by chance.
    const PAIRS: usize = 8;
    let pairs = || first.chunks_exact(2).take(PAIRS);
    let is_all = |zero: usize| pairs().all(|pair| pair[zero] == 0 && pair[1 - zero] != 0);
    pairs().count() == PAIRS && (is_all(0) || is_all(1))
}

fn begins(first: &[u8], magic: &[u8]) -> bool {
    first.len() >= magic.len() && may_begin(first, magic)
}

/// Whether these bytes, or these followed by more, begin with the pattern.
fn may_begin(first: &[u8], magic: &[u8]) -> bool {
    let is_frame = |byte: u8| magic[0] != ANY || byte & 0xf0 == 0x50;
    let fits = |(byte, pattern): (&u8, &u8)| *pattern == ANY || byte == pattern;
    first.first().is_none_or(|byte| is_frame(*byte)) && first.iter().zip(magic).all(fits)
}

/// Returns the first bytes of an input: as many as show what it contains. It does not wait for more
/// once that is certain, because the user may be waiting for the answer to the first item.
pub fn first_bytes(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    while is_uncertain(&first) && crate::read_some(input, FIRST_BYTES, &mut first)? > 0 {}
    Ok(first)
}

fn is_uncertain(first: &[u8]) -> bool {
    let packings = PACKINGS.iter().map(|(magic, _)| *magic);
    let others = OTHERS.iter().map(|(magic, ..)| *magic);
    let texts = UTF_16.into_iter().chain([FILTER, BYTE_ORDER_MARK]);
    let mut all = packings.chain(others).chain(texts);
    all.any(|magic| first.len() < magic.len() && may_begin(first, magic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn what_belongs_to_no_items_is_refused_with_the_program_that_unpacks_it() {
        let tar = [vec![b'x'; TAR.0], TAR.1.to_vec()].concat();
        for (first, program) in [
            (b"\xfd7zXZ\0\0\x04".as_slice(), "xz -dc"),
            (b"BZh91AY&SY\x01", "bzip2 -dc"),
            (b"PK\x03\x04\x14", "unzip -p"),
            (b"7z\xbc\xaf\x27\x1c\0", "7z x -so"),
            (b"\x04\x22\x4d\x18\x64", "lz4 -dc"),
            (b"\x1f\x8b\x08\0", "gzip -dc"),
            (&tar, "tar -xOf"),
        ] {
            for framing in [Framing::Lines, Framing::Text, Framing::Fixed(20)] {
                let refused = check(first, framing);
                assert!(matches!(refused, Err(Contents::Packed(_, by)) if by == program));
            }
        }
        let filter = b"\x89SBF\r\n\x1a\n\x01";
        assert_eq!(check(filter, Framing::Lines), Err(Contents::Filter));
        for first in [b"\xff\xfeh\0".as_slice(), b"\xfe\xff\0h", b"\xff\xfe\0\0h\0\0\0"] {
            let refused = check(first, Framing::Lines);
            assert!(matches!(refused, Err(Contents::Packed("UTF-16 text", _))));
            assert_eq!(check(first, Framing::Fixed(2)), Ok(vec![]));
        }
        for first in [b"".as_slice(), b"BZh", b"BZh91AY&S\n", b"PK\n", b"\xff\n", b"7z\n"] {
            assert_eq!(check(first, Framing::Lines), Ok(vec![]), "{first:?}");
        }
    }

    #[test]
    fn lines_that_look_right_and_are_not_are_doubted() {
        for (first, doubts) in [
            (b"a\r\nb".as_slice(), vec![Doubt::CarriageReturn]),
            (b"\xef\xbb\xbfa\r\n", vec![Doubt::ByteOrderMark, Doubt::CarriageReturn]),
            (b"a\0b\0c\0d\0e\0f\0g\0h\0", vec![Doubt::Wide]),
            (b"a\r", vec![]),
            (b"a\nb\r\n", vec![]),
        ] {
            assert_eq!(check(first, Framing::Lines), Ok(doubts));
            assert_eq!(check(first, Framing::Text), Ok(vec![]));
        }
    }

    #[test]
    fn the_first_bytes_are_read_until_they_are_certain() {
        /// One byte at a time.
        struct Slow(Cursor<Vec<u8>>);

        impl Read for Slow {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                self.0.read(&mut to[..1])
            }
        }

        for (input, len) in [
            (b"a\nb".as_slice(), 1),
            (b"Px", 2),
            (b"\xfd7zXZ\0\0", 6),
            (b"BZh91AY&SY", 10),
            (b"\x1f\x8b\x08\0", 3),
            (b"\x52\x2a\x4d\x18\0", 4),
            (b"\xff\xfe\0", 2),
            (b"", 0),
        ] {
            let mut slow = Slow(Cursor::new(input.to_vec()));
            assert_eq!(first_bytes(&mut slow).unwrap(), &input[..len]);
        }
    }
}
