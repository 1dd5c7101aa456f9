//! The module that filters come from, in a server of its own. It is not part of this project:
//! `PEER` names a build of it.

use crate::paths::server_path;
use crate::Options;
use std::env;
use std::fs::canonicalize;
use std::path::PathBuf;

/// How to start a server with the module that `PEER` names; `None`, with a message, if it names
/// none.
pub fn peer() -> Option<Options> {
    let Some(module) = named("PEER") else {
        eprintln!("skipped: PEER names no module to come over from");
        return None;
    };
    // The server changes its folder before it loads the module.
    let module = canonicalize(&module).unwrap_or_else(|error| panic!("{module:?}: {error}"));
    Some(Options {
        module: Some(module),
        executable: Some(named("PEER_SERVER").unwrap_or_else(server_path)),
        ..Options::default()
    })
}

fn named(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}
