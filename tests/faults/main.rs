//! The faults in docs/faults.md, on real servers: kills, cuts, full disks, no memory, and what must
//! hold in each case.
//!
//! Each module is one kind of fault. `SPLITBLOOM_FAULTS=long` runs fifty kills instead of three,
//! and a hundred cuts instead of eight.

mod cuts;
mod disk;
mod followers;
mod interference;
mod keyspace;
mod kills;
mod loading;
mod memory;
mod panics;
mod refusals;
mod saves;
mod settings;
mod sketches;
mod tables;
mod threads;
mod topology;
mod windows;

use splitbloom_harness::{Connection, Options, Server};
use std::env;
use std::path::PathBuf;

/// A server with the build of the module that fails on demand; see
/// `crates/server/src/failpoints.rs`.
fn server_with_failpoints(settings: &[&str]) -> Server {
    Server::with(Options {
        module: Some(faulty_module()),
        provokes_panics: true,
        ..Options::settings(settings)
    })
}

fn faulty_module() -> PathBuf {
    let module = env::var_os("SPLITBLOOM_FAULTY_MODULE");
    let module =
        module.expect("SPLITBLOOM_FAULTY_MODULE is the path of a build with injected-faults");
    PathBuf::from(module)
}

/// Runs `act` while the module for filters can allocate only this many further blocks.
fn with_blocks<T>(db: &mut Connection, blocks: u64, act: impl FnOnce(&mut Connection) -> T) -> T {
    db.run(&format!("CONFIG SET bf.inject-refusal {blocks}"));
    let done = act(db);
    db.run(&format!("CONFIG SET bf.inject-refusal {}", i64::MAX));
    done
}

/// How many times to repeat: `long` with `SPLITBLOOM_FAULTS=long`, otherwise `short`.
fn times(short: u64, long: u64) -> u64 {
    match env::var("SPLITBLOOM_FAULTS").as_deref() {
        Ok("long") => long,
        _ => short,
    }
}
