//! What `make` does before it builds, on simulated machines that lack something.

mod machine;
mod texts;
mod verify;

use machine::{Machine, COMPILER, PYTHON, REDIS_CLI};

/// The minimum Rust version in Cargo.toml.
const MINIMUM_RUST: &str = env!("CARGO_PKG_RUST_VERSION");
const TOOLS: [&str; 3] = [COMPILER, PYTHON, REDIS_CLI];

#[test]
fn an_older_rust_is_refused_in_one_sentence_with_both_versions_before_it_is_used() {
    // 1.9 is older, although it sorts higher as text.
    for found in ["1.65.0", "1.85.0", "1.9.0"] {
        for target in ["run", "test"] {
            let machine = Machine::with(&TOOLS).rust(found);
            let refusal = machine.make(&[target]).refusal();
            let cargo = machine.path("cargo");
            let sentence = format!(
                "Rust {MINIMUM_RUST} or later is required, but {cargo} is {found}; install it \
                 with rustup (https://rustup.rs)"
            );
            assert_eq!(refusal, [sentence]);
            assert_eq!(machine.cargo_log(), "");
        }
    }
}

#[test]
fn the_minimum_rust_and_a_nightly_are_accepted() {
    for found in [format!("{MINIMUM_RUST}.0"), "1.100.0-nightly".to_owned()] {
        let machine = Machine::with(&TOOLS).rust(&found);
        assert!(machine.make(&["toolchain"]).succeeded(), "{found}");
    }
}

#[test]
fn a_missing_or_incomplete_rust_is_reported() {
    let machine = Machine::with(&TOOLS);
    let [sentence] = machine.make(&["test"]).refusal().try_into().expect("a line");
    assert!(sentence.contains("there is no cargo on PATH; install it with rustup"), "{sentence}");

    let machine = Machine::with(&TOOLS).rust("1.100.0").without("rustc");
    let [sentence] = machine.make(&["test"]).refusal().try_into().expect("a line");
    assert!(sentence.contains("there is no rustc on PATH"), "{sentence}");

    // rustup's proxies exist before a toolchain does.
    let machine =
        Machine::with(&TOOLS).program("rustup", "").rust("1.100.0").program("cargo", "exit 1");
    let [sentence] = machine.make(&["test"]).refusal().try_into().expect("a line");
    let told = "cargo does not run; type: rustup update stable && rustup default stable";
    assert!(sentence.ends_with(told), "{sentence}");
}

#[test]
fn without_root_one_command_names_every_missing_package_before_anything_is_built() {
    let goals: [(&[&str], &str); 3] = [
        (&["run"], "build-essential redis-tools"),
        (&["test"], "build-essential python3-venv"),
        (&["test", "run"], "build-essential python3-venv redis-tools"),
    ];
    for (targets, packages) in goals {
        for (sudo, become_root) in [("exit 1", "sudo sh -c"), ("", "su - -c")] {
            let mut machine = Machine::with(&[]).rust("1.100.0").user(1000);
            if !sudo.is_empty() {
                machine = machine.program("sudo", sudo); // it asks for a password
            }
            let [sentence] = machine.make(targets).refusal().try_into().expect("a line");
            let install = "apt-get install --yes --no-install-recommends";
            let command = format!(
                "{packages} must be installed; type: {become_root} 'apt-get update && {install} \
                 {packages}'"
            );
            assert_eq!(sentence, command);
            assert_eq!(machine.cargo_log(), "");
        }
    }
}

#[test]
fn an_old_rust_and_missing_packages_are_named_together() {
    let machine = Machine::with(&[PYTHON]).rust("1.65.0").user(1000);
    let [rust, packages] = machine.make(&["run"]).refusal().try_into().expect("two lines");
    assert!(rust.starts_with(&format!("Rust {MINIMUM_RUST} or later")), "{rust}");
    assert!(packages.starts_with("build-essential redis-tools must be installed"), "{packages}");
}

#[test]
fn as_root_all_missing_packages_are_installed_at_once() {
    let installs = format!("{COMPILER} {PYTHON} {REDIS_CLI}");
    let machine = Machine::with(&[]).rust("1.100.0").user(0).apt_get_that_installs(&installs);
    assert!(machine.make(&["toolchain", "run", "test", "--dry-run"]).succeeded());
    assert_eq!(machine.apt_get_log(), "", "a dry run installs nothing");

    assert!(!machine.make(&["test", "run"]).succeeded(), "its cargo builds nothing");
    let install = "install --yes --no-install-recommends build-essential python3-venv redis-tools";
    assert_eq!(machine.apt_get_log(), format!("-qq update\n{install}\n"));
}

#[test]
fn make_help_separates_every_target_from_its_description() {
    let help = Machine::with(&[]).make(&["help"]);
    assert!(help.succeeded());
    let listed = help.output();
    let makefile = include_str!("../../Makefile");
    let described = makefile.lines().filter_map(|line| line.split_once(" ## "));
    let mut targets = 0;
    for (rule, description) in described {
        let target = rule.split(':').next().expect("a name");
        let line = listed.lines().find(|line| line.ends_with(description));
        let words: Vec<&str> = line.expect("a line").split_whitespace().take(2).collect();
        assert_eq!(words, ["make", target]);
        targets += 1;
    }
    let listed = listed.lines().filter(|line| line.starts_with("  make "));
    assert!(targets > 20);
    assert_eq!(listed.count(), targets, "it lists nothing else");
}
