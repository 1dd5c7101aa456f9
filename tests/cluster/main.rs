//! One filter over many nodes, on real clusters of local processes. `harness` documents how to
//! choose the server.

#[path = "../harness/mod.rs"]
mod harness;

mod atomic;
mod client;
mod failover;
mod python;
mod slots;
mod trial;
