//! A page as bytes, and back.
//!
//! ```text
//!   depth   1 byte
//!   kind    1 byte   0 no entries, 2 says yes to everything: ends here; 1 goes on with
//!   bucket bits, fingerprint bits, lines              1 byte each
//!   entries, surplus counters                         2 bytes each
//!   unary: a 0 an entry, a 1 a bucket                 2^(bucket bits) + entries bits
//!   slots, in order of buckets, then of values        entries * slot bits
//!     (both from the least bit of each byte on; zeros up to a whole byte)
//!   surplus: mark (8 bytes), copies (4)               12 bytes each
//! ```
//!
//! Numbers are little-endian. Records follow each other in order of paths, so where a page begins
//! need not be said: each begins where the one before ended. What lies in which line need not be
//! said either, since a page of so many lines is a function of its entries. A record has at most 32
//! KiB.
//!
//! The decoder accepts exactly what the encoder writes, and allocates at most 8 lines or four times
//! what the entries need.

use crate::error::{AddError, DecodeError};
use crate::growing::directory::Slot;
use crate::growing::entries::{try_vec, Entries, Surplus, COPIES};
use crate::growing::grid::Shape;
use crate::growing::line::{SlotShape, MAX_SLOT_BITS};
use crate::growing::mark::Mark;
use crate::growing::page::Page;
use crate::growing::path::Path;
use crate::growing::plan::{Plan, MAX_DEPTH, MAX_LINES};
use crate::growing::table::Table;
use crate::growing::totals::Totals;
use xxhash_rust::xxh3::Xxh3;

const EMPTY: u8 = 0;
const ENTRIES: u8 = 1;
const SATURATED: u8 = 2;
/// Bytes before the bits of a page with entries.
const HEADER_BYTES: usize = 9;
const SURPLUS_BYTES: usize = 12;

impl Table {
    /// Appends the record of the page at `from` (0 at first) to `bytes`. Returns where to go on, or
    /// nothing at the end.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing is appended.
    pub fn encode_page(&self, from: u64, bytes: &mut Vec<u8>) -> Result<Option<u64>, AddError> {
        let page = self.root.page(Path(from));
        let kind = match (page.is_saturated(), page.len()) {
            (true, _) => SATURATED,
            (false, 0) => EMPTY,
            _ => ENTRIES,
        };
        let next = Path(from).after(page.depth());
        if kind != ENTRIES {
            bytes.try_reserve(2).map_err(|_| AddError::OutOfMemory)?;
            bytes.extend([page.depth(), kind]);
            return Ok(next);
        }
        let (shape, entries) = (page.shape(), page.entries()?);
        let bits = bits_of(shape, entries.marks.len());
        let len = HEADER_BYTES + bits.div_ceil(8) + entries.surplus.len() * SURPLUS_BYTES;
        bytes.try_reserve(len).map_err(|_| AddError::OutOfMemory)?;
        // Where memory was short when it ought to have shrunk, a page may have more lines than the
        // decoder takes.
        let lines = page.lines().len().min(page.most_lines());
        bytes.extend([
            page.depth(),
            kind,
            shape.bucket_bits,
            shape.slot.fingerprint_bits,
            lines as u8,
        ]);
        bytes.extend((entries.marks.len() as u16).to_le_bytes());
        bytes.extend((entries.surplus.len() as u16).to_le_bytes());
        let mut writer = Writer {
            bytes,
            pending: 0,
            len: 0,
        };
        let mut bucket = 0;
        for mark in &entries.marks {
            while bucket < mark.bucket(shape.bucket_bits) {
                writer.put(1, 1);
                bucket += 1;
            }
            writer.put(0, 1);
        }
        for _ in bucket..1 << shape.bucket_bits {
            writer.put(1, 1);
        }
        for mark in &entries.marks {
            writer.put(shape.value(*mark), shape.slot.bits());
        }
        writer.finish();
        for surplus in &entries.surplus {
            bytes.extend(surplus.mark.bits().to_le_bytes());
            bytes.extend(surplus.copies.to_le_bytes());
        }
        Ok(next)
    }

