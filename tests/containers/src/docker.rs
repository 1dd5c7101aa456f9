//! The engine's command line, for what testcontainers does not support.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The output of a command, which must succeed.
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub fn docker(arguments: &[&str]) -> String {
    output(Command::new("docker").args(arguments))
}

/// What the engine has for one test, removed when the test ends.
pub struct Own {
    kind: &'static str,
    pub name: String,
}

impl Own {
    pub fn new(kind: &'static str) -> Own {
        Own { kind, name: own_name(kind) }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        docker(&[self.kind, "rm", "--force", &self.name]);
    }
}

/// A name that no other test uses, in this run or any other.
pub fn own_name(of: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("splitbloom-test-{}-{number}-{of}", std::process::id())
}
