//! The numbers and names of the format; docs/format.md explains them.

use crate::bytes::{Buffer, Sink};
use crate::filter::Filter;
pub(super) use crate::filter::TABLE_START;
use crate::hash::G;
use xxhash_rust::xxh3::xxh3_64;

/// The most bytes of a chunk: a server copies, sends or checks that in some hundred microseconds.
pub const MAX_CHUNK_BYTES: usize = 1 << 20;

/// The iterator after the last chunk. Below 2^53: clients whose numbers are doubles keep it.
pub const END: u64 = 1 << 52;

pub(super) const MAGIC: [u8; 3] = *b"SBF";
/// The version of a chunk.
pub(super) const VERSION: u8 = 1;

/// The kinds of records, except head records.
pub(super) const SUB_FILTER: u8 = 2;
pub(super) const SEGMENT: u8 = 3;
pub(super) const END_OF_FILTER: u8 = 4;
pub(super) const TABLE: u8 = 5;
pub(super) const PAGE: u8 = 6;
pub(super) const END_OF_TABLE: u8 = 7;
pub(super) const STATE: u8 = 11;
pub(super) const SPARSE_SEGMENT: u8 = 12;

pub(super) const CHECKSUM_BYTES: usize = 8;
/// The most bytes of a short record: a state record of 15 slices.
const MAX_SHORT_BYTES: usize = 1 + 20 + 15 * 9;
pub(super) const SEGMENT_HEAD_BYTES: usize = 1 + 4 + 8 + 4;
pub(super) const END_BYTES: usize = 1 + 8 + 4;
pub(super) const PAGE_HEAD_BYTES: usize = 1 + 2;

/// How many bytes of an argument a server's slow log keeps, unless it has a setting that says
/// otherwise.
pub const LOGGED_BYTES: usize = 128;
/// Magic, version, start and next.
const PUBLIC_BYTES: usize = MAGIC.len() + 1 + 8 + 8;
/// Fills up the logged bytes with powers of an odd number, which do not compress.
pub(super) const FILLER: [u8; LOGGED_BYTES - PUBLIC_BYTES] = filler();
/// Bytes before the first record: the logged bytes and the hash of the head record.
pub(super) const HEAD_BYTES: usize = LOGGED_BYTES + 8;

/// The bytes of G, G^2, G^3 and so on mod 2^64, little-endian.
const fn filler() -> [u8; LOGGED_BYTES - PUBLIC_BYTES] {
    let mut filler = [0; LOGGED_BYTES - PUBLIC_BYTES];
    let (mut power, mut at) = (G, 0);
    while at < filler.len() {
        filler[at] = power.to_le_bytes()[at % 8];
        at += 1;
        if at % 8 == 0 {
            power = power.wrapping_mul(G);
        }
    }
    filler
}

/// A record that is neither a segment nor a page. Not on the heap: chunks are checked, and filters
/// saved, where memory may be short.
pub(super) struct Short {
    bytes: [u8; MAX_SHORT_BYTES],
    len: usize,
}

impl Short {
    pub fn written(write: impl FnOnce(&mut Buffer<'_>)) -> Self {
        let mut bytes = [0; MAX_SHORT_BYTES];
        let mut buffer = Buffer::new(&mut bytes);
        write(&mut buffer);
        let len = buffer.len;
        Self { bytes, len }
    }

    /// The head of a filter.
    pub fn head(filter: &Filter) -> Self {
        Self::written(|to| filter.write_head(to))
    }

    /// The state of a filter, if it has one: what changes and is not in parts.
    pub fn state(filter: &Filter) -> Option<Self> {
        let clock = filter.clock()?;
        Some(Self::written(|to| {
            to.u8(STATE);
            clock.slices.write(&clock.window, to);
        }))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A hash of the head record, equal in all chunks of one filter and different in other filters.
pub(super) fn identity(filter: &Filter) -> u64 {
    xxh3_64(Short::head(filter).bytes())
}

/// A type of the server whose values are filters. A server writes its name into every file and
/// every dump, so the names are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredType {
    /// Bloom filters: RedisBloom's name, because this module replaces RedisBloom.
    Bloom,
    /// Counting filters: RedisBloom's name for cuckoo filters, for the same reason.
    Counting,
    /// Bloom filters from valkey-bloom. A value that comes under this name keeps it, because a
    /// module cannot give it another.
    ValkeyBloom,
}

impl StoredType {
    /// All types: a search for filters must look for each of them.
    pub const ALL: [Self; 3] = [Self::Bloom, Self::Counting, Self::ValkeyBloom];

    /// The name that TYPE returns.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bloom => "MBbloom--",
            Self::Counting => "MBbloomCF",
            Self::ValkeyBloom => "bloomfltr",
        }
    }

    /// The type of that name; `None` if its values are not filters.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
