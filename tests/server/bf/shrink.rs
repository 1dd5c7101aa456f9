//! BF.SHRINK, and BF.MERGE of filters of unequal size.

use crate::replication::assert_replica_and_files_agree;
use splitbloom_harness::{add_items, missing_items, Random, Reply, Server};

const SEED: &str = "SEED 0123456789abcdef";

#[test]
fn a_shrunk_filter_is_the_one_that_was_reserved_so() {
    let (primary, mut db) = Server::configured(&["appendonly yes", "appendfsync no"]).with_client();
    let replica = primary.replica(&["bf.max-merge-bytes 1"]);
    for (rate, growth) in [("0.01", ""), ("0.01", " NONSCALING"), ("0.0001", "")] {
        db.run("DEL large small copy");
        db.run(&format!("BF.RESERVE large {rate} 3000000{growth} {SEED}"));
        add_items(&mut db, "large", 0..20_000);
        db.run("COPY large copy");
        let digest = db.digest("copy");
        let foretold = db.line("BF.INFO large FULL");
        let capacity = db.line("BF.SHRINK large").integer();
        assert_eq!(foretold.field("Capacity if shrunk").integer(), capacity);
        let info = db.line("BF.INFO large FULL");
        assert!(matches!(info.field("Capacity if shrunk"), Reply::Null));
        assert!(matches!(info.field("Size if shrunk"), Reply::Null));
        assert!((20_000..40_400).contains(&capacity), "{capacity}");
        assert_eq!(db.ask("BF.INFO large CAPACITY"), format!("[:{capacity}]"));
        assert_eq!(missing_items(&mut db, "large", 0..20_000), 0);
        db.run(&format!("BF.RESERVE small {rate} {capacity}{growth} {SEED}"));
        add_items(&mut db, "small", 0..20_000);
        // A false positive of the small one alone may have been counted in the large one.
        if db.ask("BF.CARD small") == db.ask("BF.CARD large") {
            assert_eq!(db.digest("small"), db.digest("large"));
        }
        assert_eq!(db.digest("copy"), digest);
        assert_eq!(db.line("BF.SHRINK copy CAPACITY 100000").integer() / 100_000, 1);
        assert_eq!(missing_items(&mut db, "copy", 0..20_000), 0);
        assert_eq!(db.line("BF.SHRINK copy CAPACITY 4000000").integer() / 100_000, 1);
        assert_eq!(db.line("BF.SHRINK large").integer(), capacity);
        // It goes on as any other filter.
        add_items(&mut db, "copy", 20_000..30_000);
        assert_replica_and_files_agree(&primary, &replica);
    }
}

#[test]
fn the_size_of_a_shrunk_filter_is_foretold() {
    let (_server, mut db) = Server::start().with_client();
    for (rate, capacity) in [("0.01", 3_000_000), ("0.0001", 300_000)] {
        db.run("DEL k");
        db.run(&format!("BF.RESERVE k {rate} {capacity} {SEED}"));
        add_items(&mut db, "k", 0..20_000);
        let most = db.line("BF.INFO k FULL").field("Size if shrunk").integer();
        db.run("BF.SHRINK k");
        let info = db.line("BF.INFO k FULL");
        assert!((most * 9 / 10..=most).contains(&info.field("Size").integer()), "{most} {info}");
    }
}

