//! BF.RESERVE: its options, and what it creates.

use splitbloom_harness::{add_items, Connection, Server};

#[test]
fn a_reserved_filter_is_empty() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.RESERVE k 0.01 1000", "+OK"),
        ("BF.CARD k", ":0"),
        ("BF.EXISTS k a", ":0"),
        ("BF.INFO k CAPACITY", "[:1000]"),
        ("BF.INFO k ITEMS", "[:0]"),
        ("BF.INFO k FILTERS", "[:1]"),
        ("BF.INFO k EXPANSION", "[:2]"),
    ]);
}

#[test]
fn reserve_accepts_its_options_in_any_case_and_any_order() {
    let server = Server::start();
    let mut db = server.connect();
    for (options, expansion) in [
        ("EXPANSION 4", "[:4]"),
        ("expansion 4", "[:4]"),
        ("eXpAnSiOn 1", "[:1]"),
        ("EXPANSION 32768", "[:32768]"),
        ("4", "[:4]"),
        ("EXPANSION 0", "[_]"),
        ("0", "[_]"),
        ("NONSCALING", "[_]"),
        ("nonscaling", "[_]"),
        ("NONSCALING EXPANSION 0", "[_]"),
        ("EXPANSION 0 NONSCALING", "[_]"),
        ("SEED 0123456789abcdef", "[:2]"),
        ("seed 0123456789ABCDEF expansion 3", "[:3]"),
        ("EXPANSION 3 SEED 0123456789abcdef", "[:3]"),
        ("SEED 0123456789abcdef NONSCALING", "[_]"),
    ] {
        db.run("DEL k");
        assert_eq!(db.ask(&format!("BF.RESERVE k 0.01 100 {options}")), "+OK", "{options}");
        assert_eq!(db.ask("BF.INFO k EXPANSION"), expansion, "{options}");
    }
}

#[test]
fn reserve_honours_every_error_rate_in_range() {
    let server = Server::start();
    let mut db = server.connect();
    for rate in ["0.000000001", "1e-9", "0.25", "0.5", "0.9", "0.999", "1e-3", ".01"] {
        db.run("DEL k");
        db.run(&format!("BF.RESERVE k {rate} 100"));
        let asked_for: f64 = rate.parse().expect("a number");
        assert_eq!(db.line("BF.INFO k FULL").field("Error rate").double(), asked_for);
        assert_eq!(db.ask("BF.ADD k a"), ":1", "{rate}");
        assert_eq!(db.ask("BF.EXISTS k a"), ":1", "{rate}");
    }
}

#[test]
fn keys_can_be_any_bytes() {
    let server = Server::start();
    let mut db = server.connect();
    let keys: [&[u8]; 4] = [b"", b"\0", b"NONSCALING", b"a\r\nb"];
    for key in keys {
        assert_eq!(db.call([b"BF.RESERVE".as_slice(), key, b"0.01", b"100"]).to_string(), "+OK");
        assert_eq!(db.call([b"BF.ADD".as_slice(), key, b"a"]).integer(), 1);
        assert_eq!(db.call([b"BF.INFO".as_slice(), key, b"EXPANSION"]).to_string(), "[:2]");
    }
}

#[test]
fn equal_seeds_and_items_make_equal_filters() {
    let server = Server::start();
    let other_server = Server::start();
    let mut digests = Vec::new();
    for mut db in [server.connect(), other_server.connect()] {
        db.run("BF.RESERVE k 0.01 100 SEED 0123456789abcdef");
        add_items(&mut db, "k", 0..500);
        digests.push(db.digest("k"));
    }
    assert_eq!(digests[0], digests[1]);
    let mut db = server.connect();
    db.run("BF.RESERVE other-seed 0.01 100 SEED 0123456789abcdee");
    add_items(&mut db, "other-seed", 0..500);
    assert_ne!(db.digest("other-seed"), digests[0]);
}

#[test]
fn filters_created_without_a_seed_have_different_ones() {
    let server = Server::start();
    let mut db = server.connect();
    for key in ["one", "other"] {
        db.run(&format!("BF.RESERVE {key} 0.01 100"));
    }
    assert_ne!(db.digest("one"), db.digest("other"));
}

#[test]
fn memory_is_allocated_only_as_items_arrive() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.01 100000000");
    let size = |db: &mut Connection| db.line("BF.INFO k SIZE").elements()[0].integer();
    assert!(size(&mut db) < 100_000);
    db.run("BF.ADD k a");
    assert!(size(&mut db) < 200_000);
    let info = db.line("BF.INFO k FULL");
    assert_eq!(info.field("Segments allocated").integer(), 1);
    assert!(info.field("Segments reserved").integer() > 1500);
}
