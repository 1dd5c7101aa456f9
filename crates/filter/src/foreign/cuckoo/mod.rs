//! RedisBloom's cuckoo filters: read, looked up, counted and deleted from by their own arithmetic.
//!
//! A cuckoo filter has buckets of a few slots of a byte (Fan, Andersen, Kaminsky, Mitzenmacher
//! 2014). An item's fingerprint is in a slot of one of two buckets; 0 is an empty slot. A filter
//! that was full got another layer, of at least as many buckets, so it is a series of layers.
//!
//! ```text
//!   shape     how many layers, buckets and slots there are, and where; an item's fingerprint, and
//!             its two buckets in a layer
//!   series    the slots: all layers one after the other, in segments as our own bits
//!   read      RedisBloom's encoding in RDB files and DUMP; the header and pieces of CF.SCANDUMP
//! ```
//!
//! Nothing is added to the slots. So their error rate, which no longer rises, is what RedisBloom
//! left, and a table of our own behind them has the rate it is given. A deletion takes the copy
//! from the table if it is there, else from the slots.

mod read;
mod series;
mod shape;

pub use read::{read_cuckoo, read_header, Cuckoo, VERSIONS};
pub use series::CuckooSeries;
pub use shape::{Hashing, Shape};

#[cfg(test)]
mod tests;
