//! Our slots and partitions agree with the server's.

use crate::harness::{Random, Server};
use crate::trial::{move_slot, Cluster};
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

#[test]
fn a_union_of_keys_in_several_slots_is_refused_as_the_server_refuses_its_own() {
    let cluster = Cluster::form(2, 0);
    let mut dbs = [0, 1].map(|node| cluster.nodes()[node].connect());
    // The first node serves {s} and {b}, the second {m}.
    let slots: Vec<u16> = ["{b}", "{s}", "{m}"]
        .map(|tag| slot_of(tag.as_bytes()))
        .to_vec();
    let half = SLOTS / 2;
    assert!(slots[0] < half && slots[1] < half && slots[0] != slots[1] && slots[2] >= half);
    for (node, key) in [(0, "{b}a"), (0, "{b}b"), (0, "{s}a"), (1, "{m}a")] {
        dbs[node].run(&format!("BF.RESERVE {key} 0.01 1000 SEED 0123456789abcdef"));
        dbs[node].run(&format!("BF.ADD {key} {key}"));
    }
    let refused = "-CROSSSLOT Keys in request don't hash to the same slot";
    for words in [
        ["{b}to", "{b}a", "{s}a"], // both slots are on one node
        ["{b}to", "{b}a", "{m}a"],
        ["{b}to", "{m}a", "{m}a"],
        ["{s}to", "{b}a", "{b}b"],
        ["{m}to", "{b}a", "{s}a"],
    ] {
        let [to, one, other] = words;
        for db in &mut dbs {
            assert_eq!(db.ask(&format!("SUNIONSTORE {to} {one} {other}")), refused);
            let reply = db.ask(&format!("BF.MERGE {to} 2 {one} {other}"));
            assert_eq!(reply, refused, "{words:?}");
        }
        assert_eq!(dbs[0].ask("EXISTS {b}to"), ":0");
    }
    let redirected = dbs[1].ask("BF.MERGE {b}to 2 {b}a {b}b");
    let port = cluster.nodes()[0].port;
    assert_eq!(
        redirected,
        format!("-MOVED {} 127.0.0.1:{port}", slot_of(b"{b}"))
    );
    dbs[0].converse(&[
        ("BF.MERGE {b}to 2 {b}a {b}b", "+OK"),
        ("BF.MEXISTS {b}to {b}a {b}b", "[:1, :1]"),
        // A wrong number of keys is an error on any node.
        (
            "BF.MERGE {m}to 2 {b}a",
            "-ERR number of keys does not match the keys given",
        ),
    ]);
}

#[test]
fn a_union_is_to_be_tried_again_while_its_keys_are_on_two_nodes() {
    let cluster = Cluster::form(2, 0);
    let slot = slot_of(b"{m}");
    let owner = usize::from(cluster.nodes()[0].connect().ask("EXISTS {m}") != ":0");
    let (source, target) = (&cluster.nodes()[owner], &cluster.nodes()[1 - owner]);
    let (mut from, mut to) = (source.connect(), target.connect());
    for key in ["{m}a", "{m}b"] {
        from.run(&format!("BF.RESERVE {key} 0.01 1000 SEED 0123456789abcdef"));
        from.run(&format!("BF.ADD {key} {key}"));
    }
    to.run(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", source.id));
    from.run(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", target.id));
    let port = target.port;
    let migrate = format!("MIGRATE 127.0.0.1 {port} {{m}}a 0 60000");
    assert_eq!(from.ask(&migrate), "+OK");

    let again = "-TRYAGAIN Multiple keys request during rehashing of slot";
    for command in ["SUNIONSTORE {m}to {m}a {m}b", "BF.MERGE {m}to 2 {m}a {m}b"] {
        assert_eq!(from.ask(command), again, "{command}");
        to.run("ASKING");
        assert_eq!(to.ask(command), again, "{command}");
    }
    let keys = ["{m}b", "{m}a"].map(|key| format!("BF.MERGE {key} 1 {key}"));
    assert_eq!(from.ask(&keys[0]), "+OK", "all its keys are here");
    assert_eq!(
        from.ask(&keys[1]),
        format!("-ASK {slot} 127.0.0.1:{port}"),
        "all its keys are there"
    );

    move_slot(slot, (source, &mut from), (target, &mut to)).expect("both nodes are up");
    to.converse(&[
        ("BF.MERGE {m}to 2 {m}a {m}b", "+OK"),
        ("BF.MEXISTS {m}to {m}a {m}b", "[:1, :1]"),
    ]);
}
