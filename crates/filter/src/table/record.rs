//! A page as bytes: the format, and writing it.
//!
//! ```text
//!   depth   1 byte
//!   kind    1 byte   0 no entries, 2 says yes to everything (and goes on with its payload),
//!                    1 goes on with
//!   bucket bits, fingerprint bits, lines              1 byte each
//!   entries, surplus counters                         2 bytes each
//!   unary: a 0 an entry, a 1 a bucket                 2^(bucket bits) + entries bits
//!   slots, in order of buckets, then of values        entries * slot bits
//!     (both from the least bit of each byte on; zeros up to a whole byte)
//!   surplus: fingerprint (8 bytes), copies (4)               12 bytes each
//!   zeros up to the least length
//! ```
//!
//! Numbers are little-endian. Records follow each other in order of paths, so a record does not say
//! where its page begins: each begins where the one before ended. Nor does it say what is in which
//! line, since a page is a function of its entries and the number of lines. A record has at most
//! 32 KiB.
//!
//! A record is padded so that loading it allocates at most [`MEMORY_PER_BYTE`] bytes for each of
//! its bytes. Only pages that are nearly empty need that: one without entries takes 15 bytes.

use crate::storage::MEMORY_PER_BYTE;
use crate::table::directory::Child;
use crate::table::entries::Surplus;
use crate::table::fingerprint::Fingerprint;
use crate::table::grid::Shape;
use crate::table::line::LINE_BYTES;
use crate::table::page::Page;
use crate::table::path::Path;
use crate::table::slot::MAX_SLOT_BITS;
use crate::table::table::Table;
use xxhash_rust::xxh3::Xxh3;

pub const EMPTY: u8 = 0;
pub const ENTRIES: u8 = 1;
pub const SATURATED: u8 = 2;
/// Bytes before the bits of a page with entries.
pub const HEADER_BYTES: usize = 9;
pub const SURPLUS_BYTES: usize = 12;
/// What a page may take in the directory while that is put together. Where pages are as unevenly
/// deep as they can be and still share a node, 233 of them make up one of 2 048 slots; while these
/// are written, there are two of 1 024 and 512 besides.
const SLOTS_A_PAGE: usize = (2_048 + 1_024 + 512) / 233 + 1;
/// Bytes of a slot of the directory.
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

/// The least length of the record of a page that takes `memory` bytes and its slots in the
/// directory.
const fn min_bytes(memory: usize) -> usize {
    (SLOTS_A_PAGE * SLOT_BYTES + memory).div_ceil(MEMORY_PER_BYTE)
}

/// The length of a record of a page without entries: depth, kind, payload, zeros.
pub const SHORT_BYTES: usize = min_bytes(0);

impl Table {
    /// The record of the page at `from`: 0 at first, then [`PageRecord::next`].
    pub fn page_record(&self, from: u64) -> PageRecord<'_> {
        let page = self.root.page(Path(from));
        PageRecord {
            page,
            start: Path(from).start(page.depth()),
        }
    }

    /// XXH3-128 of all records. Tables with the same digest return the same results, now and after
    /// the same commands.
    ///
    /// It depends on the entries and on how they are cut into pages, not on the order in which
    /// entries came to a page. Which items came before others does count: the older they are, the
    /// shorter their fingerprints.
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

/// The encoding of a page, produced as it is read: saving needs no memory.
pub struct PageRecord<'a> {
    pub(super) page: &'a Page,
    pub(super) start: Path,
}

impl PageRecord<'_> {
    /// Where it begins.
    pub fn start(&self) -> u64 {
        self.start.0
    }

    /// Where the next page begins; nothing after the last one.
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

    /// How long it is. Costs a step for each surplus counter.
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
        let (shape, grid, sizes) = (page.shape(), page.grid(), self.sizes());
        let [entries_low, entries_high] = (sizes.entries as u16).to_le_bytes();
        let [surplus_low, surplus_high] = (sizes.surplus as u16).to_le_bytes();
        put(&[
            page.depth(),
            kind,
            shape.bucket_bits,
            shape.slot.fingerprint_bits,
            sizes.lines as u8,
            entries_low,
            entries_high,
            surplus_low,
            surplus_high,
        ]);
        let mut writer = Writer::new(put);
        for (number, line) in page.lines()[..grid.lines].iter().enumerate() {
            let len = grid.buckets_in(number) + page.owned(grid, number);
            for first in (0..len).step_by(MAX_PUT) {
                let len = MAX_PUT.min(len - first);
                writer.put(line.unary(first, len), len);
            }
        }
        // The slots follow in the order of their buckets: what spilled from the last line into the
        // first ones comes at the end.
        let (mut number, mut skipped, mut left) = (0, page.lines()[0].spilled(), page.len());
        while left > 0 {
            let line = &page.lines()[number];
            let here = line.held().saturating_sub(skipped).min(left);
            for n in skipped..skipped + here {
                writer.put(line.slot(n, shape.slot), shape.slot.bits());
            }
            (left, skipped) = (left - here, skipped.saturating_sub(line.held()));
            number = grid.next(number);
        }
        writer.finish();
        for surplus in page.surplus() {
            let mut bytes = [0; SURPLUS_BYTES];
            bytes[..8].copy_from_slice(&surplus.fingerprint.bits().to_le_bytes());
            bytes[8..].copy_from_slice(&surplus.copies.to_le_bytes());
            put(&bytes);
        }
        (0..sizes.filler_bytes()).for_each(|_| put(&[0]));
    }
}

/// The most bits that a [`Writer`] takes at once: seven may be pending.
const MAX_PUT: usize = 57;
const _: () = assert!(MAX_SLOT_BITS <= MAX_PUT);

/// Puts bits together, the least first, and passes them on by 64 bytes.
struct Writer<'a, F: FnMut(&[u8])> {
    put: &'a mut F,
    bytes: [u8; 64],
    len: usize,
    pending: u64,
    pending_len: usize,
}

impl<'a, F: FnMut(&[u8])> Writer<'a, F> {
    fn new(put: &'a mut F) -> Self {
        Self {
            put,
            bytes: [0; 64],
            len: 0,
            pending: 0,
            pending_len: 0,
        }
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
