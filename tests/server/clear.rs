//! BF.CLEAR and CF.CLEAR empty a filter and keep its parameters.

use splitbloom_harness::{eventually, Family, Server};

const SEED: &str = "SEED 00112233aabbccdd";

/// Ways to create a filter, without the key.
const RESERVES: [(Family, &str); 7] = [
    (Family::Bloom, "0.01 100"),
    (Family::Bloom, "0.001 50000 EXPANSION 4"),
    (Family::Bloom, "0.01 2000 NONSCALING"),
    (Family::Bloom, "0.01 100 WINDOW 100000 SLICES 4 RENEW"),
    (Family::Bloom, "0.01 500 NONSCALING WINDOW 100000"),
    (Family::Counting, "1000 BUCKETSIZE 4 MAXITERATIONS 50 EXPANSION 3 ERROR 0.001"),
    (Family::Counting, "3000 EXPANSION 0"),
];

#[test]
fn a_cleared_filter_has_the_digest_of_a_new_one_and_its_expiry() {
    let (_server, mut db) = Server::start().with_client();
    for (family, words) in RESERVES {
        db.run("FLUSHALL");
        for key in ["k", "new"] {
            family.reserve_with(&mut db, key, &format!("{words} {SEED}"));
        }
        let empty = db.digest("new");
        assert_eq!(db.digest("k"), empty);
        db.run("EXPIRE k 1000");
        let capacity = if words.contains("NONSCALING") { 400 } else { 3000 };
        family.add_items(&mut db, "k", 0..capacity);
        db.run("COPY k other");
        db.run("PERSIST other");
        let full = db.digest("other");
        assert_ne!(full, empty);
        assert_eq!(db.ask(&family.command("CLEAR k")), "+OK");
        assert!(db.line("TTL k").integer() > 900);
        db.run("PERSIST k"); // the server's digest covers that there is an expiry
        assert_eq!(db.digest("k"), empty, "{family:?} {words}");
        assert_eq!(db.digest("other"), full, "a copy stays");
        let info = ["INFO k FULL", "INFO new FULL"].map(|line| db.ask(&family.command(line)));
        assert_eq!(info[0], info[1]);
        assert_eq!(db.ask(&family.command("EXISTS k item:1")), ":0");
        assert!(!db.ask(&family.command("ADD k again")).starts_with('-'));
    }
}

#[test]
fn the_memory_of_a_large_filter_is_given_back() {
    let (_server, mut db) = Server::start().with_client();
    for (family, parameters) in [(Family::Bloom, "0.01 1000000"), (Family::Counting, "100")] {
        family.reserve_with(&mut db, "k", parameters);
        let empty = db.bytes_held();
        family.add_items(&mut db, "k", 0..100_000);
        assert!(db.bytes_held() > empty + 100_000);
        db.run(&family.command("CLEAR k"));
        eventually("the memory is free", || db.bytes_held() <= empty + 10_000);
        db.run("DEL k");
    }
}
