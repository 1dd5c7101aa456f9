//! A server of our own with its data in a temporary directory; dropping it removes both.

use crate::Outcome;
use redis::Connection;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs, thread};

pub use splitbloom_harness::Port;

/// What to start.
#[derive(Clone)]
pub struct Setup {
    pub executable: PathBuf,
    pub module: PathBuf,
    /// More command-line arguments.
    pub settings: Vec<String>,
}

impl Setup {
    /// This module, on the server that `scripts/with-server` found.
    pub fn ours() -> Outcome<Setup> {
        let path = |name| {
            let missing = format!("{name} must be set: see the Makefile");
            env::var_os(name).map(PathBuf::from).ok_or(missing)
        };
        Ok(Setup {
            executable: path("SPLITBLOOM_SERVER")?,
            module: path("SPLITBLOOM_MODULE")?,
            settings: Vec::new(),
        })
    }

    /// The module to compare with, if `PEER` names one, on `PEER_SERVER` or the same server.
    pub fn peer() -> Outcome<Option<Setup>> {
        let named = |name| env::var_os(name).filter(|value| !value.is_empty());
        let Some(module) = named("PEER") else {
            return Ok(None);
        };
        let ours = Setup::ours()?;
        Ok(Some(Setup {
            executable: named("PEER_SERVER").map_or(ours.executable, PathBuf::from),
            module: fs::canonicalize(module)?, // the server changes its working directory first
            settings: Vec::new(),
        }))
    }

    /// Adds a setting, such as `with("appendonly", "yes")`.
    pub fn with(mut self, name: &str, value: &str) -> Setup {
        self.settings.push(format!("--{name}"));
        self.settings.push(value.to_string());
        self
    }
}

/// A running server.
pub struct Server {
    setup: Setup,
    process: Child,
    port: Port,
    folder: PathBuf,
}

impl Server {
    /// Starts it on a free loopback port.
    pub fn start(setup: Setup) -> Outcome<Server> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder =
            env::temp_dir().join(format!("splitbloom-run-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let port = Port::free()?;
        let process = Self::spawn(&setup, port.number(), &folder)?;
        Ok(Server { setup, process, port, folder })
    }

    /// `--save ""`: the server saves only on request.
    fn spawn(setup: &Setup, port: u16, folder: &Path) -> Outcome<Child> {
        let process = Command::new(&setup.executable)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--loadmodule"])
            .arg(&setup.module)
            .args(&setup.settings)
            .arg("--dir")
            .arg(folder)
            .stdout(fs::File::create(folder.join("log"))?)
            .spawn()?;
        Ok(process)
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }

    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Connects once the server has loaded its data; the error contains its log if it never does.
    pub fn connect(&mut self) -> Outcome<Connection> {
        let client = redis::Client::open(("127.0.0.1", self.port.number()))?;
        for _ in 0..6_000 {
            if let Ok(mut connection) = client.get_connection() {
                if redis::cmd("PING").query::<()>(&mut connection).is_ok() {
                    return Ok(connection);
                }
            }
            if self.process.try_wait()?.is_some() {
                break; // it has exited: the log says why
            }
            thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(self.folder.join("log"))?;
        Err(format!("the server does not respond:\n{log}").into())
    }

    /// Kills the server and restarts it on the data it last saved.
    pub fn restart(&mut self) -> Outcome<()> {
        self.process.kill()?;
        self.process.wait()?;
        self.process = Self::spawn(&self.setup, self.port.number(), &self.folder)?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}
