//! BF.INSERT: its options.

use splitbloom_harness::Server;

#[test]
fn insert_accepts_its_options_in_any_case_and_any_order() {
    let (_server, mut db) = Server::strict(&[]).with_client();
    for (options, capacity, expansion) in [
        ("CAPACITY 500", 500, "[:2]"),
        ("capacity 500 error 0.001", 500, "[:2]"),
        ("ERROR 0.001 CAPACITY 500", 500, "[:2]"),
        ("EXPANSION 4", 100, "[:4]"),
        ("EXPANSION 0", 100, "[_]"),
        ("NONSCALING", 100, "[_]"),
        ("NonScaling Capacity 7", 7, "[_]"),
        ("NONSCALING EXPANSION 4", 100, "[_]"),
        ("EXPANSION 4 NONSCALING", 100, "[_]"),
        ("CAPACITY 10 CAPACITY 20", 20, "[:2]"),
        ("EXPANSION 3 EXPANSION 4", 100, "[:4]"),
    ] {
        db.run("DEL k");
        assert_eq!(db.ask(&format!("BF.INSERT k {options} items a b")), "[:1, :1]", "{options}");
        assert_eq!(db.ask("BF.INFO k CAPACITY"), format!("[:{capacity}]"), "{options}");
        assert_eq!(db.ask("BF.INFO k EXPANSION"), expansion, "{options}");
    }
}

#[test]
fn the_last_error_rate_given_to_insert_wins() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.INSERT k ERROR 0.5 ERROR 0.001 ITEMS a");
    assert_eq!(db.line("BF.INFO k FULL").field("Error rate").double(), 0.001);
}

#[test]
fn everything_after_items_is_data() {
    let server = Server::strict(&[]);
    server.connect().converse(&[
        ("BF.INSERT k ITEMS NOCREATE ITEMS CAPACITY", "[:1, :1, :1]"),
        ("BF.MEXISTS k NOCREATE ITEMS CAPACITY nocreate", "[:1, :1, :1, :0]"),
    ]);
}
