//! The fuzz targets, run by the fuzzers in `fuzz/` and replayed by `cargo test`: one function a
//! target, which takes any bytes and panics if they break an invariant.
//!
//! ```text
//!   decode      a chain of chunks, checksums corrected      \  the decoder against a second
//!   chunks      chunks in any order, changed, cut, repeated /  reader; memory is bounded
//!   foreign     what RedisBloom writes                      the decoders against a second reader
//!   operations  adds, lookups, copies, transfers, moves        against sets of items
//!   counting    the same of counting filters, and removals     against multisets
//!   cuckoo      what RedisBloom writes of cuckoo filters       against a second reader
//!   windowed    the same of windowed filters, and time         against the times of items
//!   valkey      what valkey-bloom writes                   the decoders against a second reader
//!   options     the words of BF.RESERVE, BF.INSERT, loadmodule against their meaning
//!   packing     items in one argument                         against what packs them
//!   file        a file of the tool, checksums corrected        against a second reader
//!   cms         saved count-min sketches, and what comes then  against a second reader
//!   topk        saved top-k sketches, and what comes then      against a second reader
//!   tdigest     saved t-digests, and what comes then           against a second reader
//! ```
//!
//! `laws` has the invariants of every filter, wherever it came from, and `survival` what each gets
//! through; `fuzzed` is what each kind of filter does; `runner` runs the operations;
//! `chains` turns filters into chains of the second reader. The second readers are in the crate
//! `oracles`; `twins` compares them with the core.

mod chains;
pub mod chunks;
pub mod cms;
pub mod counting;
pub mod cuckoo;
pub mod decode;
pub mod file;
pub mod foreign;
mod fuzzed;
mod laws;
mod loaded;
pub mod operations;
pub mod options;
pub mod packing;
mod runner;
mod survival;
pub mod tdigest;
pub mod topk;
mod twins;
pub mod valkey;
pub mod windowed;

#[global_allocator]
static ALLOCATOR: splitbloom_test_allocator::TestAllocator =
    splitbloom_test_allocator::TestAllocator;

#[cfg(test)]
mod changed;
#[cfg(test)]
mod kept;
