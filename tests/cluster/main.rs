//! One filter over many nodes, on real clusters of local processes. `harness` documents how to
//! choose the server.

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../server/kinds.rs"]
#[allow(dead_code, reason = "the tests of the server use the rest")]
mod kinds;
#[path = "../server/foreign/samples.rs"]
#[allow(dead_code, reason = "the tests of the server use the rest")]
mod samples;

mod atomic;
mod client;
mod failover;
mod follower;
mod python;
mod slots;
mod trial;
