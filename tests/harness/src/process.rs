//! The process of a server and its folder; both are removed when the test ends.

use crate::{in_repository, Connection};
use std::env;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const LINES_WORTH_SHOWING: usize = 60;

/// Writes an executable file, through another process. If this one had it open for writing, a
/// process that another test forks could inherit it until it execs, and until then the file could
/// not be executed.
pub fn write_script(path: &Path, script: &str) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut child = install.spawn().expect("install is in coreutils");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(script.as_bytes()).expect("it reads all");
    drop(stdin);
    assert!(child.wait().is_ok_and(|status| status.success()), "{} is writable", path.display());
}

/// Compiles a file of the repository into a shared library.
pub fn compile(source: &str, library: &Path) {
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]).arg(library);
    let status = compiler.arg(in_repository(source)).status();
    assert!(status.is_ok_and(|status| status.success()), "cc is required");
}

pub struct Folder(PathBuf);

impl Folder {
    pub fn fresh() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!("splitbloom-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => {
                    created.expect("the temporary folder is writable");
                    return Folder(path);
                }
            }
        }
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
        // Whatever cannot be removed is harmless in the temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub struct Process(Child);

impl Process {
    /// Starts a server, perhaps in another mode. Its output is appended to the folder's log.
    #[allow(unsafe_code, reason = "what the child does before it becomes the server")]
    pub fn launch(executable: &Path, folder: &Folder, mode: Option<&str>) -> Process {
        let log = File::options().create(true).append(true).open(folder.path().join("log"));
        let log = log.expect("the log is writable");
        let mut command = Command::new(executable);
        command.arg(folder.configuration()).args(mode).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a second handle")).stderr(log);
        // A write beyond the limit on file sizes then fails, as on a full disk, instead of killing
        // the process.
        let ignore_file_limit = || {
            // SAFETY: a system call that touches no memory.
            unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
            Ok(())
        };
        // SAFETY: the closure makes one system call, which is allowed between fork and exec.
        unsafe { command.pre_exec(ignore_file_limit) };
        let child = command.spawn();
        Process(child.unwrap_or_else(|error| {
            panic!(
                "cannot run {executable:?}: {error}; SPLITBLOOM_SERVER is the path of the \
                server to test with"
            )
        }))
    }

    /// The exit status, if the process has exited.
    pub fn end(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("the status of a child")
    }

    /// Sends a signal, one of libc's `SIG` constants.
    #[allow(unsafe_code, reason = "a system call")]
    pub fn signal(&self, number: libc::c_int) {
        // SAFETY: the call accesses no memory of this process.
        let status = unsafe { libc::kill(self.0.id() as libc::pid_t, number) };
        let error = std::io::Error::last_os_error();
        assert_eq!(status, 0, "signal {number}: {error}");
    }

    pub fn kill(&mut self) {
        // An error means that it has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Whether this process answers on the port and has loaded its data.
    pub fn answers_on(&self, port: u16) -> bool {
        let answer = Connection::open(port).and_then(|mut db| db.try_call(["INFO", "server"]));
        let Ok(info) = answer else { return false };
        let loading = Connection::open(port).and_then(|mut db| db.try_call(["DBSIZE"]));
        let ready = loading.is_ok_and(|reply| !reply.is_error());
        ready && info.text().lines().any(|line| line == format!("process_id:{}", self.0.id()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
