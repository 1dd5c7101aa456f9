//! One filter over many nodes: on real clusters of processes on loopback. `harness` says how to choose the server.

#[path = "../harness/mod.rs"]
mod harness;

mod client;
mod failover;
mod python;
mod slots;
mod trial;
