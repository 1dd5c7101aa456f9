//! The inputs in `fuzz/kept`: filters that must always load, and inputs that once broke an
//! invariant.

use super::{
    chunks::chunks, counting::counting, decode::decode, foreign::foreign, operations::operations,
    windowed::windowed,
};
use std::fs;
use std::path::{Path, PathBuf};

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

fn replay(target: &str, run: fn(&[u8])) {
    for path in paths(target, "") {
        println!("{}", path.display());
        run(&fs::read(path).expect("a readable file"));
    }
}

#[test]
fn kept_chains_of_chunks_break_no_law() {
    replay("decode", decode);
}

#[test]
fn kept_orders_of_chunks_break_no_law() {
    replay("chunks", chunks);
}

#[test]
fn kept_files_break_no_law() {
    replay("file", super::file::file);
}

#[test]
fn kept_filters_of_redisbloom_break_no_law() {
    replay("foreign", foreign);
}

#[test]
fn kept_operations_break_no_law() {
    replay("operations", operations);
}

#[test]
fn kept_operations_on_counting_filters_break_no_law() {
    replay("counting", counting);
}

#[test]
fn kept_packings_break_no_law() {
    replay("packing", super::packing::packing);
}

#[test]
fn kept_cuckoo_filters_break_no_law() {
    replay("cuckoo", super::cuckoo::cuckoo);
}

#[test]
fn kept_filters_of_valkey_bloom_break_no_law() {
    replay("valkey", super::valkey::valkey);
}

#[test]
fn kept_operations_on_windowed_filters_break_no_law() {
    replay("windowed", windowed);
}

#[test]
fn kept_count_min_sketches_break_no_law() {
    replay("cms", super::cms::cms);
}

#[test]
fn kept_top_k_sketches_break_no_law() {
    replay("topk", super::topk::topk);
}

#[test]
fn kept_t_digests_break_no_law() {
    replay("tdigest", super::tdigest::tdigest);
}

#[test]
fn kept_options_break_no_law() {
    replay("options", super::options::options);
}
