//! The replies of each CF command, in both protocols.

use splitbloom_harness::Server;

/// All replies except counts and those of INSERTNX are booleans in RESP3.
#[test]
fn copies_are_added_counted_and_deleted() {
    Server::start().converse(&[
        ("CF.RESERVE k 1000 ERROR 0.000001", "+OK"),
        ("CF.EXISTS k a", "#f"),
        ("CF.ADD k a", "#t"),
        ("CF.ADD k a", "#t"),
        ("CF.EXISTS k a", "#t"),
        ("CF.COUNT k a", ":2"),
        ("CF.ADDNX k a", "#f"),
        ("CF.ADDNX k b", "#t"),
        ("CF.COUNT k a", ":2"),
        ("CF.INSERT k ITEMS a b c", "[#t, #t, #t]"),
        ("CF.INSERTNX k ITEMS a d d", "[:0, :1, :0]"),
        ("CF.MEXISTS k a b c d e", "[#t, #t, #t, #t, #f]"),
        ("CF.COUNT k a", ":3"),
        ("CF.DEL k a", "#t"),
        ("CF.DEL k a", "#t"),
        ("CF.DEL k a", "#t"),
        ("CF.DEL k a", "#f"),
        ("CF.COUNT k a", ":0"),
        ("CF.EXISTS k a", "#f"),
    ]);
}

#[test]
fn a_full_filter_refuses_copies_and_knows_the_items_that_it_has() {
    let (server, mut db) = Server::start().with_client();
    db.converse(&[
        ("CF.RESERVE k 3 EXPANSION 0 ERROR 0.000001", "+OK"),
        ("CF.INSERT k ITEMS a b a c", "[:1, :1, :1, :-1]"),
        ("CF.ADD k a", "-ERR Filter is full"),
        ("CF.ADDNX k a", ":0"),
        ("CF.ADDNX k c", "-ERR Filter is full"),
        ("CF.INSERT k ITEMS a c", "[:-1, :-1]"),
        ("CF.INSERTNX k ITEMS c a d b", "[:-1, :0, :-1, :0]"),
        ("CF.DEL k a", ":1"),
        ("CF.INSERTNX k ITEMS a c d", "[:0, :1, :-1]"),
        ("CF.MEXISTS k a b c d", "[:1, :1, :1, :0]"),
    ]);
    server.connect_resp3().converse(&[
        ("CF.INSERT k ITEMS a d", "[#f, #f]"),
        ("CF.INSERTNX k ITEMS a d", "[:0, :-1]"),
        ("CF.ADD k d", "-ERR Filter is full"),
    ]);
}

#[test]
fn insert_takes_its_options_in_any_case_and_order_and_then_only_items() {
    Server::strict(&[]).connect().converse(&[
        ("CF.INSERT k NOCREATE ITEMS a", "-ERR not found"),
        ("EXISTS k", ":0"),
        ("CF.INSERT k capacity 64 items NOCREATE ITEMS", "[:1, :1]"),
        ("CF.INSERT k nocreate CAPACITY 9 ITEMS a", "[:1]"),
        ("CF.INSERTNX k CAPACITY 9 NOCREATE ITEMS a b", "[:0, :1]"),
        ("CF.MEXISTS k NOCREATE ITEMS nocreate", "[:1, :1, :0]"),
        (
            "CF.DEBUG k",
            "$bktsize:2 buckets:32 items:4 deletes:0 filters:1 max_iterations:20 expansion:1",
        ),
    ]);
}

#[test]
fn info_has_exactly_eight_fields_in_order() {
    const SETUP: [&str; 3] = [
        "CF.RESERVE k 1000 BUCKETSIZE 4 MAXITERATIONS 500 EXPANSION 3 SEED 0123456789abcdef",
        "CF.INSERT k ITEMS a a b",
        "CF.DEL k a",
    ];
    let (server, mut db) = Server::start().with_client();
    db.run_all(SETUP);
    let size = db.line("CF.INFO k").field("Size").integer();
    let info = format!(
        "{{+Size: :{size}, +Number of buckets: :256, +Number of filters: :1, \
         +Number of items inserted: :2, +Number of items deleted: :1, +Bucket size: :4, \
         +Expansion rate: :3, +Max iterations: :500}}"
    );
    server.converse(&[
        (SETUP[0], "+OK"),
        (SETUP[1], "[#t, #t, #t]"),
        (SETUP[2], "#t"),
        ("CF.INFO k", &info),
        (
            "CF.DEBUG k",
            "$bktsize:4 buckets:256 items:2 deletes:1 filters:1 max_iterations:500 expansion:3",
        ),
    ]);
}

#[test]
fn the_long_info_begins_with_the_short_one_and_tells_of_the_table() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("DEL k");
        db.run("CF.RESERVE k 5000 ERROR 0.001");
        let empty = db.line("CF.INFO k full");
        assert_eq!(empty.field("Bits per item").to_string(), "_");
        assert_eq!(empty.field("Expected false positive rate").double(), 0.0);
        for first in (0..10_000).step_by(100) {
            let items: String = (first..first + 100).map(|item| format!(" {item}")).collect();
            db.run(&format!("CF.INSERT k ITEMS{items}"));
        }
        let short = db.line("CF.INFO k").pairs();
        let long = db.line("CF.INFO k FULL").pairs();
        assert_eq!(long[..8], short);
        let names: Vec<&str> = long[8..].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["Capacity", "Error rate", "Expected false positive rate", "Bits per item", "Pages"]
        );
        let number = |place: usize| long[place].1.double();
        assert_eq!(long[8].1.integer(), 5000);
        assert_eq!(number(9), 0.001);
        assert!((0.000_01..0.001).contains(&number(10)), "{}", number(10));
        assert!((15.0..40.0).contains(&number(11)), "{}", number(11));
        assert!((2..20).contains(&long[12].1.integer()));
        let size = db.line("MEMORY USAGE k SAMPLES 0").integer();
        assert!((size - short[0].1.integer()).abs() < 200);
    }
}
