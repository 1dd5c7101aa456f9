//! The tool as a process, on real servers. `harness` documents how to choose one.

#[path = "../harness/mod.rs"]
mod harness;

mod errors;
mod files;
mod info;
mod size;
mod tool;
