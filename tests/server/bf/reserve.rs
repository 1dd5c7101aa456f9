//! The options of BF.RESERVE and BF.INSERT, and what they create.

use splitbloom_harness::Server;

/// What follows `BF.RESERVE k 0.01 100`, and the capacity and the expansion of the filter.
const OF_RESERVE: [(&str, i64, &str); 15] = [
    ("EXPANSION 4", 100, "[:4]"),
    ("expansion 4", 100, "[:4]"),
    ("eXpAnSiOn 1", 100, "[:1]"),
    ("EXPANSION 32768", 100, "[:32768]"),
    ("4", 100, "[:4]"),
    ("EXPANSION 0", 100, "[_]"),
    ("0", 100, "[_]"),
    ("NONSCALING", 100, "[_]"),
    ("nonscaling", 100, "[_]"),
    ("NONSCALING EXPANSION 0", 100, "[_]"),
    ("EXPANSION 0 NONSCALING", 100, "[_]"),
    ("SEED 0123456789abcdef", 100, "[:2]"),
    ("seed 0123456789ABCDEF expansion 3", 100, "[:3]"),
    ("EXPANSION 3 SEED 0123456789abcdef", 100, "[:3]"),
    ("SEED 0123456789abcdef NONSCALING", 100, "[_]"),
];

/// The same of `BF.INSERT k`.
const OF_INSERT: [(&str, i64, &str); 11] = [
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
];

#[test]
fn options_come_in_any_case_and_any_order() {
    let (_server, mut db) = Server::strict(&[]).with_client();
    for (command, reply, rows) in [
        ("BF.RESERVE k 0.01 100 {}", "+OK", OF_RESERVE.as_slice()),
        ("BF.INSERT k {} items a b", "[:1, :1]", &OF_INSERT),
    ] {
        for (options, capacity, expansion) in rows {
            db.run("DEL k");
            assert_eq!(db.ask(&command.replace("{}", options)), reply, "{options}");
            assert_eq!(db.ask("BF.INFO k CAPACITY"), format!("[:{capacity}]"), "{options}");
            assert_eq!(db.ask("BF.INFO k EXPANSION"), *expansion, "{options}");
        }
    }
}

#[test]
fn filters_created_without_a_seed_have_different_ones() {
    let (_server, mut db) = Server::start().with_client();
    for key in ["one", "other"] {
        db.run(&format!("BF.RESERVE {key} 0.01 100"));
    }
    assert_ne!(db.digest("one"), db.digest("other"));
}
