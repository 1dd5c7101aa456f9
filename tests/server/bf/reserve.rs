//! BF.RESERVE: its options, and what it creates.

use splitbloom_harness::Server;

#[test]
fn reserve_accepts_its_options_in_any_case_and_any_order() {
    let (_server, mut db) = Server::start().with_client();
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
fn filters_created_without_a_seed_have_different_ones() {
    let (_server, mut db) = Server::start().with_client();
    for key in ["one", "other"] {
        db.run(&format!("BF.RESERVE {key} 0.01 100"));
    }
    assert_ne!(db.digest("one"), db.digest("other"));
}
