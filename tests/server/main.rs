//! The module inside real servers. `harness` says how to choose which.

#[path = "../harness/mod.rs"]
mod harness;

mod acl_and_docs;
mod clients;
mod commands;
mod config;
mod crashes;
mod errors;
mod false_positives;
mod golden;
mod hostile;
mod keys;
mod keyspace;
mod memory;
mod persistence;
mod plain_server;
mod pollution;
mod replication;
mod secrecy;
