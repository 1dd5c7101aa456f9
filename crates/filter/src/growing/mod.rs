//! The growing table: a filter that grows page by page, counts, and deletes.
//!
//! # The idea
//! A Bloom filter keeps no items, so it cannot be rehashed into a larger one. A table of
//! **fingerprints** can: a fingerprint is a prefix of the item's hash, less the bits that say where
//! in the table it stands. A page that is full splits by the next bit of the hash. That bit is no
//! longer needed in the fingerprint, so each entry pays for growth with one bit.
//!
//! ```text
//!   an item: | page 0110  | bucket 01001101001 | fingerprint 1101011100 | not stored ...
//!
//!   after:   | page 01100 | bucket 10011010011 | fingerprint 101011100  | not stored ...
//! ```
//!
//! Half of all entries are younger than the last doubling and have the full length; a quarter are
//! one bit shorter, and so on. A fingerprint of j bits less errs 2^j times as often, but there are
//! only 2^-j as many: each generation adds the same to the false-positive rate, which therefore
//! grows with the logarithm of the size. `plan` shares out the rate among the generations that
//! may come, so that the sum never passes the one asked for.
//!
//! # The parts
//! ```text
//!   Table        table      insert, count, remove; lookup: contains, batches
//!   └ Slot       directory  from a path to its page: a tree of arrays of slots
//!     └ Page     page       at most 8 KiB: all entries below one prefix, in buckets
//!       └ Line   line       64 bytes: unary counts of its buckets, and slots
//!
//!   path     hash to bit string            plan     lengths and sizes for a rate
//!   mark     a fingerprint of any length   rate     the false-positive rate, exactly
//!   change   a page with one entry more    bucket   the entries of a bucket, compared at once
//!            or less                       shift    the bits of a line that an entry moves
//!   packed   a page as two strings of bits, on its way into other lines
//!   entries  a page as a sorted list       grow     one page or several from a list
//!   record   a page as bytes               parse    bytes as pages
//!   cut      a page from some path on      payloads entries that are renewed and dropped by payload
//!   load     pages into a table            oracle   the same as a plain multiset (tests)
//! ```
//!
//! Nothing big ever happens at once: an insert touches one page and, if that splits, one node of
//! the directory. No allocation is above 64 KiB. Every allocation may fail, and then nothing has
//! changed.
//!
//! A table is saved page by page without any memory, and loaded in runs of pages into one that works
//! meanwhile. A copy shares what the first node of the directory leads to, until one of the two
//! writes below it.
//!
//! # The price
//! Bits an item, all counted, and the part of the rate asked for that is used up. (A third of 1 % is
//! what a table gets that is one part of a filter.)
//!
//! | items | 1 % | 0.33 % | 0.1 % | 0.01 % | used at 1 % |
//! |---|---|---|---|---|---|
//! | 10 | 115 | 115 | 115 | 115 | 0.00 |
//! | 10^2 | 21.8 | 26.9 | 26.9 | 32.0 | 0.04 |
//! | 10^3 | 21.1 | 21.1 | 25.2 | 29.3 | 0.07 |
//! | 10^4 | 17.5 | 19.1 | 22.0 | 25.7 | 0.14 |
//! | 10^5 | 16.3 | 18.4 | 20.5 | 24.9 | 0.25 |
//! | 10^6 | 16.4 | 18.6 | 20.4 | 24.6 | 0.39 |
//! | 10^7 | 16.3 | 18.4 | 20.4 | 24.9 | 0.53 |
//!
//! That is 80 bytes of [`Table`] and so many lines of 64 bytes, and beyond 10^3 items also the
//! directory:
//!
//! | items | 1 % | 0.33 % | 0.1 % | 0.01 % |
//! |---|---|---|---|---|
//! | 1 | 1 | 1 | 1 | 1 |
//! | 10 | 1 | 1 | 1 | 1 |
//! | 10^2 | 3 | 4 | 4 | 5 |
//! | 10^3 | 40 | 40 | 48 | 56 |
//! | 10^4 | 336 | 368 | 420 | 496 |
//!
//! A blocked Bloom filter of the right size takes 9.9 at 1 %. What is left of the rate is kept for
//! generations to come, up to some 2^30 items; beyond, new entries get longer fingerprints.
//!
//! # What deletion means
//! Items that share a fingerprint cannot be told apart, so [`Table::remove`] takes the longest that
//! matches: an item with a shorter one stays covered. That is safe for items that were added, each
//! by [`Table::insert`], and not removed yet. After [`Table::insert_if_absent`] it is not: an item
//! that was found by mistake has no entry of its own.
//!
//! # Adversaries
//! Who knows the seed can aim items at one place.
//! - At one fingerprint: they become a counter (`entries`).
//! - At one page: it splits until it is deeper than the others by more than log2(2 / rate), and
//!   answers yes from then on (`Plan::max_depth`). That page is so small a part of all that
//!   the rate does not double even if as many items are aimed as the table holds. Its items are not
//!   counted any more, and removing them does nothing.
//! - At the oldest entries, which lose a bit with each split and match all of their bucket when
//!   none is left: in a bucket these are equal, so however many there are, they too become a
//!   counter.
//!
//! # Roads not taken
//! - **A directory that doubles as a whole**, and one of 512 slots a node: see `directory`.
//! - **A directory of small leaves** (128 buckets, 80 to 448 bytes, as a prototype): half the time
//!   for an insert, but three lines a lookup instead of one, 90 ns instead of 59 in batches at 10^8
//!   items.
//! - **Equal shares of the hash space**: see `path`.
//! - **Sorted lists for small tables**: a page with few buckets is one already.
//!
//! # Sources
//! - Fagin, Nievergelt, Pippenger, Strong, "Extendible hashing", 1979: pages that split one by one.
//! - Bender et al., "Don't thrash: how to cache your hash on flash", 2012: quotient filters.
//! - Pandey et al., "Vector quotient filters", SIGMOD 2021: many small quotient filters of a line
//!   each.
//! - Apple, "Stretching your data with Taffy filters", 2021: fingerprints of many lengths, and
//!   bounds.
//! - Dayan, Bercea, Reviriego, Pagh, "InfiniFilter", SIGMOD 2023: the delimiter, deletion of the
//!   longest.
//! - Dayan, Bercea, Pagh, "Aleph filter", VLDB 2024: entries without bits.

mod bucket;
#[allow(
    unsafe_code,
    reason = "calls what is compiled for BMI2, behind detection"
)]
mod change;
mod cut;
mod directory;
mod entries;
mod grid;
mod grow;
#[allow(unsafe_code, reason = "an intrinsic, behind detection")]
mod instructions;
mod line;
mod load;
#[allow(
    unsafe_code,
    reason = "calls what is compiled for BMI2, behind detection"
)]
mod lookup;
mod mark;
mod packed;
mod page;
mod parse;
mod path;
mod payloads;
mod plan;
mod rate;
mod record;
mod shift;
mod table;
mod totals;
mod union;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

pub use change::Adding;
pub use cut::Cut;
pub use instructions::instructions_name;
pub use lookup::{Lines, Slots, GROUP};
pub use mark::MAX_PAYLOAD;
pub use parse::{Pages, Payloads};
pub use payloads::{Entry, Swept};
pub use record::PageRecord;
pub use table::{Table, ALL_PAYLOADS};
