//! splitbloom: `BF.*` and `CF.*` for Redis and Valkey, on the filters of `splitbloom_filter`.
//!
//! ```text
//!   module     what happens when a server loads the module
//!   commands   parse, open, act, propagate, reply        types   filters as values of the server
//!   config     the settings                              stats   counters for INFO
//!   sweeper    frees what filters have forgotten         slow_log  what a log shows of seeds
//!   journal    what is new in filters that clients follow
//!   shrinking   folds large filters between commands
//! ```
//!
//! `splitbloom_server` is the module API made safe; it knows no filter.
//!
//! The modules are private: a server looks up one function in this library, and unused code is
//! reported as dead.

#![forbid(unsafe_code)]

mod commands;
mod config;
mod journal;
mod module;
mod shrinking;
mod slow_log;
mod stats;
mod sweeper;
mod types;
