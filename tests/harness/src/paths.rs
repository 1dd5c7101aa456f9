//! Where the programs and modules under test are, and the repository.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A path in the repository.
pub fn in_repository(path: &str) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    repository.expect("the folder of tests/harness").join(path)
}

/// The server to test with.
pub fn server_path() -> PathBuf {
    named("SPLITBLOOM_SERVER").unwrap_or_else(|| PathBuf::from("redis-server"))
}

/// The module under test.
pub fn module_path() -> PathBuf {
    let built_here = || in_repository("target/release/libsplitbloom.so");
    let path = named("SPLITBLOOM_MODULE").unwrap_or_else(built_here);
    assert!(path.is_file(), "no module at {}: build it, or set SPLITBLOOM_MODULE", path.display());
    path
}

/// The module for sketches, next to the one under test.
pub fn sketch_module_path() -> PathBuf {
    let path = module_path().with_file_name("libsplitsketch.so");
    assert!(path.is_file(), "no module at {}: build it", path.display());
    path
}

/// The tool under test.
pub fn tool_path() -> PathBuf {
    let beside = || module_path().with_file_name("splitbloom");
    let path = named("SPLITBLOOM_TOOL").unwrap_or_else(beside);
    assert!(path.is_file(), "no tool at {}: build it", path.display());
    path
}

/// A Python with redis-py.
pub fn python() -> Command {
    Command::new(named("SPLITBLOOM_PYTHON").unwrap_or_else(|| PathBuf::from("python3")))
}

/// What Python with redis-py prints, run in the repository.
pub fn run_python(words: &[&str]) -> String {
    let output = python().current_dir(in_repository("")).args(words).output();
    let output = output.expect("Python runs");
    let [printed, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{printed}{errors}with SPLITBLOOM_PYTHON");
    printed
}

fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from)
}
