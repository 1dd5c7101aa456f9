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
//!   entries  a page as a sorted list       grow     one page or several from a list
//!   record   a page as bytes               oracle   the same as a plain multiset (tests)
//! ```
//!
//! Nothing big ever happens at once: an insert touches one page and, if that splits, one node of
//! the directory. No allocation is above 64 KiB. Every allocation may fail, and then nothing has
//! changed.
//!
//! # The price
//! Bits an item, all counted, and the part of the rate asked for that is used up:
//!
//! | items | 1 % | 0.1 % | 0.01 % | used at 1 % |
//! |---|---|---|---|---|
//! | 10^2 | 28.2 | 33.3 | 33.3 | 0.01 |
//! | 10^3 | 21.3 | 25.3 | 29.4 | 0.03 |
//! | 10^4 | 17.5 | 22.2 | 26.5 | 0.10 |
//! | 10^5 | 16.4 | 20.6 | 24.6 | 0.21 |
//! | 10^6 | 16.4 | 20.4 | 24.6 | 0.36 |
//! | 10^8 | 16.2 | | | 0.64 |
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

mod directory;
mod entries;
mod grid;
mod grow;
#[allow(unsafe_code, reason = "an intrinsic, behind detection")]
mod instructions;
mod line;
#[allow(
    unsafe_code,
    reason = "calls what is compiled for BMI2, behind detection"
)]
mod lookup;
mod mark;
mod page;
mod path;
mod plan;
mod rate;
mod record;
mod table;
mod totals;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

pub use mark::MAX_PAYLOAD;
pub use record::Loader;
pub use table::{Table, ALL_PAYLOADS};
