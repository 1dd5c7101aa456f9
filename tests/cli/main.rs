//! The tool as a process, on real servers. `splitbloom_harness` documents how to choose one.

mod cluster;
mod compare;
mod doctor;
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
