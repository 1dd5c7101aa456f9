//! A machine as `make` sees it: PATH is a single folder, with the few programs that every Debian
//! has and stand-ins for those that a test is about.

use splitbloom_harness::{write_script, Folder};
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub const COMPILER: &str = "cc";
pub const PYTHON: &str = "python3";
pub const REDIS_CLI: &str = "redis-cli";

/// What the Makefile and its scripts use before anything is built; except for make, all are
/// essential packages in Debian.
const ALWAYS_THERE: [&str; 14] = [
    "awk", "bash", "cat", "chmod", "cut", "dirname", "env", "flock", "grep", "make", "mkdir",
    "sed", "sh", "sort",
];

pub struct Machine {
    folder: Folder,
}

impl Machine {
    /// A machine used by root, with libclang and these programs, which do nothing and succeed.
    pub fn with(programs: &[&str]) -> Machine {
        let machine = Machine { folder: Folder::fresh() };
        for tool in ALWAYS_THERE {
            symlink(on_path(tool), machine.folder.path().join(tool)).expect("a link");
        }
        programs.iter().fold(machine.user(0), |machine, program| machine.program(program, ""))
    }

    /// Adds a program with this shell script.
    pub fn program(self, name: &str, script: &str) -> Machine {
        write_script(&self.folder.path().join(name), &format!("#!/bin/sh\n{script}\n"));
        self
    }

    pub fn without(self, name: &str) -> Machine {
        fs::remove_file(self.folder.path().join(name)).expect("an existing program");
        self
    }

    /// Adds a Rust of this version. Any other use of cargo is logged and fails.
    pub fn rust(self, version: &str) -> Machine {
        let tell = |program| {
            format!(
                "[ \"$1\" = --version ] && echo '{program} {version} (0123abcd 2026-01-01)' && exit"
            )
        };
        let note = format!("echo \"$*\" >>'{}'; exit 1", self.path("cargo.log"));
        let (cargo, rustc) = (tell("cargo") + "\n" + &note, tell("rustc"));
        self.program("cargo", &cargo).program("rustc", &rustc)
    }

    /// Sets the user id.
    pub fn user(self, number: u32) -> Machine {
        self.program("id", &format!("echo {number}"))
    }

    /// Adds an apt-get that logs its arguments and installs these programs.
    pub fn apt_get_that_installs(self, programs: &str) -> Machine {
        let (log, folder) = (self.path("apt-get.log"), self.path(""));
        let script = format!(
            "echo \"$*\" >>'{log}'
            [ \"$1\" != install ] || \
             for program in {programs}; do \
             echo '#!/bin/sh' >'{folder}'$program; chmod +x '{folder}'$program; done"
        );
        self.program("apt-get", &script)
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub fn cargo_log(&self) -> String {
        fs::read_to_string(self.folder.path().join("cargo.log")).unwrap_or_default()
    }

    pub fn apt_get_log(&self) -> String {
        fs::read_to_string(self.folder.path().join("apt-get.log")).unwrap_or_default()
    }

    pub fn make(&self, words: &[&str]) -> MakeRun {
        let output = Command::new(self.folder.path().join("make"))
            .args(words)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env_clear()
            .env("PATH", self.folder.path())
            .env("LIBCLANG_PATH", self.folder.path()) // PATH cannot hide a library
            .stdin(Stdio::null())
            .output();
        MakeRun(output.expect("make runs"))
    }
}

/// The result of a run of make.
pub struct MakeRun(Output);

impl MakeRun {
    pub fn succeeded(&self) -> bool {
        self.0.status.success()
    }

    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    /// The error output of a failed run, without make's own lines.
    pub fn refusal(&self) -> Vec<String> {
        assert!(!self.succeeded());
        let text = String::from_utf8_lossy(&self.0.stderr);
        let lines = text.lines().filter(|line| !line.starts_with("make"));
        lines.map(str::to_owned).collect()
    }
}

fn on_path(tool: &str) -> PathBuf {
    let path = env::var_os("PATH").expect("a PATH");
    let found = env::split_paths(&path).map(|folder| folder.join(tool));
    let mut found = found.filter(|path| Path::is_file(path));
    found.next().unwrap_or_else(|| panic!("{tool} is not on PATH"))
}
