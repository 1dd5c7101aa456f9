//! BF.INSERT: its options.

use splitbloom_harness::Server;

#[test]
fn the_last_error_rate_given_to_insert_wins() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.INSERT k ERROR 0.5 ERROR 0.001 ITEMS a");
    assert_eq!(db.line("BF.INFO k FULL").field("Error rate").double(), 0.001);
}

#[test]
fn everything_after_items_is_data() {
    Server::strict(&[]).connect().converse(&[
        ("BF.INSERT k ITEMS NOCREATE ITEMS CAPACITY", "[:1, :1, :1]"),
        ("BF.MEXISTS k NOCREATE ITEMS CAPACITY nocreate", "[:1, :1, :1, :0]"),
    ]);
}
