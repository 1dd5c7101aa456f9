//! The cluster in docker/compose.yml.

use crate::compose::{Cluster, NODES};
use crate::items::{add_items, missing_items};
use crate::patience::{eventually, wait_for_primary, PATIENCE};
use redis::{cmd, Connection};

const KEY: &str = "seen";
/// No item is taken for another.
const RATE: &str = "0.000000001";
const BATCHES: u32 = 50;
const BATCH: u32 = 100;

/// The fields of a node's line about itself in CLUSTER NODES.
fn own_line(db: &mut Connection) -> Vec<String> {
    let nodes: String = cmd("CLUSTER").arg("NODES").query(db).expect("CLUSTER NODES");
    let own = nodes.lines().find(|line| line.contains("myself"));
    own.expect("a node lists itself").split(' ').map(str::to_owned).collect()
}

fn is_primary(own_line: &[String]) -> bool {
    own_line[2].contains("master")
}

/// Whether the node is a primary that serves this slot. Its slots are the fields from 8 on.
fn serves(own_line: &[String], slot: u32) -> bool {
    is_primary(own_line)
        && own_line[8..].iter().any(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let slots = first.parse().expect("a slot")..=last.parse().expect("a slot");
            slots.contains(&slot)
        })
}

#[test]
fn a_cluster_of_three_primaries_forms_itself_and_answers_redis_cli() {
    let cluster = Cluster::start();
    let primaries =
        NODES.iter().filter(|node| is_primary(&own_line(&mut cluster.connect(node)))).count();
    assert_eq!(primaries, 3);

    // Twenty keys are spread over all three primaries; one client that follows redirects reaches
    // them all.
    for number in 0..20 {
        let key = format!("seen:{number}");
        let ask = |line: &[&str]| cluster.redis_cli("node-1", line);
        assert_eq!(ask(&["BF.INSERT", &key, "ERROR", RATE, "ITEMS", "alice"]), "1");
        assert_eq!(ask(&["BF.EXISTS", &key, "alice"]), "1");
        assert_eq!(ask(&["BF.EXISTS", &key, "bob"]), "0");
    }
    for node in NODES {
        let keys: u32 = cmd("DBSIZE").query(&mut cluster.connect(node)).unwrap();
        assert!(keys > 0, "{node} has no keys");
    }
}

#[test]
fn after_a_primary_is_killed_its_replica_has_every_acknowledged_item() {
    let cluster = Cluster::start();
    let slot: u32 =
        cmd("CLUSTER").arg("KEYSLOT").arg(KEY).query(&mut cluster.connect(NODES[0])).unwrap();
    let serving = |without: &str| {
        NODES
            .into_iter()
            .filter(|node| *node != without)
            .find(|node| serves(&own_line(&mut cluster.connect(node)), slot))
    };
    let primary = serving("").expect("every slot is served");

    let mut db = cluster.connect(primary);
    let _: () = cmd("BF.RESERVE").arg(KEY).arg(0.001).arg(1000).query(&mut db).unwrap();
    for batch in 0..BATCHES {
        add_items(&mut db, KEY, batch * BATCH..(batch + 1) * BATCH);
        let replicas: u32 =
            cmd("WAIT").arg(1).arg(PATIENCE.as_millis() as u64).query(&mut db).unwrap();
        assert_eq!(replicas, 1);
    }

    cluster.compose(&["kill", primary]);
    let successor = eventually("a failover", || serving(primary));
    let mut db = cluster.connect(successor);
    eventually("a healthy cluster", || {
        let info: String = cmd("CLUSTER").arg("INFO").query(&mut db).unwrap();
        info.contains("cluster_state:ok").then_some(())
    });
    assert_eq!(missing_items(&mut db, KEY, 0..BATCHES * BATCH), 0);

    // The cluster keeps working, and the killed node comes back as a replica.
    add_items(&mut db, KEY, BATCHES * BATCH..(BATCHES + 1) * BATCH);
    cluster.compose(&["start", primary]);
    let mut back = cluster.connect(primary);
    eventually("the old primary to be a replica", || {
        (!is_primary(&own_line(&mut back))).then_some(())
    });
    let _: () = cmd("READONLY").query(&mut back).unwrap();
    wait_for_primary(&mut back);
    assert_eq!(missing_items(&mut back, KEY, 0..(BATCHES + 1) * BATCH), 0);
}

#[test]
fn a_stopped_cluster_forms_again_with_new_addresses() {
    let cluster = Cluster::start();
    let cli = |line: &[&str]| cluster.redis_cli("node-1", line);
    assert_eq!(cli(&["BF.INSERT", KEY, "ERROR", RATE, "ITEMS", "alice"]), "1");
    cluster.compose(&["stop"]);
    // The engine assigns addresses in the order in which containers start.
    for node in NODES.iter().rev() {
        cluster.compose(&["start", node]);
    }
    cluster.form();

    for node in NODES {
        let nodes: String = cmd("CLUSTER").arg("NODES").query(&mut cluster.connect(node)).unwrap();
        let connected = nodes.lines().filter(|line| line.contains(" connected"));
        assert_eq!(connected.count(), NODES.len(), "{node}:\n{nodes}");
    }
    assert_eq!(cli(&["BF.EXISTS", KEY, "alice"]), "1");
    assert_eq!(cli(&["BF.EXISTS", KEY, "bob"]), "0");
}
