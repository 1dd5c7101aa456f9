//! Our slots and partitions agree with the server's.

use splitbloom_harness::trial::{move_slot, Cluster, Node};
use splitbloom_harness::{words, Connection, Random};
use splitbloom_partition::{slot_of, Partitions, SLOTS};

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

/// The reply that a client ends with that asks this node first and follows redirections.
fn reply_to_a_client(node: &Node, command: &str) -> String {
    let mut db = node.connect();
    let mut reply = db.ask(command);
    while reply.starts_with("-MOVED ") || reply.starts_with("-ASK ") {
        let port = reply.rsplit(':').next().map(str::parse);
        db = Connection::open(port.expect("a port").expect("a port")).expect("the node is up");
        if reply.starts_with("-ASK ") {
            db.run("ASKING");
        }
        reply = db.ask(command);
    }
    reply
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
fn a_union_of_keys_in_several_slots_is_refused_as_the_server_refuses_its_own() {
    let cluster = Cluster::form(2, 0);
    let mut dbs = [0, 1].map(|node| cluster.nodes()[node].connect());
    // The first node serves {s} and {b}, the second {m}.
    let slots: Vec<u16> = ["{b}", "{s}", "{m}"].map(|tag| slot_of(tag.as_bytes())).to_vec();
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
        for (node, db) in cluster.nodes().iter().zip(&mut dbs) {
            assert_eq!(db.ask(&format!("SUNIONSTORE {to} {one} {other}")), refused);
            let reply = reply_to_a_client(node, &format!("BF.MERGE {to} 2 {one} {other}"));
            assert_eq!(reply, refused, "{words:?}");
        }
        assert_eq!(dbs[0].ask("EXISTS {b}to"), ":0");
    }
    let redirected = dbs[1].ask("BF.MERGE {b}to 2 {b}a {b}b");
    let port = cluster.nodes()[0].port;
    assert_eq!(redirected, format!("-MOVED {} 127.0.0.1:{port}", slot_of(b"{b}")));
    dbs[0].converse(&[
        ("BF.MERGE {b}to 2 {b}a {b}b", "+OK"),
        ("BF.MEXISTS {b}to {b}a {b}b", "[:1, :1]"),
        ("BF.MERGE {b}to 1 {b}missing", "-ERR not found"),
    ]);
    for node in cluster.nodes() {
        let reply = reply_to_a_client(node, "BF.MERGE {m}to 2 {b}a");
        let wrong = "-ERR number of keys does not match the keys given";
        assert_eq!(reply, wrong);
    }
}

#[test]
fn a_union_is_to_be_tried_again_while_its_keys_are_on_two_nodes() {
    let cluster = Cluster::form(2, 0);
    let slot = slot_of(b"{m}");
    let [source, target] = cluster.owner_and_other("{m}").map(|node| &cluster.nodes()[node]);
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
    let of_server = "SUNIONSTORE {m}to {m}a {m}b";
    assert_eq!(from.ask(of_server), again);
    for command in [
        of_server,
        "BF.MERGE {m}to 2 {m}a {m}b",
        "BF.MERGE {m}to 2 {m}b {m}a",
        "BF.MERGE {m}to 1 {m}b",
        "BF.MERGE {m}a 1 {m}b",
        "BF.MERGE {m}b 1 {m}a",
    ] {
        assert_eq!(reply_to_a_client(source, command), again, "{command}");
    }
    // In a transaction and in a script, which names but one of the keys.
    let lines = ["MULTI", "BF.MERGE {m}b 1 {m}a", "EXEC"].map(|line| from.ask(line));
    assert!(lines.concat().contains(&again[1..]), "{lines:?}");
    let script = "return redis.call('BF.MERGE', KEYS[1], 1, '{m}a')";
    let reply = from.call(["EVAL", script, "1", "{m}b"]).to_string();
    assert!(reply.starts_with('-') && !reply.contains("not found"), "{reply}");
    // Newer servers know all keys of the command, and refuse it themselves.
    let there = reply_to_a_client(source, "BF.MERGE {m}copy 1 {m}a");
    assert!(there == "+OK" || there == again, "{there}");
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
        ("BF.MERGE {m}to 1 {m}missing", "-ERR not found"),
    ]);
}

/// The server wakes such a client when the key is gone, or redirects it when the slot is. It is
/// tried until the key leaves before the end, which it does unless the machine stands still.
#[test]
fn a_filter_that_leaves_its_node_while_it_is_shrunk_is_as_it_was_and_its_client_is_told() {
    let cluster = Cluster::form(2, 0);
    let slot = slot_of(b"{m}");
    let is_told = (0..50).any(|_| {
        let owner = usize::from(cluster.nodes()[0].connect().ask("EXISTS {m}") != ":0");
        let (source, target) = (&cluster.nodes()[owner], &cluster.nodes()[1 - owner]);
        let (mut from, mut to, mut client) = (source.connect(), target.connect(), source.connect());
        from.run("BF.RESERVE {m} 0.000001 17000000");
        let numbers = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        from.call(words("BF.PACKADD {m} FIXED 4").into_iter().chain([numbers]));
        let before = from.digest("{m}");
        to.run(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", source.id));
        from.run(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", target.id));
        client.send("BF.SHRINK {m} CAPACITY 3000000".split(' '));
        let _ = (0..100).any(|_| from.info_number("clients", "blocked_clients") > 0);
        move_slot(slot, (source, &mut from), (target, &mut to)).expect("both nodes are up");
        let reply = client.receive().to_string();
        let moved = format!("-MOVED {slot} 127.0.0.1:{}", target.port);
        let after = to.digest("{m}");
        to.run("DEL {m}");
        assert!(!reply.starts_with('-') || reply == moved, "{reply}");
        assert!(!reply.starts_with('-') || after == before);
        reply == moved
    });
    assert!(is_told, "the filter never left before the end");
}

/// Newer servers parse commands on their threads for input, and find the keys there.
#[test]
fn unions_reach_the_replica_in_order_while_threads_read_the_commands() {
    const CLIENTS: u64 = 16;
    const ROUNDS: u64 = 30;
    let cluster = Cluster::configured(1, 1, &["io-threads 4", "maxmemory-policy noeviction"]);
    let [primary, replica] = cluster.nodes() else { panic!("two nodes") };
    let mut db = primary.connect();
    for client in 0..CLIENTS {
        db.run(&format!("BF.RESERVE {{{client}}}a 0.01 2000 SEED 0123456789abcdef"));
    }
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut db = primary.connect();
                for round in 0..ROUNDS {
                    let batch = (0..50).flat_map(|n| {
                        let tag = format!("{{{client}}}");
                        let item = round * 50 + n;
                        [
                            format!("SET {tag}text {item}"),
                            format!("BF.ADD {tag}a {item}"),
                            format!("BF.MERGE {tag}to 1 {tag}a"),
                        ]
                    });
                    let replies = db.pipeline(batch.map(|line| words(&line)));
                    assert!(replies.iter().all(|reply| !reply.is_error()), "{replies:?}");
                }
            });
        }
    });
    let mut copy = replica.connect();
    copy.run("READONLY");
    cluster.server(0).wait_for(cluster.server(1));
    for client in 0..CLIENTS {
        for key in ["a", "to"].map(|key| format!("{{{client}}}{key}")) {
            assert_eq!(copy.digest(&key), db.digest(&key), "{key}");
        }
        let text = format!("GET {{{client}}}text");
        assert_eq!(copy.ask(&text), db.ask(&text));
    }
}
