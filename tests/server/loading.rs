//! What the server logs when it loads the module, and when it does not.

use crate::harness::{module_path, Options, Server};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const ADVICE: &str = "Another module with the BF commands is loaded already";

/// The log of a server with one more `loadmodule` line.
fn log_of_a_start_with(module: &Path, argument: &str) -> String {
    Server::refusal(Options {
        module: Some(module.to_owned()),
        module_arguments: argument.to_owned(),
        settings: vec![format!("loadmodule {}", module_path().display())],
        ..Options::default()
    })
}

/// The module in `rival.c`, compiled into a folder of its own.
fn rival() -> PathBuf {
    let folder = env::temp_dir().join(format!("splitbloom-rival-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder is writable");
    let module = folder.join("rival.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/rival.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .arg(&module)
        .arg(source)
        .status();
    assert!(
        compiled.is_ok_and(|status| status.success()),
        "cc is required"
    );
    module
}

#[test]
fn a_module_loaded_twice_says_so() {
    let log = log_of_a_start_with(&module_path(), "");
    let words = "splitbloom was not loaded: the module name bf is taken.";
    assert!(log.contains(words) && log.contains(ADVICE), "{log}");
}

#[test]
fn a_module_whose_name_command_or_type_is_taken_says_which() {
    let rival = rival();
    for (argument, taken) in [
        ("name", "the module name bf"),
        ("command", "the command bf.madd"),
        ("type", "the type MBbloom--"),
    ] {
        let log = log_of_a_start_with(&rival, argument);
        let words = format!("splitbloom was not loaded: {taken} is taken.");
        assert!(
            log.contains(&words) && log.contains(ADVICE),
            "{argument}: {log}"
        );
    }
    let folder = rival.parent().expect("a folder");
    fs::remove_dir_all(folder).expect("the folder can be removed");
}

#[test]
fn loading_the_module_logs_no_warning() {
    let log = Server::start().log();
    let of_ours = |line: &&str| line.contains("<bf>") || line.contains("<module>");
    let warnings: Vec<&str> = log
        .lines()
        .filter(of_ours)
        .filter(|line| line.contains(" # "))
        .collect();
    assert!(warnings.is_empty(), "{warnings:?}");
}
