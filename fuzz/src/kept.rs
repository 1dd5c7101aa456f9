//! The inputs in `fuzz/kept`: filters that must always load, and inputs that once broke an
//! invariant.

use super::{
    chunks::chunks, counting::counting, decode::decode, foreign::foreign, operations::operations,
    windowed::windowed,
};
use std::fs;
use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("kept")
        .join(target);
    let mut replayed = 0;
    for entry in fs::read_dir(&folder).expect("the kept inputs") {
        let path = entry.expect("a readable folder").path();
        println!("{}", path.display());
        run(&fs::read(path).expect("a readable file"));
        replayed += 1;
    }
    assert!(replayed > 0, "nothing lies in {}", folder.display());
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
fn kept_options_break_no_law() {
    replay("options", super::options::options);
}
