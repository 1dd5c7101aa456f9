//! BF.KEYS: the keys of a filter that is spread over many nodes.

use splitbloom_harness::Server;

#[test]
fn the_keys_of_a_filter_are_its_name_and_partition_numbers() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.converse(&[
            ("BF.KEYS users PARTITIONS 4", "[$users:{0}, $users:{1}, $users:{2}, $users:{3}]"),
            ("BF.KEYS users PARTITIONS 1", "[$users:{0}]"),
            ("bf.keys a}b partitions 1", "[$a}b:{0}]"),
        ]);
        let all = db.run("BF.KEYS users PARTITIONS 16384");
        assert_eq!(all.elements().len(), 16_384);
        assert_eq!(all.elements()[16_383].text(), "users:{16383}");
    }
}

#[test]
fn the_key_of_an_item_has_the_low_bits_of_its_checksum() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        // CRC16("123456789") is 0x31C3, and CRC16("") is 0.
        db.converse(&[
            ("BF.KEYS users PARTITIONS 16384 ITEMS 123456789", "[$users:{12739}]"),
            (
                "BF.KEYS users PARTITIONS 256 items 123456789 123456789",
                "[$users:{195}, $users:{195}]",
            ),
            ("BF.KEYS users PARTITIONS 1 ITEMS ITEMS a", "[$users:{0}, $users:{0}]"),
        ]);
        let odd: [&[u8]; 6] = [b"BF.KEYS", b"", b"PARTITIONS", b"64", b"ITEMS", b""];
        assert_eq!(db.call(odd).to_string(), "[$:{0}]");
    }
}

#[test]
fn bf_keys_touches_no_key_and_counts_nothing() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("SET users:{0} text");
    db.run("BF.KEYS users PARTITIONS 1 ITEMS a b");
    db.run("BF.KEYS users PARTITIONS 1");
    assert_eq!(db.info_number("bf", "bf_lookups"), 0);
    assert_eq!(db.info_number("stats", "keyspace_hits"), 0);
    assert_eq!(db.run("DBSIZE").integer(), 1);
}

#[test]
fn bf_keys_works_at_maxmemory_on_a_replica_and_in_a_script() {
    let server = Server::start();
    let replica = server.replica(&[]);
    let script = "return redis.call('BF.KEYS', 'users', 'PARTITIONS', '2')";
    for mut db in [server.connect(), replica.connect()] {
        db.run("CONFIG SET maxmemory 1");
        let keys = "[$users:{0}, $users:{1}]";
        assert_eq!(db.ask("BF.KEYS users PARTITIONS 2"), keys);
        assert_eq!(db.call(["EVAL_RO", script, "0"]).to_string(), keys);
    }
}

#[test]
fn bf_keys_works_on_a_replica_with_stale_data() {
    let replica = Server::start();
    let mut db = replica.connect();
    db.run("CONFIG SET replica-serve-stale-data no");
    db.run("REPLICAOF 127.0.0.1 1");
    assert!(db.ask("BF.EXISTS users:{0} a").starts_with("-MASTERDOWN"));
    assert_eq!(db.ask("BF.KEYS users PARTITIONS 1"), "[$users:{0}]");
}
