//! splitbloom: Bloom filters (`BF.*`) for Redis and Valkey, split into small sub-bitmaps.
//!
//! - [`filter`]: the filter itself; knows no server.
//! - [`redis`]: the server made safe; knows no filter.
//! - [`commands`], [`data_type`], [`config`], [`stats`]: where the two meet.
//! - [`module`]: what happens when a server loads the module.

pub mod commands;
pub mod config;
pub mod data_type;
pub mod filter;
pub mod module;
pub mod redis;
pub mod stats;
