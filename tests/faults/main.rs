//! The faults of docs/faults.md, on real servers: kills, cuts, full disks, no memory, and what must hold through each.
//!
//! Each module is a kind of fault. `SPLITBLOOM_FAULTS=long` makes fifty kills of three and a hundred cuts of eight.

#[path = "../harness/mod.rs"]
mod harness;

mod cuts;
mod disk;
mod extremes;
mod keyspace;
mod kills;
mod loading;
mod memory;
mod panics;
mod refusals;
mod saves;
mod topology;

use harness::{Options, Server};
use std::env;
use std::path::PathBuf;

/// A server with the build of the module that can be told to fail, see `src/redis/injection.rs`.
fn server_with_injection(settings: &[&str]) -> Server {
    let module = env::var_os("SPLITBLOOM_FAULTY_MODULE");
    let module = module.expect("SPLITBLOOM_FAULTY_MODULE names a build with injected-faults");
    Server::with(Options {
        module: Some(PathBuf::from(module)),
        provokes_panics: true,
        ..Options::settings(settings)
    })
}

/// So many times: `long` when asked for by `SPLITBLOOM_FAULTS=long`, else `short`.
fn times(short: u64, long: u64) -> u64 {
    match env::var("SPLITBLOOM_FAULTS").as_deref() {
        Ok("long") => long,
        _ => short,
    }
}
