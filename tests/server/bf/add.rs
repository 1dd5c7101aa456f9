//! BF.ADD, BF.MADD, and lookups: replies in both protocols, full filters, growth.

use splitbloom_harness::{add_items, missing_items, Server};

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
