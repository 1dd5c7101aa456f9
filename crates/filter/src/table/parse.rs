//! Decodes pages, checking everything before a table changes.
//!
//! The parser accepts exactly the bytes that are written for some page. Meanwhile and afterwards it
//! holds at most [`MEMORY_PER_BYTE`](crate::storage::MEMORY_PER_BYTE) bytes for each byte of input,
//! and some hundred more.

use crate::bytes::{within, Reader};
use crate::error::{AddError, DecodeError};
use crate::table::directory::Subtree;
use crate::table::entries::{Entries, Surplus, COPIES, SURPLUS_BYTES};
use crate::table::fingerprint::{Fingerprint, SlotShape, MAX_PAYLOAD, MAX_SLOT_BITS};
use crate::table::grid::Shape;
use crate::table::page::Page;
use crate::table::path::{Path, MAX_DEPTH};
use crate::table::plan::{Plan, BUCKET_BITS, MAX_WRITTEN};
use crate::table::record::{Sizes, EMPTY, ENTRIES, SATURATED, SHORT_BYTES};
use crate::table::table::Table;
use crate::table::totals::Totals;
use splitbloom_foundation::alloc::try_push;

/// A run of consecutive pages that are not in a table yet.
#[derive(Default)]
pub struct Pages {
    pub(super) from: Path,
    pub(super) next: Option<u64>,
    /// The pages, with buddies joined wherever possible, so there are at most two parts of each
    /// depth.
    pub(super) parts: Vec<(Path, Subtree)>,
    pub(super) totals: Totals,
    /// The number of entries, each copy counted.
    pub(super) items: u64,
    payloads: Payloads,
}

/// The payloads in a run of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payloads {
    /// The number of entries of each payload, each copy counted.
    pub entries: [u64; MAX_PAYLOAD as usize + 1],
    /// Payloads of entries and of saturated pages, bit i for payload i.
    pub all: u16,
    /// Where the first page with each payload begins.
    pub first: [u64; MAX_PAYLOAD as usize + 1],
    /// Whether every page has an exact count of its items.
    pub are_counted: bool,
}

impl Payloads {
    fn add(&mut self, page: &Page, entries: &Entries, start: u64) {
        let mut add = |payload: u8, copies: u64| {
            let sum = &mut self.entries[usize::from(payload)];
            *sum = sum.saturating_add(copies);
            if self.all >> payload & 1 == 0 {
                self.first[usize::from(payload)] = start;
            }
            self.all |= 1 << payload;
        };
        for fingerprint in &entries.fingerprints {
            add(fingerprint.payload(), 1);
        }
        for surplus in &entries.surplus {
            add(surplus.fingerprint.payload(), surplus.copies.into());
        }
        if let Some(payload) = page.saturated_payload() {
            add(payload, 0);
        }
    }
}

impl Pages {
    /// An empty run, which will start at the path `from`.
    pub fn starting_at(from: u64) -> Self {
        Self { from: Path(from), next: Some(from), ..Self::default() }
    }

    /// Where the pages after these start; `None` if these are the last.
    pub fn next(&self) -> Option<u64> {
        self.next
    }

    /// Their share of a table's memory, without the directory nodes that lead to them.
    pub fn bytes(&self) -> u64 {
        self.totals().bytes()
    }

    /// The payloads of their entries; none if entries have no payload.
    pub fn payloads(&self) -> Payloads {
        Payloads { are_counted: self.totals.uncounted == 0, ..self.payloads }
    }

    pub(super) fn totals(&self) -> Totals {
        let children = self.parts.iter().map(|(_, part)| part.count_children());
        Totals { children: children.sum(), ..self.totals }
    }

    /// Decodes the page record at the start of `bytes`, for a table with the same plan as `table`,
    /// and appends the page. Returns the bytes after it.
    ///
    /// # Errors
    /// What is wrong with the bytes, or `OutOfMemory`.
    pub fn push<'a>(&mut self, table: &Table, bytes: &'a [u8]) -> Result<&'a [u8], DecodeError> {
        let (plan, mut reader) = (&table.plan, Reader(bytes));
        let start = Path(self.next.ok_or(DecodeError::Length)?);
        let (depth, kind) = (reader.u8()?, reader.u8()?);
        within("depth", depth <= MAX_DEPTH && start.start(depth) == start)?;
        let (page, entries) = match kind {
            EMPTY | SATURATED => {
                (without_entries(plan, depth, kind, &mut reader)?, Entries::default())
            }
            ENTRIES => with_entries(plan, depth, &mut reader)?,
            _ => return Err(DecodeError::Field("kind of page")),
        };
        self.totals = self.totals.plus(Totals::of(&page, &entries, start));
        self.items = self.items.saturating_add(entries.items());
        if plan.payload_bits() > 0 {
            self.payloads.add(&page, &entries, start.0);
        }
        self.next = start.after(depth);
        self.join(start, Subtree::Page(page))?;
        Ok(reader.0)
    }

    /// Adds a part, and joins it with its buddy if that is present, and so on.
    fn join(&mut self, mut start: Path, mut part: Subtree) -> Result<(), AddError> {
        while let Some((low_start, low)) = self.parts.pop() {
            let depth = part.depth();
            if low.depth() != depth || start.start(depth - 1) != low_start {
                // There is capacity: it was just popped.
                self.parts.push((low_start, low));
                break;
            }
            (start, part) = (low_start, Subtree::join([low, part])?);
        }
        Ok(try_push(&mut self.parts, (start, part))?)
    }
}

