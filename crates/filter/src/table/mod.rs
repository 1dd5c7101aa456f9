//! The growing table: a multiset of fingerprints that grows page by page, counts, and deletes.
//!
//! # The idea
//! A Bloom filter does not store its items, so it cannot be rehashed into a larger one. A table of
//! **fingerprints** can: a fingerprint is a prefix of the item's hash, without the bits that its
//! place in the table implies. A full page splits by the next bit of the hash. That bit is no
//! longer needed in the fingerprint, so each entry pays for growth with one bit.
//!
//! ```text
//!   an item: | page 0110  | bucket 01001101001 | fingerprint 1101011100 | not stored ...
//!
//!   after:   | page 01100 | bucket 10011010011 | fingerprint 101011100  | not stored ...
//! ```
//!
//! Half of all entries were added since the last doubling and have the full length; a quarter are
//! one bit shorter, and so on. A fingerprint with j bits fewer matches 2^j times as many absent
//! items, but there are only 2^-j as many. So each generation adds the same amount to the
//! false-positive rate, which grows with the logarithm of the size. `plan` divides the error rate
//! among all later generations, so that the sum never exceeds it.
//!
//! # The parts
//! ```text
//!   Table          table      insert, count, remove; lookup: contains, batches
//!   └ Subtree      directory  from a path to its page: a tree of arrays of children
//!     └ Page       page       at most 8 KiB: all entries below one prefix, in buckets
//!       └ Line     line       64 bytes: unary counts of its buckets, and slots
//!
//!   path         hash to bit string                plan      lengths and sizes for an error rate
//!   fingerprint  of any length, also in a slot     rate      the false-positive rate, exactly
//!   entries      a page as a sorted list           grid      how a page is cut into buckets, lines
//!   record       a page as bytes                   grow      one page or several, within a budget
//!   parse        bytes as pages                    transfer  dumps and loads page by page
//!   union        the entries of several tables     payloads  entries renewed, dropped by payload
//!   totals       sums over all pages               shift     bits of a line that an entry moves
//!   schedule     which entries get more bits
//!   follow       a copy gets what its original got
//!   instructions CPU-specific primitives
//! ```
//!
//! Every step is small: an insert touches one page and, if that splits, one node of the directory.
//! No allocation is larger than 64 KiB. Any allocation may fail, and then nothing has changed.
//!
//! Saving a table reads page by page and allocates nothing; loading puts runs of pages into a table
//! that stays usable. A copy shares whatever the first node of the directory points to, until one
//! of the two tables writes below it.
//!
//! # The price
//! Bits per item, everything included, and the share of the error rate that is used. (A table that
//! follows a Bloom filter gets a third of the filter's error rate.)
//!
//! | items | 1 % | 0.33 % | 0.1 % | 0.01 % | used at 1 % |
//! |---|---|---|---|---|---|
//! | 10 | 102 | 102 | 102 | 102 | 0.00 |
//! | 10^2 | 20.5 | 25.6 | 25.6 | 30.7 | 0.04 |
//! | 10^3 | 21.0 | 21.0 | 25.1 | 29.2 | 0.07 |
//! | 10^4 | 16.9 | 19.8 | 22.4 | 26.8 | 0.14 |
//! | 10^5 | 16.4 | 18.2 | 20.6 | 24.7 | 0.25 |
//! | 10^6 | 16.5 | 18.7 | 20.4 | 24.5 | 0.39 |
//! | 10^7 | 16.3 | 18.4 | 20.6 | 24.8 | 0.53 |
//!
//! This includes the 64 bytes of [`Table`], beyond 10^3 items the directory, and the following
//! number of lines of 64 bytes:
//!
//! | items | 1 % | 0.33 % | 0.1 % | 0.01 % |
//! |---|---|---|---|---|
//! | 1 | 1 | 1 | 1 | 1 |
//! | 10 | 1 | 1 | 1 | 1 |
//! | 10^2 | 3 | 4 | 4 | 5 |
//! | 10^3 | 40 | 40 | 48 | 56 |
//! | 10^4 | 328 | 384 | 432 | 520 |
//!
//! A blocked Bloom filter of the right size takes 9.9 at 1 %. The rest of the error rate is kept
//! for later generations, up to some 2^30 items; beyond that, new entries get longer fingerprints.
//!
//! A table that was reserved for its number of items, if it may grow beyond that, and if not:
//!
//! | items | 1 % | 0.1 % | 0.01 % | used at 1 % | fixed, 1 % | 0.1 % | 0.01 % | used at 1 % |
//! |---|---|---|---|---|---|---|---|---|
//! | 10^4 | 13.7 | 17.4 | 21.6 | 0.34 | 11.6 | 16.2 | 20.3 | 0.92 |
//! | 10^5 | 13.4 | 17.9 | 21.8 | 0.37 | 11.9 | 15.8 | 19.9 | 0.89 |
//! | 10^6 | 13.5 | 17.6 | 21.9 | 0.43 | 12.3 | 16.2 | 20.4 | 0.87 |
//! | 10^7 | 13.8 | 17.9 | 21.9 | 0.46 | 12.6 | 16.6 | 20.9 | 0.88 |
//!
//! At 64 times the number reserved, 10^5 at 1 %, it takes 17.0 bits, and uses 0.78 of the rate.
//!
//! # What deletion means
//! Items with equal fingerprints are indistinguishable, so [`Table::remove`] removes the longest
//! fingerprint that matches: an item with a shorter one stays covered. That is safe for items that
//! were added, each by [`Table::insert`], and not removed yet. After [`Table::insert_if_absent`] it
//! is not: an item that was a false positive has no entry of its own.
//!
//! # Adversaries
//! An attacker who knows the seed can aim items at one place.
//! - At one fingerprint: its copies become a counter (`entries`).
//! - At one page: it splits until it is deeper than the others by more than log2(2 / rate), then
//!   saturates: it matches every lookup (`Plan::max_depth`). It is so small a part of the table
//!   that the rate does not double even if as many items are aimed at it as the table holds. Its
//!   items are no longer counted, and removing them does nothing.
//! - At the oldest entries, which lose a bit with each split and match everything in their bucket
//!   when no bit is left: within a bucket they are equal, so they too become a counter.
//!
//! # Alternatives
//! - **A directory that doubles as a whole**, and one of 512 slots a node: see `directory`.
//! - **A directory of small leaves** (128 buckets, 80 to 448 bytes, a prototype): half the time for
//!   an insert, but three lines a lookup instead of one: 90 ns instead of 59 in batches at 10^8
//!   items.
//! - **Equal shares of the hash space**: see `path`.
//! - **Sorted lists for small tables**: a page with few buckets is already a sorted list.
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
mod fingerprint;
mod follow;
mod grid;
mod grow;
#[allow(unsafe_code, reason = "intrinsics, behind proofs of the CPU's features")]
mod instructions;
mod line;
mod lookup;
mod page;
mod parse;
mod path;
mod payloads;
mod plan;
mod rate;
mod record;
mod schedule;
mod shift;
#[allow(clippy::module_inception, reason = "the folder is named after its main type")]
mod table;
mod totals;
mod transfer;
mod union;

#[cfg(test)]
mod tests;

pub use fingerprint::{ALL_PAYLOADS, MAX_PAYLOAD};
pub use grow::Budget;
pub use instructions::instructions_name;
pub use lookup::{Probes, Routes};
pub use page::Adding;
pub use parse::{Pages, Payloads};
pub use payloads::{Entry, SweepStep};
pub use record::PageRecord;
pub use schedule::Reservation;
pub use table::Table;
pub use transfer::Cut;
pub use union::{UnionLimits, United};
