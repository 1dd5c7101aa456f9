//! The process of a server and the folder that it lives in; both are gone when the test is.

use super::Connection;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const LINES_WORTH_SHOWING: usize = 60;

pub struct Folder(PathBuf);

impl Folder {
    pub fn fresh() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("splitbloom-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary folder can be written");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn configuration(&self) -> PathBuf {
        self.0.join("server.conf")
    }

    pub fn log(&self) -> String {
        let bytes = fs::read(self.0.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn tail_of_log(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LINES_WORTH_SHOWING)..].join("\n")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed lies in the temporary folder, where it does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub struct Process(Child);

impl Process {
    /// Starts a server. Its output is appended to the log of the folder.
    pub fn launch(folder: &Folder) -> Process {
        let log = File::options()
            .create(true)
            .append(true)
            .open(folder.path().join("log"));
        let log = log.expect("the log can be written");
        let executable =
            env::var_os("SPLITBLOOM_SERVER").unwrap_or_else(|| OsString::from("redis-server"));
        let mut command = Command::new(&executable);
        command
            .arg(folder.configuration())
            .current_dir(folder.path());
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log);
        // SAFETY: between fork and exec only a system call is made. A file at its limit is then an error of the write, as on a full
        // disk, and not the end of the process.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                Ok(())
            });
        }
        let child = command.spawn();
        Process(child.unwrap_or_else(|error| {
            panic!("{executable:?} does not run: {error}; SPLITBLOOM_SERVER names the server to test against")
        }))
    }

    /// How the process ended, if it did.
    pub fn end(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("a child can be asked")
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.0.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "SIG{name}");
    }

    pub fn kill(&mut self) {
        // An error means that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// True when this very process answers on the port, with its data loaded.
    pub fn answers_on(&self, port: u16) -> bool {
        let answer = Connection::open(port).and_then(|mut db| db.try_call(["INFO", "server"]));
        let Ok(info) = answer else { return false };
        let loading = Connection::open(port).and_then(|mut db| db.try_call(["DBSIZE"]));
        let ready = loading.is_ok_and(|reply| !reply.is_error());
        ready
            && info
                .text()
                .lines()
                .any(|line| line == format!("process_id:{}", self.0.id()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