fn check_filler(bytes: &[u8]) -> Result<(), DecodeError> {
    within("filler", bytes.iter().all(|byte| *byte == 0))
}

/// The rest of a record, after its kind, of a page without entries.
fn without_entries(
    plan: &Plan,
    depth: u8,
    kind: u8,
    reader: &mut Reader<'_>,
) -> Result<Page, DecodeError> {
    let mut record = Reader(reader.take(SHORT_BYTES - 2)?);
    let mut page = Page::empty(depth);
    if kind == SATURATED {
        let payload = record.u8()?;
        within("payload", payload >> plan.payload_bits() == 0)?;
        page = Page::saturated(depth, payload);
    }
    check_filler(record.0)?;
    Ok(page)
}

/// Reads bits, from the least significant.
struct BitReader<'a> {
    bytes: Reader<'a>,
    pending: u64,
    len: usize,
}

impl<'a> BitReader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: Reader(bytes), pending: 0, len: 0 }
    }

    fn take(&mut self, len: usize) -> Result<u64, DecodeError> {
        while self.len < len {
            self.pending |= u64::from(self.bytes.u8()?) << self.len;
            self.len += 8;
        }
        let bits = self.pending & ((1 << len) - 1);
        self.pending >>= len;
        self.len -= len;
        Ok(bits)
    }
}

/// The rest of a record, after its kind, of a page with entries.
fn with_entries(
    plan: &Plan,
    depth: u8,
    reader: &mut Reader<'_>,
) -> Result<(Page, Entries), DecodeError> {
    let sizes = sizes(plan, depth, reader)?;
    let packed = reader.take(sizes.packed_bytes())?;
    let counters = reader.take(sizes.surplus * SURPLUS_BYTES)?;
    check_filler(reader.take(sizes.filler_bytes())?)?;

    let mut entries = Entries::with_room(sizes.entries, sizes.surplus)?;
    read_fingerprints(sizes, packed, &mut entries.fingerprints)?;
    for counter in counters.chunks_exact(SURPLUS_BYTES) {
        read_counter(counter, &mut entries)?;
    }
    let page = Page::with_lines(depth, sizes.shape, &entries, sizes.lines)?;
    Ok((page.ok_or(DecodeError::Field("lines"))?, entries))
}

fn sizes(plan: &Plan, depth: u8, reader: &mut Reader<'_>) -> Result<Sizes, DecodeError> {
    let (bucket_bits, fingerprint_bits) = (reader.u8()?, reader.u8()?);
    let slot = SlotShape { fingerprint_bits, payload_bits: plan.payload_bits() };
    let sizes = Sizes {
        shape: Shape { bucket_bits, slot },
        lines: reader.u8()?.into(),
        entries: reader.u16()?.into(),
        surplus: reader.u16()?.into(),
    };
    within("bucket bits", (1..=BUCKET_BITS).contains(&bucket_bits))?;
    let longest = usize::from(bucket_bits) + usize::from(fingerprint_bits) - 1;
    let fits = (2..=60).contains(&fingerprint_bits)
        && slot.bits() <= MAX_SLOT_BITS
        && longest <= 59
        && longest + usize::from(depth) <= 64;
    within("fingerprint bits", fits)?;
    within("entries", (1..=MAX_WRITTEN).contains(&sizes.entries))?;
    Ok(sizes)
}

/// Reads the unary part and the slots, which must be sorted.
fn read_fingerprints(
    sizes: Sizes,
    packed: &[u8],
    fingerprints: &mut Vec<Fingerprint>,
) -> Result<(), DecodeError> {
    let Sizes { shape, entries, .. } = sizes;
    let (mut unary, mut slots) = (BitReader::new(packed), BitReader::new(packed));
    for _ in 0..(1 << shape.bucket_bits) + entries {
        slots.take(1)?;
    }
    for bucket in 0..1 << shape.bucket_bits {
        while unary.take(1)? == 0 {
            let fingerprint = shape.fingerprint(bucket, slots.take(shape.slot.bits())?);
            fingerprints.push(fingerprint.ok_or(DecodeError::Field("slot"))?);
            within("unary", fingerprints.len() <= entries)?;
        }
    }
    within("unary", fingerprints.len() == entries)?;
    within("bits left over", slots.pending == 0)?;
    let mut runs = fingerprints.windows(COPIES + 1);
    let is_sorted = fingerprints.is_sorted() && !runs.any(|run| run[0] == run[COPIES]);
    within("order of slots", is_sorted)
}

/// Appends a surplus counter, whose fingerprint must fill its slots and come after the previous
/// one.
fn read_counter(bytes: &[u8], entries: &mut Entries) -> Result<(), DecodeError> {
    let counter = Surplus::of_bytes(bytes).ok_or(DecodeError::Field("surplus"))?;
    let Surplus { fingerprint, copies } = counter;
    let fingerprints = &entries.fingerprints;
    let first = fingerprints.partition_point(|other| *other < fingerprint);
    let is_full = fingerprints.get(first + COPIES - 1) == Some(&fingerprint);
    let last = entries.surplus.last();
    let is_next = last.is_none_or(|last| last.fingerprint < fingerprint);
    within("surplus", copies > 0 && is_full && is_next)?;
    entries.surplus.push(counter);
    Ok(())
}
