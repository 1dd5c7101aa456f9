//! Our slots and partitions agree with the server's.

use crate::harness::{Random, Server};
use crate::trial::Cluster;
use splitbloom_partition::{crc16, slot_of, Name, Partitions, SLOTS};

const ITEMS: usize = 100_000;
const LONGEST: u64 = 40;

/// Random byte strings, some of them with braces.
fn random_items(seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::seeded(seed);
    let item = |_| {
        let len = random.below(LONGEST) as usize;
        random.bytes(len)
    };
    (0..ITEMS).map(item).collect()
}

#[test]
fn the_server_computes_the_same_slot() {
    let cluster = Cluster::form(1, 0);
    let mut db = cluster.nodes()[0].connect();
    let mut items = random_items(1);
    // Random bytes rarely contain both braces, so a tenth of the items get them, including empty
    // tags.
    let mut random = Random::seeded(2);
    for item in items.iter_mut().step_by(10) {
        for brace in [b'{', b'}', b'{', b'}'] {
            let place = random.index(item.len() + 1);
            item.insert(place, brace);
        }
    }
    let command = |item: &Vec<u8>| vec![b"CLUSTER".to_vec(), b"KEYSLOT".to_vec(), item.clone()];
    let slots = db.pipeline(items.iter().map(command));
    let whole = Partitions::new(u64::from(SLOTS)).expect("the most partitions");
    for (item, slot) in items.iter().zip(slots) {
        assert_eq!(i64::from(slot_of(item)), slot.integer(), "{item:?}");
        if !item.contains(&b'{') {
            // Then the slot is CRC16(item) mod 16384, which is also the partition if there are
            // 16384.
            assert_eq!(i64::from(whole.of(item)), slot.integer(), "{item:?}");
        }
    }
}

#[test]
fn the_server_computes_the_same_partition() {
    let server = Server::start();
    let mut db = server.connect();
    let name = Name::new(b"users").expect("no brace");
    for (count, items) in [(1, 3), (64, 4), (1024, 5), (16_384, 6)] {
        let partitions = Partitions::new(count).expect("a power of two");
        let items = random_items(items);
        for items in items.chunks(1000) {
            let head = format!("BF.KEYS users PARTITIONS {count} ITEMS");
            let head = head.split(' ').map(|word| word.as_bytes().to_vec());
            let keys = db.call(head.chain(items.iter().cloned()));
            for (item, key) in items.iter().zip(keys.elements()) {
                assert_eq!(key.bytes(), name.key(partitions.of(item)), "{item:?}");
            }
        }
    }
}

#[test]
fn every_node_names_the_keys_whoever_owns_their_slots() {
    let cluster = Cluster::form(3, 1);
    let name = Name::new(b"users").expect("no brace");
    let all = Partitions::new(64).expect("a power of two");
    let keys: Vec<Vec<u8>> = all.each().map(|number| name.key(number)).collect();
    for node in cluster.nodes() {
        let mut db = node.connect();
        let named = db.run("BF.KEYS users PARTITIONS 64");
        let named: Vec<&[u8]> = named.elements().iter().map(|key| key.bytes()).collect();
        assert_eq!(named, keys);
        let of_item = db.run("BF.KEYS users PARTITIONS 64 ITEMS alice");
        assert_eq!(
            of_item.elements()[0].bytes(),
            name.key(crc16(b"alice") % 64)
        );
    }
    // In a slot that is being moved, and in one that no node serves.
    let [source, target, ..] = cluster.nodes() else {
        panic!("six nodes")
    };
    let slot = slot_of(&keys[0]);
    let owner = cluster.nodes().iter().find(|node| {
        let reply = node.connect().ask("EXISTS users:{0}");
        reply == ":0"
    });
    let owner = owner.expect("a primary owns the slot");
    let other = if owner == source { target } else { source };
    let mut db = owner.connect();
    db.run(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", other.id));
    assert!(db.ask("BF.EXISTS users:{0} a").starts_with("-ASK"));
    assert_eq!(db.ask("BF.KEYS users PARTITIONS 1"), "[$users:{0}]");
    db.run(&format!("CLUSTER SETSLOT {slot} STABLE"));
    db.run(&format!("CLUSTER DELSLOTS {slot}"));
    assert!(db.ask("BF.EXISTS users:{0} a").starts_with("-CLUSTERDOWN"));
    assert_eq!(db.ask("BF.KEYS users PARTITIONS 1"), "[$users:{0}]");
}
