//! The client crate: results in the order of the items, errors for the right items, and what WAIT
//! guarantees.

use splitbloom_client::{Acknowledged, Error, Growth, Info, PartitionedFilter};
use splitbloom_harness::trial::{item, move_slot, Cluster};
use splitbloom_harness::{eventually, Server};
use splitbloom_partition::{slot_of, Partitions, SLOTS};
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(200);

fn filter(cluster: &Cluster, name: &str, partitions: u64) -> PartitionedFilter {
    let partitions = Partitions::new(partitions).expect("a power of two");
    PartitionedFilter::connect(&cluster.urls(), name, partitions).expect("a cluster")
}

/// A partitioned filter, reserved on the cluster.
fn reserved(cluster: &Cluster, name: &str, partitions: u64) -> PartitionedFilter {
    let mut filter = filter(cluster, name, partitions);
    filter.reserve(1e-9, 1000, Growth::Times(2)).expect("an empty cluster");
    filter
}

fn all_good(answers: Vec<Result<bool, Error>>) -> Vec<bool> {
    answers.into_iter().map(|answer| answer.expect("a reply")).collect()
}

#[test]
fn answers_come_in_the_order_of_the_items() {
    let cluster = Cluster::form(3, 0);
    let mut users = filter(&cluster, "users", 64);
    users.reserve(1e-9, 10_000, Growth::Fixed).expect("an empty cluster");
    let items: Vec<[u8; 16]> = (0..2000).map(item).collect();
    let (odd, even): (Vec<_>, Vec<_>) = (0..2000_u64).partition(|number| number % 2 == 1);
    let odd: Vec<[u8; 16]> = odd.into_iter().map(item).collect();
    assert_eq!(all_good(users.madd(&odd)), vec![true; odd.len()]);
    assert_eq!(even.len(), 1000);
    let is_odd: Vec<bool> = (0..2000).map(|number| number % 2 == 1).collect();
    assert_eq!(all_good(users.mexists(&items)), is_odd);
    let is_new: Vec<bool> = is_odd.iter().map(|odd| !odd).collect();
    assert_eq!(all_good(users.madd(&items)), is_new);
    let nothing: &[&str] = &[];
    assert!(all_good(users.mexists(nothing)).is_empty());

    assert!(users.add("alice").expect("a reply"));
    assert!(!users.add("alice").expect("a reply"));
    assert!(users.exists("alice").expect("a reply"));
    assert!(!users.exists("bob").expect("a reply"));
    assert!(users.add(b"\0{binary}\xff").expect("a reply"));
    assert!(users.exists(b"\0{binary}\xff").expect("a reply"));

    // Each item is in the key that any other client would compute.
    let key = format!("users:{{{}}}", Partitions::new(64).expect("64").of(b"alice"));
    let found = cluster.nodes().iter().filter(|node| {
        let reply = node.connect().ask(&format!("BF.EXISTS {key} alice"));
        reply == ":1"
    });
    assert_eq!(found.count(), 1);
}

#[test]
fn a_filter_is_described_and_deleted_as_one() {
    let cluster = Cluster::form(3, 0);
    let mut users = filter(&cluster, "users", 16);
    assert!(matches!(users.info(), Err(Error::Refused(words)) if words == "ERR not found"));
    users.reserve(0.01, 16_000, Growth::Times(2)).expect("an empty cluster");
    let twice = users.reserve(0.01, 16_000, Growth::Times(2));
    assert!(matches!(twice, Err(Error::Refused(words)) if words == "ERR item exists"));
    let items: Vec<[u8; 16]> = (0..1000).map(item).collect();
    let new = all_good(users.madd(&items)).iter().filter(|new| **new).count() as u64;
    let info = users.info().expect("all partitions");
    let Info { capacity, bytes, sub_filters, items, .. } = info;
    assert_eq!((sub_filters, items), (16, new));
    assert!((16_000..20_000).contains(&capacity), "{info:?}");
    assert!(bytes >= capacity * 9 / 8, "9.9 bits an item: {info:?}");
    assert_eq!(users.delete().expect("all partitions"), 16);
    assert_eq!(users.delete().expect("none is left"), 0);
    for node in cluster.nodes() {
        assert_eq!(node.connect().run("DBSIZE").integer(), 0);
    }
}

