//! The module in real servers. `harness` documents how to choose one.

#[path = "../harness/mod.rs"]
mod harness;

mod acl_and_docs;
mod cf;
mod changes;
mod clear;
mod clients;
mod commands;
mod config;
mod crashes;
mod errors;
mod expiry;
mod false_positives;
mod followers;
mod foreign;
mod golden;
mod hostile;
mod keys;
mod keyspace;
mod kinds;
mod library;
mod loading;
mod machine;
mod memory;
mod merge;
mod missing;
mod monitoring;
mod packed;
mod persistence;
mod plain_server;
mod pollution;
mod practice;
mod replays;
mod replication;
mod secrecy;
mod shrink;
mod shrinking;
mod windows;

use foreign::samples;
