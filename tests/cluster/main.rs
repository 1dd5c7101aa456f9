//! One filter over many nodes, on real clusters of local processes. `splitbloom_harness` documents
//! how to choose the server.

mod atomic;
mod client;
mod follower;
mod python;
mod slots;
