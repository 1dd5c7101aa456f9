//! The encoding of a page: its format, and writing it.
//!
//! ```text
//!   depth   1 byte
//!   kind    1 byte   0 no entries; 2 saturated: matches everything, payload follows; 1 followed by
//!   bucket bits, fingerprint bits, lines              1 byte each
//!   entries, surplus counters                         2 bytes each
//!   unary: a 0 an entry, a 1 a bucket                 2^(bucket bits) + entries bits
//!   slots, in order of buckets, then of values        entries * slot bits
//!     (both from the least bit of each byte on; zeros up to a whole byte)
//!   surplus: fingerprint (8 bytes), copies (4)        12 bytes each
//!   zeros up to the minimum length
//! ```
//!
//! Numbers are little-endian. Records follow each other in order of paths, and each page begins
//! where the one before ended, so a record does not contain its start. Nor does it tell which
//! entries are in which line: that follows from the entries and the number of lines. A record has
//! at most 32 KiB.
//!
//! Records are padded so that loading one allocates at most [`MEMORY_PER_BYTE`] bytes for each of
//! its bytes. Only nearly empty pages need that: one without entries takes 15 bytes.

use crate::storage::MEMORY_PER_BYTE;
use crate::table::directory::Child;
use crate::table::entries::{Surplus, SURPLUS_BYTES};
use crate::table::fingerprint::{Fingerprint, MAX_SLOT_BITS};
use crate::table::grid::Shape;
use crate::table::line::LINE_BYTES;
use crate::table::page::Page;
use crate::table::path::Path;
use crate::table::table::Table;
use xxhash_rust::xxh3::Xxh3;

pub const EMPTY: u8 = 0;
pub const ENTRIES: u8 = 1;
pub const SATURATED: u8 = 2;
/// Bytes before the unary part of a page with entries.
pub const HEADER_BYTES: usize = 9;
/// The maximum number of directory children per page while a directory is joined. In the worst
/// case, 233 pages of very different depths make up one node of 2 048 children; while it is
/// written, nodes of 1 024 and 512 exist too.
const SLOTS_A_PAGE: usize = (2_048 + 1_024 + 512) / 233 + 1;
/// Bytes of a child of the directory.
const SLOT_BYTES: usize = 16;
const _: () = assert!(size_of::<Child>() <= SLOT_BYTES);

/// The sizes of a page with entries.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub shape: Shape,
    pub lines: usize,
    pub entries: usize,
    pub surplus: usize,
}

impl Sizes {
    /// Bytes of unary part and slots.
    pub fn packed_bytes(self) -> usize {
        let bits = (1 << self.shape.bucket_bits) + self.entries * (1 + self.shape.slot.bits());
        bits.div_ceil(8)
    }

    /// Zeros at the end of the record.
    pub fn filler_bytes(self) -> usize {
        let len = HEADER_BYTES + self.packed_bytes() + self.surplus * SURPLUS_BYTES;
        let memory = self.lines * LINE_BYTES
            + self.entries * size_of::<Fingerprint>()
            + self.surplus * size_of::<Surplus>();
        min_bytes(memory).saturating_sub(len)
    }
}

/// The minimum length of the record of a page that takes `memory` bytes, and its children in the
/// directory.
const fn min_bytes(memory: usize) -> usize {
    (SLOTS_A_PAGE * SLOT_BYTES + memory).div_ceil(MEMORY_PER_BYTE)
}

/// The length of the record of a page without entries: depth, kind, payload, zeros.
pub const SHORT_BYTES: usize = min_bytes(0);

impl Table {
    /// The record of the page at `from`: 0 at first, then [`PageRecord::next`].
    pub fn page_record(&self, from: u64) -> PageRecord<'_> {
        let page = self.root.page(Path(from));
        PageRecord { page, start: Path(from).start(page.depth()) }
    }

    /// XXH3-128 of all records. Tables with the same digest return the same results, now and after
    /// the same commands.
    ///
    /// It depends on the entries and their pages, not on the order in which entries came to a page.
    /// But the order of items matters beyond a page: the older an item, the shorter its
    /// fingerprint.
    pub fn digest(&self) -> u128 {
        let (mut hash, mut from) = (Xxh3::new(), Some(0));
        while let Some(start) = from {
            let record = self.page_record(start);
            record.write(&mut |bytes| hash.update(bytes));
            from = record.next();
        }
        hash.digest128()
    }
}

