//! The server's own commands on keys, transactions and scripts, on a primary whose replica has
//! other settings.

use crate::times;
use splitbloom_harness::{delete_items, Connection, Family, Random, Server, OTHER_SETTINGS};

const DATABASES: u64 = 3;
const KEYS: u64 = 5;

#[test]
fn keyspace_commands_leave_equal_digests_on_a_replica() {
    let (primary, mut db) = Server::configured(&["appendonly yes", "appendfsync no"]).with_client();
    let mut replica = primary.replica(&OTHER_SETTINGS);
    let mut random = Random::seeded(23);
    let mut others = 0;
    for _ in 0..times(4, 40) {
        for _ in 0..200 {
            others += u64::from(!random_command(&mut db, &mut random).is_error());
        }
        let digest = primary.assert_equal(&replica);
        db.run("DEBUG RELOAD");
        assert_eq!(db.digest_of_everything(), digest);
        db.run("DEBUG LOADAOF");
        assert_eq!(db.digest_of_everything(), digest);
    }
    assert!(others > 400, "{others} commands succeeded");
    replica.check_health();
}

fn random_command(db: &mut Connection, random: &mut Random) -> splitbloom_harness::Reply {
    let key = format!("k{}", random.below(KEYS));
    let other = format!("k{}", random.below(KEYS));
    let database = random.below(DATABASES);
    let item = random.below(5000);
    let line = match random.below(30) {
        20..=22 => format!("CF.ADD {key} item:{item}"),
        23..=24 => format!("CF.INSERT {key} ITEMS item:{item} item:{} {item}", item + 1),
        25..=28 => format!("CF.DEL {key} {}", item % 50),
        29 => format!("CF.RESERVE {key} 20"),
        0..=5 => format!("BF.ADD {key} item:{item}"),
        6..=8 => format!("BF.MADD {key} item:{item} item:{} {item}", item + 1),
        9 if item.is_multiple_of(2) => format!("BF.RESERVE {key} 0.001 20 WINDOW 1000000"),
        9 => format!("BF.RESERVE {key} 0.001 20 EXPANSION 1"),
        10 => format!("SELECT {database}"),
        11 => format!("SWAPDB {database} {}", random.below(DATABASES)),
        12 => format!("COPY {key} {other} DB {database} REPLACE"),
        13 => format!("RENAME {key} {other}"),
        14 => format!("MOVE {key} {database}"),
        15 => format!("EXPIRE {key} 100000"),
        16 => format!("PERSIST {key}"),
        17 => format!("OBJECT FREQ {key}"),
        18 => format!("MEMORY USAGE {key}"),
        _ => format!("UNLINK {key}"),
    };
    db.line(&line)
}

#[test]
fn a_transaction_that_fails_halfway_is_replicated_as_it_took_effect() {
    let (primary, mut db) = Server::strict(&[]).with_client();
    let replica = primary.replica(&OTHER_SETTINGS);
    db.run("BF.RESERVE full 0.000000001 2 NONSCALING");
    db.converse(&[
        ("MULTI", "+OK"),
        ("BF.MADD full a b c", "+QUEUED"),
        ("CF.INSERT counting CAPACITY 100 ITEMS a a b", "+QUEUED"),
        ("CF.DEL counting a", "+QUEUED"),
        ("CF.DEL counting z", "+QUEUED"),
        ("CF.RESERVE counting 100", "+QUEUED"),
        ("BF.ADD k a", "+QUEUED"),
        ("RENAME k l", "+QUEUED"),
        ("BF.ADD l b", "+QUEUED"),
        ("COPY l m", "+QUEUED"),
        ("BF.ADD m c", "+QUEUED"),
        ("BF.RESERVE m 0.01 100", "+QUEUED"),
        (
            "EXEC",
            "[[:1, :1, -ERR non scaling filter is full], [:1, :1, :1], :1, :0, -ERR item exists, \
             :1, +OK, :1, :1, :1, -ERR item exists]",
        ),
    ]);
    let script = "redis.call('BF.ADD', KEYS[1], 'd') \
                  redis.call('RENAME', KEYS[1], KEYS[2]) \
                  redis.call('BF.MADD', KEYS[2], 'e', 'f') \
                  return redis.call('BF.RESERVE', KEYS[2], 0.01, 100)";
    assert!(db.call(["EVAL", script, "2", "l", "n"]).is_error());
    primary.assert_equal(&replica);
    replica.connect().converse(&[
        ("BF.MEXISTS full a b c", "[:1, :1, :0]"),
        ("EXISTS k l", ":0"),
        ("BF.CARD m", ":3"),
        ("BF.CARD n", ":5"),
        ("CF.COUNT counting a", ":1"),
        ("CF.COUNT counting b", ":1"),
    ]);
}

#[test]
fn copies_stay_independent_across_saves_and_on_a_replica() {
    let (primary, mut db) = Server::start().with_client();
    let replica = primary.replica(&OTHER_SETTINGS);
    for (family, reserve) in [
        (Family::Bloom, "BF.RESERVE k 0.001 300000"),
        (Family::Bloom, "BF.RESERVE k 0.001 100"),
        (Family::Counting, "CF.RESERVE k 100 ERROR 0.001"),
    ] {
        db.run("FLUSHALL");
        db.run(reserve);
        family.add_items(&mut db, "k", 0..20_000);
        db.run("COPY k copy");
        family.add_items(&mut db, "copy", 20_000..30_000);
        db.run("DEBUG RELOAD");
        db.run("COPY copy copy-of-copy");
        family.add_items(&mut db, "k", 30_000..40_000);
        if family == Family::Counting {
            db.run("COPY k deleted-from");
            delete_items(&mut db, "deleted-from", 0..20_000);
        }
        primary.wait_for(&replica);
        for mut db in [primary.connect(), replica.connect()] {
            assert_eq!(family.missing_items(&mut db, "k", 0..20_000), 0);
            assert_eq!(family.missing_items(&mut db, "k", 30_000..40_000), 0);
            assert_eq!(family.missing_items(&mut db, "copy", 0..30_000), 0);
            assert_eq!(db.digest("copy"), db.digest("copy-of-copy"));
            let false_positives = 10_000 - family.missing_items(&mut db, "k", 20_000..30_000);
            // One in a thousand is expected, ten of ten thousand; ten times as many is no accident.
            assert!(
                false_positives < 100,
                "{false_positives} items of the copy are in the original"
            );
        }
    }
}
