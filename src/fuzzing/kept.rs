//! The inputs that are kept in `fuzz/kept`: filters that must always load, and whatever once broke a law.

use super::{chunks::chunks, decode::decode, operations::operations, options::options};
use std::fs;
use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/kept")
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
fn kept_chains_of_pieces_break_no_law() {
    replay("decode", decode);
}

#[test]
fn kept_orders_of_pieces_break_no_law() {
    replay("chunks", chunks);
}

#[test]
fn kept_operations_break_no_law() {
    replay("operations", operations);
}

#[test]
fn kept_options_break_no_law() {
    replay("options", options);
}
