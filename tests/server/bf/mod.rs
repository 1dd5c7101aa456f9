//! The Bloom filters: the BF commands.

mod add;
mod changes;
mod info;
mod insert;
mod keys;
mod merge;
mod reserve;
mod shrink;
mod shrinking;

pub use info::{names, FULL_FIELDS};
