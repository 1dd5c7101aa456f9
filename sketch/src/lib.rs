//! splitsketch: `CMS.*`, `TOPK.*` and `TDIGEST.*` for Redis and Valkey, on the sketches of
//! `splitbloom_sketch`. It is a module of its own, so that users who want only filters need not
//! load it.
//!
//! ```text
//!   module        what happens when a server loads the module
//!   config        the settings
//!   cms           CMS.*        stored    sketches as values of the server
//!   topk          TOPK.*       errors    what a client sees if a command fails
//!   tdigest       TDIGEST.*    window    the words of sketches over a window
//!   free          frees values that a command has replaced
//!   merge         what CMS.MERGE and TDIGEST.MERGE share
//! ```
//!
//! Each family has a file for each group of its commands, and one that says how its values are
//! saved.

#![forbid(unsafe_code)]

mod cms;
mod config;
mod errors;
mod free;
mod merge;
mod module;
mod stored;
mod tdigest;
mod topk;
mod window;
