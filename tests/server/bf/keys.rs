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
