//! What the benchmarks share: a server of their own, medians of interleaved rounds, tables.

#![allow(dead_code)] // each benchmark uses its part

pub mod info;
pub mod numbers;
pub mod server;
pub mod statistics;
pub mod table;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