    /// XXH3-128 of all records. Equal for tables that answer everything alike, now and after equal
    /// commands.
    ///
    /// It depends on the entries and on how they are cut into pages, not on the order in which
    /// entries came to a page. Which items came before others does count: the older they are, the
    /// shorter their fingerprints.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn digest(&self) -> Result<u128, AddError> {
        let (mut hash, mut record, mut from) = (Xxh3::new(), Vec::new(), Some(0));
        while let Some(start) = from {
            record.clear();
            from = self.encode_page(start, &mut record)?;
            hash.update(&record);
        }
        Ok(hash.digest128())
    }
}

fn bits_of(shape: Shape, entries: usize) -> usize {
    (1 << shape.bucket_bits) + entries * (1 + shape.slot.bits())
}

/// Appends bits, the least first.
struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
    pending: u64,
    len: usize,
}

impl Writer<'_> {
    /// `len` is at most 57: seven bits may be pending.
    fn put(&mut self, bits: u64, len: usize) {
        self.pending |= bits << self.len;
        self.len += len;
        while self.len >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.len -= 8;
        }
    }

    fn finish(self) {
        if self.len > 0 {
            self.bytes.push(self.pending as u8);
        }
    }
}

/// Takes bits, the least first.
struct Reader<'a> {
    bytes: &'a [u8],
    pending: u64,
    len: usize,
}

impl Reader<'_> {
    fn take(&mut self, len: usize) -> Result<u64, DecodeError> {
        while self.len < len {
            let (first, rest) = self.bytes.split_first().ok_or(DecodeError::Length)?;
            self.pending |= u64::from(*first) << self.len;
            (self.bytes, self.len) = (rest, self.len + 8);
        }
        let bits = self.pending & ((1 << len) - 1);
        self.pending >>= len;
        self.len -= len;
        Ok(bits)
    }
}

/// A table that is being put together from its records.
pub struct Loader {
    table: Table,
    /// Where the next page begins; nothing once all paths have theirs.
    next: Option<u64>,
    /// What has come, as far as it is not joined yet: each is deeper than the one before, so there
    /// are never more than there are bits in a path.
    parts: Vec<(u64, Slot)>,
}

impl Loader {
    /// For a table of this rate and payload.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(error_rate: f64, payload_bits: u8) -> Result<Self, DecodeError> {
        let mut table = Table::new(error_rate, payload_bits);
        table.totals = Totals::none();
        Ok(Self {
            table,
            next: Some(0),
            parts: try_vec(64).map_err(no_memory)?,
        })
    }

    /// Takes the record that `bytes` begin with. Returns what follows it.
    ///
    /// # Errors
    /// What is wrong with it, or `OutOfMemory`: then the loader is of no use any more.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], DecodeError> {
        let start = self.next.ok_or(DecodeError::Order)?;
        let plan = *self.table.plan();
        let [depth, kind, ..] = *bytes else {
            return Err(DecodeError::Length);
        };
        if depth > MAX_DEPTH || Path(start).start(depth).0 != start {
            return Err(DecodeError::Field("depth"));
        }
        let (page, entries, rest) = match kind {
            EMPTY => (Page::empty(depth), Entries::default(), &bytes[2..]),
            SATURATED => (Page::saturated(depth), Entries::default(), &bytes[2..]),
            ENTRIES => decode_entries(&plan, depth, bytes)?,
            _ => return Err(DecodeError::Field("kind of page")),
        };
        let totals = Totals::of(&page, &entries, Path(start));
        self.join(start, page)?;
        self.table.totals = self.table.totals.plus(totals);
        self.next = Path(start).after(depth);
        Ok(rest)
    }

    fn join(&mut self, mut start: u64, page: Page) -> Result<(), DecodeError> {
        let mut part = Slot::Own(page);
        while let Some((low_start, low)) = self.parts.last() {
            let depth = part.depth();
            if low.depth() != depth || Path(start).start(depth - 1).0 != *low_start {
                break;
            }
            let Some((low_start, low)) = self.parts.pop() else {
                break;
            };
            (start, part) = (low_start, Slot::join([low, part]).map_err(no_memory)?);
        }
        self.parts.push((start, part));
        Ok(())
    }

    /// The table, once all pages have come.
    ///
    /// # Errors
    /// `Length` if pages are missing.
    pub fn finish(mut self) -> Result<Table, DecodeError> {
        match (self.next, self.parts.pop()) {
            (None, Some((_, root))) => {
                self.table.totals.slots = root.count_slots();
                self.table.root = root;
                Ok(self.table)
            }
            _ => Err(DecodeError::Length),
        }
    }
}