#[test]
fn a_full_partition_refuses_only_its_own_items() {
    let cluster = Cluster::form(3, 0);
    let mut users = filter(&cluster, "users", 4);
    users.reserve(0.000_001, 4000, Growth::Fixed).expect("an empty cluster");
    let full = users.keys()[2].clone();
    let [owner, _] = cluster.owner_and_other(&full);
    let mut db = cluster.nodes()[owner].connect();
    db.call([b"UNLINK".as_slice(), &full]);
    db.call([b"BF.RESERVE".as_slice(), &full, b"0.000001", b"3", b"NONSCALING"]);

    let partitions = Partitions::new(4).expect("4");
    let items: Vec<[u8; 16]> = (0..100).map(item).collect();
    let answers = users.madd(&items);
    let mut here = 0;
    for (item, answer) in items.iter().zip(&answers) {
        here += u32::from(partitions.of(item) == 2);
        match (partitions.of(item), here) {
            (2, ..=3) => assert!(matches!(answer, Ok(true)), "{answer:?}"),
            (2, 4) => assert!(
                matches!(
                    answer,
                    Err(Error::Refused(words)) if words == "ERR non scaling filter is full"
                ),
                "{answer:?}"
            ),
            (2, _) => assert!(matches!(answer, Err(Error::NotTried)), "{answer:?}"),
            _ => assert!(matches!(answer, Ok(true)), "{answer:?}"),
        }
    }
    assert!(here > 4, "some items belong to the full partition");
    // A wrong type is an error for each item of that partition.
    db.call([b"UNLINK".as_slice(), &full]);
    db.call([b"SET".as_slice(), &full, b"text"]);
    for (item, answer) in items.iter().zip(users.mexists(&items)) {
        match partitions.of(item) {
            2 => assert!(
                matches!(answer, Err(Error::Refused(words)) if words.starts_with("WRONGTYPE "))
            ),
            _ => assert!(matches!(answer, Ok(true))),
        }
    }
}

#[test]
fn a_lost_partition_is_an_error_for_its_own_items() {
    let cluster = Cluster::form(3, 0);
    let mut users = reserved(&cluster, "users", 16);
    let items: Vec<[u8; 16]> = (0..1000).map(item).collect();
    all_good(users.madd(&items));
    users.check().expect("it is whole");
    let lost = users.keys()[5].clone();
    let is_lost = |error: &Error| matches!(error, Error::Missing(keys) if *keys == [lost.clone()]);
    let [owner, _] = cluster.owner_and_other(&lost);
    let mut owner = cluster.nodes()[owner].connect();
    owner.call([b"UNLINK".as_slice(), &lost]);
    assert!(users.check().is_err_and(|error| is_lost(&error)));
    let partitions = Partitions::new(16).expect("16");
    let looked_up = users.mexists(&items);
    let added = users.madd(&items);
    for (item, answers) in items.iter().zip(looked_up.iter().zip(&added)) {
        match (partitions.of(item), answers) {
            (5, (Err(looked_up), Err(added))) => assert!(is_lost(looked_up) && is_lost(added)),
            (5, answers) => panic!("{answers:?}"),
            (_, answers) => assert!(matches!(answers, (Ok(true), Ok(false))), "{answers:?}"),
        }
    }
    let one = items.iter().find(|item| partitions.of(*item) == 5);
    let one = one.expect("some items belong to it");
    assert!(users.exists(one).is_err_and(|error| is_lost(&error)));
    assert!(users.add(one).is_err_and(|error| is_lost(&error)));
    let exists = owner.call([b"EXISTS".as_slice(), &lost]);
    assert_eq!(exists.integer(), 0, "nothing creates it");
}

