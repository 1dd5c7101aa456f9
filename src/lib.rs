//! splitbloom: Bloom filters (`BF.*`) for Redis and Valkey, split into small sub-bitmaps.
//!
//! - [`filter`]: the filter itself; knows no server.
//! - [`partition`]: which of several keys an item belongs to; knows neither filter nor server.
//! - [`redis`]: the server made safe; knows no filter.
//! - [`commands`], [`data_type`], [`config`], [`stats`]: where the two meet.
//! - [`module`]: what happens when a server loads the module.
//! - `fuzzing`, in fuzzers and tests only: the laws that any input must leave whole.
//! - `client`, with the feature of that name: a client for one filter over many nodes; no part of the module.

#[cfg(feature = "client")]
pub mod client;
pub mod commands;
pub mod config;
pub mod data_type;
pub mod filter;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod module;
pub mod partition;
pub mod redis;
pub mod stats;
