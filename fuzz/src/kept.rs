//! The inputs in `fuzz/kept`, a folder for each target: values that must always load, inputs that
//! once broke a law, named by what they showed, and those that reach what others do not.

use super::*;
use std::fs;
use std::path::{Path, PathBuf};

/// A name, which is that of the module, the function and the folder; and the function.
pub type Target = (&'static str, fn(&[u8]));

macro_rules! targets {
    ($($name:ident)*) => { [$((stringify!($name), $name::$name)),*] };
}
pub(crate) use targets;

const TARGETS: [Target; 14] = targets!(chunks cms counting cuckoo decode file foreign operations
    options packing tdigest topk valkey windowed);

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
