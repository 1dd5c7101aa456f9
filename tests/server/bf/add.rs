//! BF.ADD, BF.MADD, and lookups: replies in both protocols, full filters, growth.

use splitbloom_harness::Server;

#[test]
fn an_add_returns_one_for_a_new_item_and_zero_for_a_known_one() {
    Server::strict(&[]).connect().converse(&[
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
fn a_full_non_scaling_filter_refuses_only_new_items() {
    let (server, mut db) = Server::start().with_client();
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
