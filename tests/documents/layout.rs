//! The map of folders in CONTRIBUTING.md is that of the tree.

use super::{read, root};
use std::collections::BTreeSet;
use std::fs;

/// Folders that have no row themselves: each of their folders has one.
const DIVIDED: [&str; 3] = ["benches", "crates", "tests"];

/// What builds leave behind.
const BUILT: [&str; 3] = ["build", "dist", "target"];

#[test]
fn every_folder_has_a_row_in_the_map_and_every_row_a_folder() {
    let rows = rows();
    let unmapped: Vec<_> = folders().difference(&rows).cloned().collect();
    assert!(unmapped.is_empty(), "CONTRIBUTING.md has no row for {unmapped:?}");
    let gone: Vec<_> = rows.iter().filter(|row| !root().join(row).is_dir()).collect();
    assert!(gone.is_empty(), "CONTRIBUTING.md has rows for {gone:?}, which do not exist");
}

/// The folders of the tree, as far as the map must list them.
fn folders() -> BTreeSet<String> {
    let mut all: BTreeSet<String> = folders_in(".").collect();
    for folder in DIVIDED {
        all.remove(folder);
        all.extend(folders_in(folder).map(|name| format!("{folder}/{name}")));
    }
    all
}

/// The names of the folders in one.
fn folders_in(folder: &str) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let names = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.') && !BUILT.contains(&name.as_str()))
}

/// The paths in the first column of the map.
fn rows() -> BTreeSet<String> {
    let text = read("CONTRIBUTING.md");
    let map = text.split("\n## ").find(|section| section.starts_with("Layout\n"));
    let cells = map
        .expect("a section")
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let paths = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    paths.map(|path| path.trim_end_matches('/').to_owned()).collect()
}