#[test]
fn a_migrating_slot_is_followed() {
    let cluster = Cluster::form(3, 0);
    let mut users = filter(&cluster, "users", 2);
    users.reserve(0.01, 1000, Growth::Fixed).expect("an empty cluster");
    assert!(users.add("alice").expect("a reply"));
    let key = users.keys()[usize::from(Partitions::new(2).expect("2").of(b"alice"))].clone();
    let slot = slot_of(&key);
    let [source, target] = cluster.owner_and_other(&key).map(|node| &cluster.nodes()[node]);
    let (mut from, mut to) = (source.connect(), target.connect());

    to.run(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", source.id));
    from.run(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", target.id));
    assert!(users.exists("alice").expect("still at the source"));
    let key = String::from_utf8(key).expect("a name of text");
    from.run(&format!("MIGRATE 127.0.0.1 {} {key} 0 10000", target.port));
    // The source replies -ASK, and the target serves only clients that send ASKING.
    assert!(users.exists("alice").expect("at the target"));
    assert!(!users.add("alice").expect("at the target"));
    assert_eq!(all_good(users.mexists(&["alice", "alice"])), [true, true]);
    to.run(&format!("CLUSTER SETSLOT {slot} NODE {}", target.id));
    from.run(&format!("CLUSTER SETSLOT {slot} NODE {}", target.id));
    // The source replies -MOVED.
    assert!(users.exists("alice").expect("at its new owner"));
    move_slot(slot, (target, &mut to), (source, &mut from)).expect("there and back");
    assert!(users.exists("alice").expect("at its old owner"));
    assert_eq!(users.delete().expect("all partitions"), 2);
}

#[test]
fn errors_are_distinguished_by_type() {
    let partitions = Partitions::new(2).expect("2");
    let nobody = PartitionedFilter::connect(&["redis://127.0.0.1:1"], "users", partitions);
    assert!(matches!(nobody, Err(Error::Unreachable(_))));
    let nowhere: &[&str] = &[];
    let nobody = PartitionedFilter::connect(nowhere, "users", partitions);
    assert!(matches!(nobody, Err(Error::Unreachable(_))));

    let cluster = Cluster::form(3, 0);
    let braced = PartitionedFilter::connect(&cluster.urls(), "u{sers}", partitions);
    assert!(matches!(braced, Err(Error::BraceInName)));

    // A slot that no node serves.
    let mut users = reserved(&cluster, "users", 2);
    users.set_patience(SOON);
    let slot = slot_of(&users.keys()[0]);
    for node in cluster.nodes() {
        node.connect().line(&format!("CLUSTER DELSLOTS {slot}"));
    }
    let items: Vec<[u8; 16]> = (0..20).map(item).collect();
    let served: Vec<bool> = users
        .madd(&items)
        .iter()
        .map(|answer| match answer {
            Ok(_) => true,
            Err(Error::Unreachable(_)) => false,
            Err(other) => panic!("{other}"),
        })
        .collect();
    let second: Vec<bool> = items.iter().map(|item| partitions.of(item) == 1).collect();
    assert_eq!(served, second, "the other partition still works");
}

/// A reservation is not retried once it may have been executed.
#[test]
fn a_reservation_waits_for_a_node_that_is_starting_again() {
    let mut cluster = Cluster::form(3, 0);
    cluster.kill(0);
    let mut users = filter(&cluster, "users", 16);
    let reserved = thread::scope(|scope| {
        let reserved = scope.spawn(|| users.reserve(0.01, 1000, Growth::Fixed));
        thread::sleep(SOON); // at least one attempt fails
        cluster.start_again(0);
        reserved.join().expect("no panic")
    });
    reserved.expect("all partitions");
    assert_eq!(users.info().expect("all partitions").sub_filters, 16);
}

#[test]
fn writes_are_acknowledged_once_the_replicas_have_them() {
    let cluster = Cluster::form(1, 1);
    let mut users = reserved(&cluster, "users", 4);
    let items: Vec<[u8; 16]> = (0..100).map(item).collect();
    all_good(users.madd(&items));
    eventually("the replica has it", || users.wait(1, SOON) == Acknowledged::Yes);
    assert_eq!(users.wait(2, SOON), Acknowledged::Yes, "nothing was sent since");
    all_good(users.madd(&items));
    assert_eq!(users.wait(2, SOON), Acknowledged::No, "there is only one replica");
}

#[test]
fn a_server_without_a_cluster_acknowledges_once_its_replica_has_caught_up() {
    let primary = Server::start();
    let url = [format!("redis://127.0.0.1:{}", primary.port())];
    let one = Partitions::new(1).expect("a power of two");
    let mut users = PartitionedFilter::connect(&url, "users", one).expect("a server");
    users.reserve(0.01, 1000, Growth::Times(2)).expect("a new filter");
    assert_eq!(users.wait(1, SOON), Acknowledged::No, "there is no replica");
    let _replica = primary.replica(&[]);
    eventually("the replica has it", || users.wait(1, SOON) == Acknowledged::Yes);
}

#[test]
fn writes_over_a_lost_connection_are_not_acknowledged() {
    let cluster = Cluster::form(1, 1);
    let mut users = reserved(&cluster, "users", 4);
    let items: Vec<[u8; 16]> = (0..100).map(item).collect();
    all_good(users.madd(&items));
    let mut primary = cluster.nodes()[0].connect();
    primary.run("CLIENT KILL TYPE normal SKIPME yes");
    assert_eq!(users.wait(1, SOON), Acknowledged::No);
    // The connection breaks during another command, and is replaced.
    all_good(users.madd(&items));
    primary.run("CLIENT KILL TYPE normal SKIPME yes");
    all_good(users.mexists(&items));
    assert_eq!(users.wait(1, SOON), Acknowledged::No);
    all_good(users.madd(&items));
    eventually("the replica has it", || users.wait(1, SOON) == Acknowledged::Yes);
}

/// Writes to such a node can no longer be acknowledged, and need not be.
#[test]
fn a_node_without_slots_is_not_waited_for_once_the_items_are_resent() {
    let cluster = Cluster::form(2, 1);
    let mut users = reserved(&cluster, "users", 1);
    let [number, target] = cluster.owner_and_other(&users.keys()[0]);
    let [source, target] = [number, target].map(|node| &cluster.nodes()[node]);
    cluster.server(number + 2).pause();
    assert!(users.add("alice").expect("a reply"));
    assert_eq!(users.wait(1, SOON), Acknowledged::No);

    let (mut from, mut to) = (source.connect(), target.connect());
    from.run("FLUSHALL");
    let half = u32::from(SLOTS) / 2;
    let slots = format!("{} {}", number as u32 * half, (number as u32 + 1) * half - 1);
    from.run(&format!("CLUSTER DELSLOTSRANGE {slots}"));
    to.run(&format!("CLUSTER DELSLOTSRANGE {slots}"));
    to.run(&format!("CLUSTER ADDSLOTSRANGE {slots}"));
    to.run("CLUSTER BUMPEPOCH");
    eventually("the source knows the new owner", || {
        from.ask("EXISTS users:{0}").starts_with("-MOVED")
    });
    assert_eq!(users.wait(1, SOON), Acknowledged::No);
    assert!(matches!(users.add("alice"), Err(Error::Missing(_))));
    let reserved = users.reserve(1e-9, 1000, Growth::Times(2));
    reserved.expect("it is gone");
    eventually("the target's replica has it", || {
        users.add("alice").expect("a reply");
        users.wait(1, SOON) == Acknowledged::Yes
    });
    cluster.server(number + 2).resume();
}

#[test]
fn nodes_that_announce_no_host_are_found() {
    for kind in ["hostname", "unknown-endpoint"] {
        let setting = format!("cluster-preferred-endpoint-type {kind}");
        let cluster = Cluster::configured(3, 0, &[&setting]);
        let mut users = reserved(&cluster, "users", 16);
        let items: Vec<[u8; 16]> = (0..100).map(item).collect();
        assert_eq!(all_good(users.madd(&items)), vec![true; items.len()]);
        // Redirects name no host either.
        let partition = Partitions::new(16).expect("16").of(&items[0]);
        let key = users.keys()[usize::from(partition)].clone();
        let [source, target] = cluster.owner_and_other(&key).map(|node| &cluster.nodes()[node]);
        let (mut from, mut to) = (source.connect(), target.connect());
        let slot = slot_of(&key);
        move_slot(slot, (source, &mut from), (target, &mut to)).expect("the slot moves");
        assert_eq!(all_good(users.mexists(&items)), vec![true; items.len()]);
    }
}

/// On newer servers WAIT covers only the changes of its own connection.
#[test]
fn writes_of_others_are_acknowledged_only_once_a_replica_has_them() {
    let cluster = Cluster::form(1, 1);
    let mut users = reserved(&cluster, "users", 1);
    assert!(users.add("alice").expect("a reply"));
    eventually("the replica has it", || users.wait(1, SOON) == Acknowledged::Yes);
    cluster.server(1).pause();
    let mut other = cluster.nodes()[0].connect();
    assert_eq!(other.ask("BF.ADD users:{0} bob"), ":1");
    assert!(!users.add("bob").expect("a reply"), "already present");
    assert_eq!(users.wait(1, SOON), Acknowledged::No);
    assert!(users.exists("bob").expect("a reply"));
    assert_eq!(users.wait(1, SOON), Acknowledged::No, "a read makes no difference");
    cluster.server(1).resume();
    assert!(!users.add("bob").expect("a reply"));
    eventually("the replica has it", || {
        users.add("bob").expect("a reply");
        users.wait(1, SOON) == Acknowledged::Yes
    });
    let mut replica = cluster.nodes()[1].connect();
    replica.run("READONLY");
    assert_eq!(replica.ask("BF.EXISTS users:{0} bob"), ":1");
}
