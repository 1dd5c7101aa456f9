//! What scripts and packages say.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file")
}

/// Cargo unifies features over all packages of a build, so another set would be built again.
#[test]
fn tests_are_built_once_and_whoever_waits_for_a_wheel_sees_it_compile() {
    for script in ["server-tests", "fault-tests", "python-tests"] {
        let script = read(&format!("scripts/{script}"));
        let mut cargo = script
            .lines()
            .filter(|line| line.contains("cargo build") || line.contains("cargo test"));
        assert!(cargo.all(|line| line.contains("--workspace")), "{script}");
    }
    let wheel = read("scripts/wheel");
    assert!(wheel.contains(" >&2\n") && !wheel.contains("--quiet"), "{wheel}");
}

#[test]
fn each_package_says_that_there_are_filters_and_sketches() {
    for package in ["debian/control", "rpm/splitbloom.spec", "alpine/APKBUILD"] {
        let summary = "Bloom filters and sketches for Redis and Valkey, as loadable modules";
        assert!(read(&format!("packaging/{package}")).contains(summary), "{package}");
    }
}
