//! BF.ADD, BF.MADD, and lookups: replies in both protocols, full filters, growth.

use splitbloom_harness::Server;

#[test]
fn an_add_returns_one_for_a_new_item_and_zero_for_a_known_one() {
    Server::strict(&[]).converse(&[
        ("BF.ADD k a", "#t"),
        ("BF.ADD k a", "#f"),
        ("BF.EXISTS k a", "#t"),
        ("BF.EXISTS k b", "#f"),
        ("BF.MADD k a b b c", "[#f, #t, #f, #t]"),
        ("BF.MEXISTS k a b c d", "[#t, #t, #t, #f]"),
        ("BF.INSERT k ITEMS c d", "[#f, #t]"),
        ("BF.CARD k", ":4"),
    ]);
}

#[test]
fn a_full_non_scaling_filter_refuses_only_new_items() {
    Server::start().converse(&[
        ("BF.RESERVE k 0.000001 3 NONSCALING", "+OK"),
        ("BF.MADD k a b c", "[#t, #t, #t]"),
        ("BF.ADD k a", "#f"),
        ("BF.ADD k d", "-ERR non scaling filter is full"),
        ("BF.MADD k a d b e", "[#f, -ERR non scaling filter is full]"),
        ("BF.INSERT k ITEMS b d", "[#f, -ERR non scaling filter is full]"),
        ("BF.MADD k d", "[-ERR non scaling filter is full]"),
        ("BF.INSERT k ITEMS d b", "[-ERR non scaling filter is full]"),
        ("BF.MADD k a b c", "[#f, #f, #f]"),
        ("BF.MEXISTS k a b c d e", "[#t, #t, #t, #f, #f]"),
        ("BF.CARD k", ":3"),
    ]);
}
