//! A guard against cache penetration: requests for ids that do not exist are answered by a filter
//! in the cache and never reach the database.
//!
//! `service` is the recipe, with the `cache` and the `table` that it asks; everything else tries
//! it: `postgres` starts what it needs, `load` asks, `trial` measures, `report` and `plot`
//! show. docs/recipes/guard.md explains it.

pub mod cache;
pub mod load;
pub mod plot;
pub mod postgres;
pub mod report;
pub mod service;
pub mod table;
pub mod trial;
pub mod web;

/// What a program does with an error: it shows it and ends.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
