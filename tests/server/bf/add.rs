//! BF.ADD, BF.MADD, and lookups: replies in both protocols, full filters, growth.

use splitbloom_harness::{add_items, item, missing_items, Server};

#[test]
fn an_add_returns_one_for_a_new_item_and_zero_for_a_known_one() {
    let server = Server::strict(&[]);
    server.connect().converse(&[
        ("BF.ADD k a", ":1"),
        ("BF.ADD k a", ":0"),
        ("BF.EXISTS k a", ":1"),
        ("BF.EXISTS k b", ":0"),
        ("BF.MADD k a b b c", "[:0, :1, :0, :1]"),
        ("BF.MEXISTS k a b c d", "[:1, :1, :1, :0]"),
        ("BF.INSERT k ITEMS c d", "[:0, :1]"),
        ("BF.CARD k", ":4"),
    ]);
}

#[test]
fn resp3_replies_are_booleans() {
    let server = Server::start();
    server.connect_resp3().converse(&[
        ("BF.RESERVE k 0.01 1000", "+OK"),
        ("BF.ADD k a", "#t"),
        ("BF.ADD k a", "#f"),
        ("BF.EXISTS k a", "#t"),
        ("BF.EXISTS k b", "#f"),
        ("BF.MADD k a b", "[#f, #t]"),
        ("BF.MEXISTS k a z", "[#t, #f]"),
        ("BF.INSERT k ITEMS b c", "[#f, #t]"),
        ("BF.CARD k", ":3"),
    ]);
}

#[test]
fn command_names_may_be_in_any_case() {
    let server = Server::start();
    server.connect().converse(&[("bf.add k a", ":1"), ("Bf.Exists k a", ":1")]);
}

#[test]
fn an_add_creates_the_key_with_the_defaults() {
    let server = Server::start();
    let mut db = server.connect();
    for creating in ["BF.ADD k a", "BF.MADD k a", "BF.INSERT k ITEMS a"] {
        db.run("DEL k");
        db.run(creating);
        db.converse(&[("BF.INFO k CAPACITY", "[:100]"), ("BF.INFO k EXPANSION", "[:2]")]);
        assert_eq!(db.line("BF.INFO k FULL").field("Error rate").double(), 0.01, "{creating}");
    }
}

#[test]
fn items_can_be_any_bytes() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.000001 100");
    let long = vec![b'x'; 1 << 20];
    let items: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"a\0", b"a\r\nb", b"\xff\xfe", b" ", &long];
    for item in items {
        assert_eq!(db.call([b"BF.EXISTS".as_slice(), b"k", item]).integer(), 0);
        assert_eq!(db.call([b"BF.ADD".as_slice(), b"k", item]).integer(), 1);
        assert_eq!(db.call([b"BF.EXISTS".as_slice(), b"k", item]).integer(), 1);
    }
    assert_eq!(db.call([b"BF.EXISTS".as_slice(), b"k", b"a"]).integer(), 0);
    let all = [b"BF.MADD".as_slice(), b"k"].into_iter().chain(items);
    assert_eq!(db.call(all).to_string(), "[:0, :0, :0, :0, :0, :0, :0, :0]");
    assert_eq!(db.ask("BF.CARD k"), ":8");
}

#[test]
fn a_digest_changes_only_with_a_new_item() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    db.run("BF.ADD k a");
    let before = db.digest("k");
    db.run("BF.ADD k a");
    assert_eq!(db.digest("k"), before);
    db.run("BF.ADD k b");
    assert_ne!(db.digest("k"), before);
}

#[test]
fn a_full_non_scaling_filter_refuses_only_new_items() {
    let server = Server::start();
    let mut db = server.connect();
    db.converse(&[
        ("BF.RESERVE k 0.000001 3 NONSCALING", "+OK"),
        ("BF.MADD k a b c", "[:1, :1, :1]"),
        ("BF.ADD k a", ":0"),
        ("BF.ADD k d", "-ERR non scaling filter is full"),
        ("BF.MADD k a d b e", "[:0, -ERR non scaling filter is full]"),
        ("BF.INSERT k ITEMS b d", "[:0, -ERR non scaling filter is full]"),
        ("BF.MADD k d", "[-ERR non scaling filter is full]"),
        ("BF.MADD k a b c", "[:0, :0, :0]"),
        ("BF.MEXISTS k a b c d e", "[:1, :1, :1, :0, :0]"),
        ("BF.CARD k", ":3"),
    ]);
    server.connect_resp3().converse(&[
        ("BF.MADD k a d b", "[#f, -ERR non scaling filter is full]"),
        ("BF.INSERT k ITEMS d b", "[-ERR non scaling filter is full]"),
        ("BF.ADD k d", "-ERR non scaling filter is full"),
    ]);
}

