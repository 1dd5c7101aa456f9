//! The tool as a process, on real servers. `harness` documents how to choose one.

#[path = "../harness/mod.rs"]
mod harness;
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
mod outputs;
mod size;
mod terminal;
mod tls;
mod tool;
