//! The engine's own command line, for what testcontainers has no words for.

use std::process::Command;

/// What a command prints. It must succeed.
pub fn output(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} does not run: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub fn docker(arguments: &[&str]) -> String {
    output(Command::new("docker").args(arguments))
}

/// A name that no other run of the tests uses.
pub fn own_name(of: &str) -> String {
    format!("splitbloom-test-{}-{of}", std::process::id())
}