fn no_memory(_: AddError) -> DecodeError {
    DecodeError::OutOfMemory
}

fn decode_entries<'a>(
    plan: &Plan,
    depth: u8,
    bytes: &'a [u8],
) -> Result<(Page, Entries, &'a [u8]), DecodeError> {
    let [_, _, bucket_bits, fingerprint_bits, lines, n0, n1, s0, s1, ref body @ ..] = *bytes else {
        return Err(DecodeError::Length);
    };
    let slot = SlotShape {
        fingerprint_bits,
        payload_bits: plan.payload_bits(),
    };
    let shape = Shape { bucket_bits, slot };
    let (len, surplus_len) = (
        u16::from_le_bytes([n0, n1]).into(),
        u16::from_le_bytes([s0, s1]).into(),
    );
    if bucket_bits == 0 || bucket_bits > plan.bucket_bits(usize::MAX) {
        return Err(DecodeError::Field("bucket bits"));
    }
    let longest = usize::from(bucket_bits) + usize::from(fingerprint_bits) - 1;
    if !(2..=60).contains(&fingerprint_bits)
        || slot.bits() > MAX_SLOT_BITS
        || longest > 59
        || longest + usize::from(depth) > 64
    {
        return Err(DecodeError::Field("fingerprint bits"));
    }
    if len == 0 || len > plan.most() * 3 / 2 {
        return Err(DecodeError::Field("entries"));
    }
    let bits = bits_of(shape, len);
    let (packed, rest) = body
        .split_at_checked(bits.div_ceil(8))
        .ok_or(DecodeError::Length)?;
    let (counters, rest) = rest
        .split_at_checked(surplus_len * SURPLUS_BYTES)
        .ok_or(DecodeError::Length)?;

    let mut entries = Entries::with_room(len, surplus_len).map_err(no_memory)?;
    let mut slots = Reader {
        bytes: packed,
        pending: 0,
        len: 0,
    };
    let mut unary = Reader {
        bytes: packed,
        pending: 0,
        len: 0,
    };
    for _ in 0..(1 << bucket_bits) + len {
        slots.take(1)?;
    }
    for bucket in 0..1 << bucket_bits {
        while unary.take(1)? == 0 {
            let mark = shape
                .mark(bucket, slots.take(slot.bits())?)
                .ok_or(DecodeError::Field("slot"))?;
            entries.marks.push(mark);
            if entries.marks.len() > len {
                return Err(DecodeError::Field("unary"));
            }
        }
    }
    if entries.marks.len() != len {
        return Err(DecodeError::Field("unary"));
    }
    if slots.pending != 0 {
        return Err(DecodeError::Field("bits left over"));
    }
    let marks = &entries.marks;
    if !marks.is_sorted() || marks.windows(COPIES + 1).any(|m| m[0] == m[COPIES]) {
        return Err(DecodeError::Field("order of slots"));
    }
    for counter in counters.chunks_exact(SURPLUS_BYTES) {
        let (mark, copies) = counter.split_at(8);
        let mark = u64::from_le_bytes(mark.try_into().map_err(|_| DecodeError::Length)?);
        let copies = u32::from_le_bytes(copies.try_into().map_err(|_| DecodeError::Length)?);
        let mark = Mark::from_bits(mark).ok_or(DecodeError::Field("surplus"))?;
        let first = marks.partition_point(|m| *m < mark);
        let is_full = marks.get(first + COPIES - 1) == Some(&mark);
        let is_next = entries.surplus.last().is_none_or(|last| last.mark < mark);
        if copies == 0 || !is_full || !is_next {
            return Err(DecodeError::Field("surplus"));
        }
        entries.surplus.push(Surplus { mark, copies });
    }
    let lines = usize::from(lines);
    let page = Page::with_lines(depth, shape, &entries, lines).map_err(no_memory)?;
    match page {
        Some(page) if lines <= page.most_lines().min(MAX_LINES) => Ok((page, entries, rest)),
        _ => Err(DecodeError::Field("lines")),
    }
}
