//! A PostgreSQL of our own in a temporary folder; dropping it removes both.

use crate::Outcome;
use splitbloom_rig::Port;
use std::os::unix::fs::{chown, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs, thread};

/// Where Debian's packages install each version.
const VERSIONS: &str = "/usr/lib/postgresql";
const TRIES: u32 = 600;

pub struct Postgres {
    programs: PathBuf,
    user: Option<(u32, u32)>,
    process: Child,
    folder: PathBuf,
    port: Port,
}

impl Postgres {
    /// Starts it on a free loopback port.
    ///
    /// # Errors
    /// It is not installed or does not start; the error contains its log.
    pub fn start() -> Outcome<Postgres> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let programs = programs().ok_or("PostgreSQL is not installed")?;
        let name = format!("splitbloom-postgres-{}-{number}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        let user = unprivileged()?;
        if let Some((uid, gid)) = user {
            chown(&folder, Some(uid), Some(gid))?;
        }
        let command = |program| command(&programs.join(program), user, &folder);
        let settings = ["-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8"];
        let made = command("initdb").args(settings).output()?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into());
        }
        let port = Port::free()?;
        let log = fs::File::create(folder.join("log"))?;
        let process = command("postgres")
            .args(["-p", &port.number().to_string(), "-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "unix_socket_directories=", "-c", "fsync=off"])
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(Postgres { programs, user, process, folder, port })
    }

    /// How to connect to it, once it answers.
    ///
    /// # Errors
    /// It never does; the error contains its log.
    pub async fn config(&mut self) -> Outcome<tokio_postgres::Config> {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(self.port.number());
        config.user("postgres").dbname("postgres");
        for _ in 0..TRIES {
            if config.connect(tokio_postgres::NoTls).await.is_ok() {
                return Ok(config);
            }
            if self.process.try_wait()?.is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(self.folder.join("log"))?;
        Err(format!("PostgreSQL does not answer:\n{log}").into())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Not by SIGKILL, after which a shared segment stays.
        let mut stop = command(&self.programs.join("pg_ctl"), self.user, &self.folder);
        stop.args(["-m", "immediate", "-s", "stop"]).status().ok();
        self.process.wait().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// A program of PostgreSQL's, with the folder's data, as that user.
fn command(program: &Path, user: Option<(u32, u32)>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).arg("-D").arg(folder.join("data"));
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command.stdin(Stdio::null());
    command
}

/// The newest version's programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.flatten();
    let programs = versions.map(|version| version.path().join("bin"));
    let whole = programs.filter(|programs| programs.join("initdb").exists());
    whole.max_by_key(|programs| version(programs))
}

fn version(programs: &Path) -> u32 {
    let version = programs.parent().and_then(Path::file_name);
    let version = version.and_then(|name| name.to_str());
    version.and_then(|name| name.parse().ok()).unwrap_or(0)
}

/// PostgreSQL refuses to run as root: then it runs as the user that its package has created.
fn unprivileged() -> Outcome<Option<(u32, u32)>> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let mut users = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let user = users.find(|fields| fields[0] == "postgres");
    let user = user.ok_or("no user postgres to run PostgreSQL as, instead of root")?;
    Ok(Some((user[2].parse()?, user[3].parse()?)))
}
