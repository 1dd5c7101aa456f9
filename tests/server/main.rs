//! The module inside real servers. `harness` says how to choose which.

mod harness;
mod plain_server;
