//! The module in real servers. `splitbloom_harness` documents how to choose one.
//!
//! # The map
//! ```text
//!   of the commands
//!     bf           the BF commands, each in a file of its name      cf       the CF commands
//!     packed       PACKADD, PACKDEL, PACKEXISTS                     clear    CLEAR
//!     windows      filters that forget                              expiry   EX
//!     contract     one table of all commands: flags, keys, ACL, refusals, documentation
//!     errors       every error, none of which changes anything
//!     effects      what is replicated, signalled, and breaks a WATCH
//!     missing      lookups without a key
//!   filters as values
//!     keyspace     the server's own commands, transactions, scripts, INFO
//!     persistence  files, dumps, copies      golden     bytes of earlier builds
//!     replication  replicas                  replays    refusals in a stream or a file
//!     crashes      crash reports             foreign    of RedisBloom and valkey-bloom
//!     hostile      damaged bytes
//!   numbers
//!     memory, pollution     what a filter costs, and errs
//!   the module
//!     config       settings                  loading    what the log says at the start
//!     machine      kernels                   monitoring packaging/monitoring
//!     secrecy      seeds                     valkey_settings  those of valkey-bloom
//!   clients
//!     clients      redis-rs, redis-py        followers  the follower of the client crate
//!     practice     uses in which others fell short
//! ```

mod bf;
mod cf;
mod clear;
mod clients;
mod config;
mod contract;
mod crashes;
mod effects;
mod errors;
mod expiry;
mod followers;
mod foreign;
mod golden;
mod hostile;
mod keyspace;
mod loading;
mod machine;
mod memory;
mod missing;
mod monitoring;
mod packed;
mod persistence;
mod pollution;
mod practice;
mod replays;
mod replication;
mod secrecy;
mod valkey_settings;
mod windows;
