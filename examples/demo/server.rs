//! The demo's own server.

use std::error::Error;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use std::{env, fs, thread};

use redis::Connection;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A server process with the module, its data in a temporary folder; both go when it is dropped.
pub struct Server {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// Starts it on a free loopback port.
    pub fn start() -> Outcome<Server> {
        let folder = env::temp_dir().join(format!("splitbloom-demo-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(); // free again at once
        Ok(Server {
            process: Self::spawn(port, &folder)?,
            port,
            folder,
        })
    }

    /// `--save ""`: it saves only when it is asked to.
    fn spawn(port: u16, folder: &Path) -> Outcome<Child> {
        let missing = "SPLITBLOOM_SERVER and SPLITBLOOM_MODULE must be set, as `make demo` does";
        let variable = |name| env::var(name).map_err(|_| missing);
        let (server, module) = (
            variable("SPLITBLOOM_SERVER")?,
            variable("SPLITBLOOM_MODULE")?,
        );
        let process = Command::new(server)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--loadmodule", &module])
            .arg("--dir")
            .arg(folder)
            .stdout(fs::File::create(folder.join("log"))?)
            .spawn()?;
        Ok(process)
    }

    /// A connection, as soon as the server has loaded its data; an error with its log if it never does.
    pub fn connect(&mut self) -> Outcome<Connection> {
        let client = redis::Client::open(("127.0.0.1", self.port))?;
        for _ in 0..200 {
            if let Ok(mut connection) = client.get_connection() {
                if redis::cmd("PING").query::<()>(&mut connection).is_ok() {
                    return Ok(connection);
                }
            }
            if self.process.try_wait()?.is_some() {
                break; // it has ended: the log says why
            }
            thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(self.folder.join("log"))?;
        Err(format!("the server does not answer:\n{log}").into())
    }

    /// Kills it and starts it anew on the data it last saved.
    pub fn restart(&mut self) -> Outcome<()> {
        self.process.kill()?;
        self.process.wait()?;
        self.process = Self::spawn(self.port, &self.folder)?;
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
