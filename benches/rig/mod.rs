//! What the benchmarks share: servers of their own, medians over interleaved rounds, tables.

#![allow(dead_code)] // each benchmark uses part of it

pub mod info;
pub mod numbers;
pub mod parts;
pub mod process;
pub mod server;
pub mod slow;
pub mod statistics;
pub mod table;
pub mod urls;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