/// The encoding of a page, produced piece by piece: saving needs no memory.
pub struct PageRecord<'a> {
    pub(super) page: &'a Page,
    pub(super) start: Path,
}

impl PageRecord<'_> {
    /// The first path of the page.
    pub fn start(&self) -> u64 {
        self.start.0
    }

    /// The first path of the next page; `None` after the last one.
    pub fn next(&self) -> Option<u64> {
        self.start.after(self.page.depth())
    }

    fn kind(&self) -> u8 {
        match (self.page.is_saturated(), self.page.len()) {
            (true, _) => SATURATED,
            (false, 0) => EMPTY,
            _ => ENTRIES,
        }
    }

    /// Its length in bytes. Costs a step for each surplus counter.
    pub fn num_bytes(&self) -> usize {
        if self.kind() != ENTRIES {
            return SHORT_BYTES;
        }
        let sizes = self.sizes();
        HEADER_BYTES + sizes.packed_bytes() + sizes.surplus * SURPLUS_BYTES + sizes.filler_bytes()
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            shape: self.page.shape(),
            lines: self.page.lines().len(),
            entries: self.page.len(),
            surplus: self.page.surplus().count(),
        }
    }

    /// Passes its bytes to `put`, piece by piece.
    pub fn write(&self, put: &mut impl FnMut(&[u8])) {
        let (page, kind) = (self.page, self.kind());
        if kind != ENTRIES {
            put(&[page.depth(), kind, page.saturated_payload().unwrap_or(0)]);
            return put(&[0; SHORT_BYTES - 3]);
        }
        let (Shape { bucket_bits, slot }, grid, sizes) = (page.shape(), page.grid(), self.sizes());
        put(&[page.depth(), kind, bucket_bits, slot.fingerprint_bits, sizes.lines as u8]);
        put([sizes.entries as u16, sizes.surplus as u16].map(u16::to_le_bytes).as_flattened());
        let mut writer = Writer::new(put);
        for (number, line) in page.lines()[..grid.lines].iter().enumerate() {
            let len = grid.buckets_in(number) + page.owned(grid, number);
            for first in (0..len).step_by(MAX_PUT) {
                let len = MAX_PUT.min(len - first);
                writer.put(line.unary(first, len), len);
            }
        }
        for (line, slots) in page.slots_by_line() {
            for n in slots {
                writer.put(line.slot(n, slot), slot.bits());
            }
        }
        writer.finish();
        page.surplus().for_each(|surplus| put(&surplus.bytes()));
        (0..sizes.filler_bytes()).for_each(|_| put(&[0]));
    }
}

/// The maximum number of bits that a [`Writer`] takes at once: seven may be pending.
const MAX_PUT: usize = 57;
const _: () = assert!(MAX_SLOT_BITS <= MAX_PUT);

/// Packs bits, the least significant first, and passes them on 64 bytes at a time.
struct Writer<'a, F: FnMut(&[u8])> {
    put: &'a mut F,
    bytes: [u8; 64],
    len: usize,
    pending: u64,
    pending_len: usize,
}

impl<'a, F: FnMut(&[u8])> Writer<'a, F> {
    fn new(put: &'a mut F) -> Self {
        Self { put, bytes: [0; 64], len: 0, pending: 0, pending_len: 0 }
    }

    fn put(&mut self, bits: u64, len: usize) {
        self.pending |= bits << self.pending_len;
        self.pending_len += len;
        while self.pending_len >= 8 {
            self.push(self.pending as u8);
            self.pending >>= 8;
            self.pending_len -= 8;
        }
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
        if self.len == self.bytes.len() {
            (self.put)(&self.bytes);
            self.len = 0;
        }
    }

    fn finish(mut self) {
        if self.pending_len > 0 {
            self.push(self.pending as u8);
        }
        (self.put)(&self.bytes[..self.len]);
    }
}