#[test]
fn items_before_the_refused_one_are_kept() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.RESERVE k 0.000001 3 NONSCALING", "+OK"),
        ("BF.MADD k a b c d e", "[:1, :1, :1, -ERR non scaling filter is full]"),
        ("BF.MEXISTS k a b c d e", "[:1, :1, :1, :0, :0]"),
        (
            "BF.INSERT l CAPACITY 2 ERROR 0.000001 NONSCALING ITEMS a b c",
            "[:1, :1, -ERR non scaling filter is full]",
        ),
        ("BF.MEXISTS l a b c", "[:1, :1, :0]"),
    ]);
}

#[test]
fn a_filter_grows_by_one_table_whatever_its_expansion_rate() {
    let server = Server::start();
    let mut db = server.connect();
    for (reserved, expansion, filters) in
        [(10, 1, 2), (10, 7, 2), (100, 1, 1), (100, 5, 1), (200, 2, 2), (1_000, 32_768, 2)]
    {
        db.run("DEL k");
        db.run(&format!("BF.RESERVE k 0.01 {reserved} EXPANSION {expansion}"));
        assert_eq!(db.ask("BF.INFO k FILTERS"), "[:1]");
        assert_eq!(db.ask("BF.INFO k CAPACITY"), format!("[:{reserved}]"));
        let new = add_items(&mut db, "k", 0..5_000) as i64;
        assert_eq!(db.ask("BF.INFO k FILTERS"), format!("[:{filters}]"));
        assert_eq!(db.ask("BF.INFO k EXPANSION"), format!("[:{expansion}]"));
        let info = db.line("BF.INFO k FULL");
        let sub_filters = info.field("Sub-filters");
        let capacities = sub_filters.elements().iter();
        let capacity: i64 = capacities.map(|one| one.field("Capacity").integer()).sum();
        assert_eq!(capacity, if filters == 2 { reserved } else { 0 });
        let in_table = info.field("Table").field("Items").integer();
        assert_eq!(capacity + in_table, new);
        assert_eq!(info.field("Capacity").integer(), new);
        assert_eq!(missing_items(&mut db, "k", 0..5_000), 0);
    }
}

#[test]
fn the_error_rates_of_all_parts_add_up_to_no_more_than_requested() {
    let server = Server::start();
    let mut db = server.connect();
    for (reserved, table_rate) in [(100, 0.01), (10, 0.01 / 3.0)] {
        db.run("DEL k");
        db.run(&format!("BF.RESERVE k 0.01 {reserved}"));
        add_items(&mut db, "k", 0..100_000);
        let info = db.line("BF.INFO k FULL");
        let sub_filters = info.field("Sub-filters");
        let rates = sub_filters.elements().iter();
        let sum: f64 = rates.map(|one| one.field("Error rate").double()).sum();
        let table = info.field("Table");
        assert!((table.field("Error rate").double() - table_rate).abs() < 1e-9);
        assert!(sum + table_rate <= 0.01 * (1.0 + 1e-9), "{sum}");
        let now = table.field("Expected false positive rate").double();
        assert!(now > 0.0 && now < table_rate, "{now}");
    }
}

#[test]
fn forty_thousand_items_of_one_command_take_one_table() {
    let server = Server::start();
    let mut db = server.connect();
    let words = ["BF.INSERT", "k", "CAPACITY", "1", "EXPANSION", "1", "ITEMS"];
    let words = words.map(|word| word.as_bytes().to_vec());
    db.call(words.into_iter().chain((0..40_000).map(item)));
    assert_eq!(db.ask("BF.INFO k FILTERS"), "[:2]");
    assert_eq!(db.ask("BF.INFO k EXPANSION"), "[:1]");
    assert_eq!(missing_items(&mut db, "k", 0..40_000), 0);
    let bytes = db.line("MEMORY USAGE k SAMPLES 0").integer();
    assert!(bytes < 105_000, "{bytes}");
}

#[test]
fn there_are_no_false_negatives_while_a_filter_grows() {
    const STEP: u64 = 250;
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.1 10 EXPANSION 2");
    let mut new = 0;
    for end in (STEP..=10_000).step_by(STEP as usize) {
        new += add_items(&mut db, "k", end - STEP..end);
        assert_eq!(missing_items(&mut db, "k", 0..end), 0);
        assert_eq!(db.line("BF.CARD k").integer() as u64, new);
    }
}