#[test]
fn a_union_keeps_the_size_of_the_destination_or_gets_that_of_the_largest_source() {
    let (primary, mut db) = Server::configured(&["appendonly yes", "appendfsync no"]).with_client();
    let replica = primary.replica(&["bf.max-merge-bytes 1"]);
    let mut random = Random::seeded(23);
    // Sizes that divide each other, and some that do not.
    let families = [
        ("0.01", [40_000, 80_000, 160_000, 320_000]),
        ("0.001", [40_000, 57_000, 130_000, 999_000]),
    ];
    for (family, (rate, capacities)) in families.iter().enumerate() {
        let keys: Vec<String> = (0..4).map(|n| format!("k{family}{n}")).collect();
        for (key, capacity) in keys.iter().zip(capacities) {
            db.run(&format!("BF.RESERVE {key} {rate} {capacity} {SEED}"));
            let first = random.below(100_000);
            add_items(&mut db, key, first..first + 2_000);
        }
        for _ in 0..12 {
            let [to, from] = [(); 2].map(|()| random.pick(&keys));
            let capacity = |db: &mut splitbloom_harness::Connection, key: &str| {
                db.line(&format!("BF.INFO {key} CAPACITY")).elements()[0].integer()
            };
            let [own, its] = [to, from].map(|key| capacity(&mut db, key));
            let first = random.below(100_000);
            add_items(&mut db, from, first..first + 500);
            assert_eq!(db.ask(&format!("BF.MERGE {to} 1 {from}")), "+OK");
            assert_eq!(missing_items(&mut db, to, first..first + 500), 0);
            assert_eq!(capacity(&mut db, to), own);
            assert_eq!(db.ask(&format!("BF.MERGE new{family} 2 {to} {from}")), "+OK");
            assert_eq!(capacity(&mut db, &format!("new{family}")), own.max(its));
            db.run(&format!("DEL new{family}"));
        }
        // More than its size can hold.
        add_items(&mut db, &keys[3], 200_000..300_000);
        assert_eq!(db.ask(&format!("BF.MERGE {} 1 {}", keys[0], keys[3])), "+OK");
        assert_eq!(
            db.ask(&format!("BF.INFO {} CAPACITY", keys[0])),
            format!("[:{}]", capacities[3])
        );
        assert_eq!(missing_items(&mut db, &keys[0], 200_000..300_000), 0);
    }
    assert_replica_and_files_agree(&primary, &replica);
}

#[test]
fn a_union_above_the_error_rate_is_refused_unless_it_is_forced() {
    let (primary, mut db) = Server::configured(&["appendonly yes", "appendfsync no"]).with_client();
    let replica = primary.replica(&[]);
    for key in ["a", "b"] {
        db.run(&format!("BF.RESERVE {key} 0.01 10000 NONSCALING {SEED}"));
    }
    add_items(&mut db, "a", 0..9_000);
    add_items(&mut db, "b", 9_000..18_000);
    let digest = db.digest_of_everything();
    for command in ["BF.MERGE a 1 b", "BF.MERGE new 2 a b"] {
        let refused = db.ask(command);
        let begin = "-ERR the union would have a false-positive rate of up to ";
        assert!(refused.starts_with(begin), "{refused}");
        let items = refused.split("reserve filters for ").nth(1).expect("a capacity");
        let items: u64 = items.split(' ').next().unwrap().parse().expect("an integer");
        assert!((17_000..18_001).contains(&items), "{refused}");
        assert!(refused.contains("above 0.01: ") && refused.ends_with("or add FORCE"));
        assert_eq!(db.digest_of_everything(), digest);
    }
    assert_eq!(db.ask("BF.MERGE a 1 b force"), "+OK");
    assert_eq!(db.ask("COMMAND GETKEYS BF.MERGE a 1 b FORCE"), "[$a, $b]");
    assert_eq!(missing_items(&mut db, "a", 0..18_000), 0);
    assert_replica_and_files_agree(&primary, &replica);
}

#[test]
fn a_forced_union_keeps_its_size_and_can_be_saved_and_loaded() {
    let (_server, mut db) = Server::start().with_client();
    db.run(&format!("BF.RESERVE large 0.01 500000 NONSCALING {SEED}"));
    db.run(&format!("BF.RESERVE small 0.01 50000 NONSCALING {SEED}"));
    add_items(&mut db, "large", 0..480_000);
    add_items(&mut db, "small", 480_000..500_000);
    assert!(db.ask("BF.MERGE small 1 large").starts_with("-ERR the union would"));
    assert_eq!(db.ask("BF.MERGE small 1 large FORCE"), "+OK");
    let digest = db.digest("small");
    db.run("DEBUG RELOAD");
    assert_eq!(db.digest("small"), digest);
    assert_eq!(db.ask("BF.INFO small CAPACITY"), "[:50000]");
    assert_eq!(missing_items(&mut db, "small", 0..500_000), 0);
}
