//! The tool as a process, on real servers. `harness` documents how to choose one.

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../server/foreign/samples.rs"]
#[allow(dead_code, reason = "the tests of the server use the rest")]
mod samples;
#[path = "../cluster/trial/mod.rs"]
mod trial;

mod cluster;
mod compare;
mod errors;
mod files;
mod info;
mod inputs;
mod interruptions;
mod load;
mod migrate;
mod outputs;
mod partitions;
mod redisbloom;
mod shrink;
mod size;
mod terminal;
mod tls;
mod tool;
