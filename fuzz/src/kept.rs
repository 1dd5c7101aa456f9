//! The inputs in `fuzz/kept`, a folder for each target: values that must always load, inputs that
//! once broke a law, named by what they showed, and those that reach what others do not.

use super::*;
use std::fs;
use std::path::{Path, PathBuf};

pub type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 14] = [
    ("chunks", chunks::chunks),
    ("cms", cms::cms),
    ("counting", counting::counting),
    ("cuckoo", cuckoo::cuckoo),
    ("decode", decode::decode),
    ("file", file::file),
    ("foreign", foreign::foreign),
    ("operations", operations::operations),
    ("options", options::options),
    ("packing", packing::packing),
    ("tdigest", tdigest::tdigest),
    ("topk", topk::topk),
    ("valkey", valkey::valkey),
    ("windowed", windowed::windowed),
];

/// The inputs in a folder of `kept` whose names begin so.
pub fn inputs(folder: &str, prefix: &str) -> Vec<Vec<u8>> {
    let read = |path| fs::read(path).expect("a readable file");
    paths(folder, prefix).into_iter().map(read).collect()
}

fn paths(folder: &str, prefix: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kept").join(folder);
    let entries = fs::read_dir(&folder).expect("the kept inputs");
    let entries = entries.map(|entry| entry.expect("a readable folder"));
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let mut paths: Vec<_> = named.map(|entry| entry.path()).collect();
    assert!(!paths.is_empty(), "nothing lies in {}", folder.display());
    paths.sort();
    paths
}

#[test]
fn kept_inputs_break_no_law() {
    for (target, run) in TARGETS {
        for path in paths(target, "") {
            println!("{}", path.display());
            run(&fs::read(path).expect("a readable file"));
        }
    }
}

#[test]
fn each_folder_of_kept_inputs_is_one_of_a_target() {
    let folders: Vec<_> = paths("", "").into_iter().filter(|path| path.is_dir()).collect();
    let named = |path: &PathBuf| TARGETS.iter().any(|(target, _)| path.ends_with(target));
    assert!(folders.iter().all(named) && folders.len() == TARGETS.len(), "{folders:?}");
}
