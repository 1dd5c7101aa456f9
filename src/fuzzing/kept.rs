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

#[test]
fn write_seeds() {
    use super::laws::encoded;
    use super::plain_reader::Chain;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/kept/decode");
    let hex: String = include_str!("../filter/codec/golden-tiny.hex")
        .split_whitespace()
        .collect();
    let bytes: Vec<u8> = (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
        .collect();
    fs::write(folder.join("golden-tiny"), bytes).unwrap();
    for (i, donor) in super::chunks::donors().iter().enumerate() {
        let name = [
            "grown-in-short-pieces",
            "",
            "two-segments",
            "part-loaded-and-grown",
        ][i];
        if name.is_empty() {
            continue;
        }
        fs::write(folder.join(name), donor.pieces.concat()).unwrap();
    }
    use crate::filter::{hash::Seed, scalable::*};
    for (name, error_rate, capacity, growth, seed, items) in [
        (
            "0.1.0-growing",
            0.01,
            100,
            Growth::Times(2),
            0x0123456789abcdef,
            300,
        ),
        (
            "0.1.0-fixed",
            0.001,
            500,
            Growth::Fixed,
            0xfedcba9876543210,
            400,
        ),
    ] {
        let mut f = Filter::new(
            Parameters {
                error_rate,
                capacity,
                growth,
                seed: Seed(seed),
            },
            SizeLimit::Unlimited,
        )
        .unwrap();
        for i in 0..items {
            f.add(format!("item:{i}").as_bytes(), SizeLimit::Unlimited)
                .unwrap();
        }
        fs::write(folder.join(name), &encoded(&f)[0].bytes).unwrap();
    }
    let _ = (Chain::default(), encoded);
}
