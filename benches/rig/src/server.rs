//! A server of our own with its data in a temporary directory; dropping it removes both. It is one
//! of the tests' harness, with a client that is typed.

use crate::{named, Outcome};
use redis::Connection;
use splitbloom_harness::{module_path, server_path, Options};
use std::fs;
use std::path::{Path, PathBuf};

pub use splitbloom_harness::Port;

/// What to start.
#[derive(Clone)]
pub struct Setup {
    /// What tables call the module: `splitbloom`, or the peer's file name without `.so`.
    pub name: String,
    pub executable: PathBuf,
    pub module: PathBuf,
    /// More lines of the server's configuration.
    settings: Vec<String>,
}

impl Setup {
    /// This module, on the server that `scripts/with-server` found.
    pub fn ours() -> Setup {
        let (executable, module) = (server_path(), module_path());
        Setup { name: "splitbloom".into(), executable, module, settings: Vec::new() }
    }

    /// The module to compare with, if `PEER` names one, on `PEER_SERVER` or the same server.
    pub fn peer() -> Outcome<Option<Setup>> {
        let Some(module) = named("PEER").map(PathBuf::from) else {
            return Ok(None);
        };
        Ok(Some(Setup {
            name: module.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            executable: named("PEER_SERVER").map_or_else(server_path, PathBuf::from),
            module: fs::canonicalize(module)?, // the server changes its working directory first
            settings: Vec::new(),
        }))
    }

    /// This module, and the one to compare with, if there is one.
    pub fn all() -> Outcome<Vec<Setup>> {
        Ok([Some(Setup::ours()), Setup::peer()?].into_iter().flatten().collect())
    }

    /// Adds a setting, such as `with("appendonly", "yes")`.
    pub fn with(mut self, name: &str, value: &str) -> Setup {
        self.settings.push(format!("{name} {value}"));
        self
    }
}

/// A running server.
pub struct Server(splitbloom_harness::Server);

impl Server {
    /// Starts it on a free loopback port; it saves only on request.
    ///
    /// # Panics
    /// It does not start: the message contains its log.
    pub fn start(setup: Setup) -> Server {
        Server(splitbloom_harness::Server::with(Options {
            executable: Some(setup.executable),
            module: Some(setup.module),
            settings: setup.settings,
            ..Options::default()
        }))
    }

    pub fn port(&self) -> u16 {
        self.0.port()
    }

    pub fn process_id(&self) -> u32 {
        self.0.process()
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port())
    }

    pub fn folder(&self) -> &Path {
        self.0.folder()
    }

    pub fn log(&self) -> String {
        self.0.log()
    }

    pub fn connect(&self) -> Outcome<Connection> {
        Ok(redis::Client::open(self.url())?.get_connection()?)
    }

    /// Kills the server and restarts it on the data it last saved.
    pub fn restart(&mut self) {
        self.0.restart();
    }
}
