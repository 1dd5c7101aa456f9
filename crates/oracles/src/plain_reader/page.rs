//! A page of a table: [A page](../../../../docs/format.md#a-page).

use crate::must;
use crate::stream::Stream;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub depth: u32,
    /// As it is written. Each page has one form.
    pub bytes: Vec<u8>,
    pub is_saturated: bool,
    /// Of a saturated page.
    payload: u64,
    marks: Vec<u64>,
    surplus: Vec<(u64, u64)>,
}

const EMPTY: u64 = 0;
const ENTRIES: u64 = 1;
const SATURATED: u64 = 2;

const BODY_BITS: u64 = 496;

impl Page {
    /// A page without entries.
    pub fn empty(depth: u32) -> Self {
        let mut bytes = vec![depth as u8, EMPTY as u8];
        bytes.resize(15, 0);
        Self { depth, bytes, ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        !self.is_saturated && self.marks.is_empty()
    }

    /// Whether its entries, copies included, are all that were added.
    pub fn is_counted(&self) -> bool {
        let is_at_end = |(_, copies): &(u64, u64)| *copies == u32::MAX.into();
        !self.is_saturated && !self.surplus.iter().any(is_at_end)
    }

    /// Entries, copies included.
    pub fn items(&self) -> u64 {
        let copies = self.surplus.iter().map(|(_, copies)| copies);
        self.marks.len() as u64 + copies.sum::<u64>()
    }

    /// The payloads of its entries, each with how many of these it is, or of the saturated page.
    pub fn payloads(&self) -> Vec<(u64, u64)> {
        let marks = self.marks.iter().map(|mark| (mark & 0xf, 1));
        let surplus = self.surplus.iter().map(|(mark, copies)| (mark & 0xf, *copies));
        let saturated = self.is_saturated.then_some((self.payload, 0));
        marks.chain(surplus).chain(saturated).collect()
    }

    /// How many entries an item with this path has, without those of dead payloads.
    pub fn count(&self, path: u64, dead: u64) -> u64 {
        if self.is_saturated {
            return 1;
        }
        let below = path << self.depth;
        let matches = |mark: u64| {
            if dead >> (mark & 0xf) & 1 == 1 {
                return false;
            }
            let mark = mark & !0xf;
            let length = 63 - mark.trailing_zeros();
            length == 0 || (mark ^ below) >> (64 - length) == 0
        };
        let copies = self.surplus.iter().filter(|(mark, _)| matches(*mark));
        let marks = self.marks.iter().filter(|mark| matches(**mark));
        marks.count() as u64 + copies.map(|(_, copies)| copies).sum::<u64>()
    }

    /// The page of these bytes, all of them, whose entries have this many bits of payload.
    pub fn read(page: &[u8], payload_bits: u64) -> Option<Self> {
        let mut rest = Stream(page);
        let [depth, kind] = [rest.number(1)?, rest.number(1)?];
        must(depth <= 51)?;
        let read = match kind {
            EMPTY | SATURATED => {
                let is_saturated = kind == SATURATED;
                let payload = if is_saturated { rest.number(1)? } else { 0 };
                must(payload < 1 << payload_bits)?;
                Self { is_saturated, payload, bytes: page.to_vec(), ..Self::empty(depth as u32) }
            }
            ENTRIES => Self::with_entries(depth, &mut rest, page, payload_bits)?,
            _ => return None,
        };
        let is_whole = kind == ENTRIES || page.len() == 15;
        // What is left is filler.
        (is_whole && rest.0.iter().all(|byte| *byte == 0)).then_some(read)
    }

    /// All but the filler, which must be as long as it is.
    fn with_entries(
        depth: u64,
        rest: &mut Stream<'_>,
        page: &[u8],
        payload_bits: u64,
    ) -> Option<Self> {
        let mut field = |width| rest.number(width);
        let (bucket_bits, slot_bits, lines) = (field(1)?, field(1)?, field(1)?);
        let (entries, counters) = (field(2)?, field(2)?);
        let longest = (bucket_bits + slot_bits).checked_sub(1)?;
        must((1..=11).contains(&bucket_bits) && (2..=57 - payload_bits).contains(&slot_bits))?;
        must(longest <= 59 && depth + longest <= 64 && (1..=4_024).contains(&entries))?;
        let buckets = 1u64 << bucket_bits;
        let whole_bits = slot_bits + payload_bits;
        let packed_bits = buckets + entries + entries * whole_bits;
        let packed = rest.take(packed_bits.div_ceil(8) as usize)?;
        let bit = |n: u64| u64::from(packed[n as usize / 8] >> (n % 8) & 1);
        must((packed_bits..packed.len() as u64 * 8).all(|n| bit(n) == 0))?;

        let (mut marks, mut own) = (Vec::new(), vec![0; buckets as usize]);
        let mut bucket = 0;
        for n in 0..buckets + entries {
            if bit(n) == 1 {
                bucket += 1;
                continue;
            }
            let first = buckets + entries + marks.len() as u64 * whole_bits;
            must(bucket < buckets && marks.len() as u64 != entries)?;
            let whole = (0..whole_bits).fold(0, |slot, i| slot | bit(first + i) << i);
            let slot = whole >> payload_bits;
            let payload = whole - (slot << payload_bits);
            must(slot != 0)?;
            own[bucket as usize] += 1;
            let mark = bucket << (64 - bucket_bits) | slot << (64 - bucket_bits - slot_bits);
            marks.push(mark + payload);
        }
        let is_in_order = marks.is_sorted() && marks.windows(4).all(|same| same[0] != same[3]);
        must(bucket == buckets && is_in_order)?;

        let mut surplus = Vec::new();
        for _ in 0..counters {
            let (mark, copies) = (rest.number(8)?, rest.number(4)?);
            let is_full = marks.iter().filter(|there| **there == mark).count() == 3;
            let is_next = surplus.last().is_none_or(|(last, _)| *last < mark);
            must(copies != 0 && is_full && is_next)?;
            surplus.push((mark, copies));
        }
        let memory = 256 + 64 * lines + 8 * entries + 16 * counters;
        let without_filler = page.len() - rest.0.len();
        let len = without_filler.max(memory.div_ceil(18) as usize);
        let lines_of_entries = lines.checked_sub(counters.div_ceil(4))?;
        must(page.len() == len && lines <= 128 && fit(&own, lines_of_entries, whole_bits))?;
        let (depth, bytes) = (depth as u32, page.to_vec());
        Some(Self { depth, bytes, marks, surplus, ..Self::default() })
    }
}

/// Whether buckets of `entries` entries each fit in `lines` lines.
fn fit(entries: &[u64], lines: u64, slot_bits: u64) -> bool {
    let buckets = entries.len() as u64;
    // Buckets and entries of each line.
    let mut own = vec![(0, 0); lines as usize];
    for (bucket, entries) in entries.iter().enumerate() {
        let Some(line) = own.get_mut((bucket as u64 * lines / buckets) as usize) else {
            return false;
        };
        line.0 += 1;
        line.1 += entries;
    }
    if own.iter().any(|(buckets, entries)| buckets + entries > BODY_BITS) {
        return false;
    }
    let around = |first: u64| {
        own.iter().try_fold(first, |before, (buckets, entries)| {
            let room = ((BODY_BITS - buckets - entries) / slot_bits).min(255);
            let left = (before + entries).saturating_sub(room);
            (left <= 125).then_some(left)
        })
    };
    let Some(first) = around(0) else {
        return false;
    };
    around(first) == Some(first) && (lines > 1 || first == 0)
}
