//! The follower of the client crate, with real servers.

mod fork;
mod model;
pub mod random;
mod steps;

use redis::{ConnectionInfo, IntoConnectionInfo};
use splitbloom_client::{Error, Follower, Keys, Name, Partitions, Topology};
use splitbloom_harness::{
    absent_item, add_items, eventually, item, patient, Connection, Link, Server,
};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

fn at(port: u16) -> Vec<ConnectionInfo> {
    vec![format!("redis://127.0.0.1:{port}").into_connection_info().expect("an address")]
}

/// A follower of the key, through this port, which may not have a copy yet.
fn following(port: u16, key: &str) -> Follower {
    following_all(port, Keys::One(key.as_bytes()))
}

fn following_all(port: u16, keys: Keys) -> Follower {
    Follower::start(at(port), Topology::OneServer, keys).expect("a thread")
}

/// A follower of the key, through this port.
fn ready(port: u16, key: &str) -> Follower {
    let follower = following(port, key);
    wait_for_a_copy(&follower);
    follower
}

fn wait_for_a_copy(follower: &Follower) {
    assert!(follower.wait_until_ready(patient(SOON)), "{:?}", follower.status());
}

fn has(follower: &Follower, number: u64) -> bool {
    follower.contains(&item(number)) == Some(true)
}

fn has_all(follower: &Follower, mut numbers: std::ops::Range<u64>) -> bool {
    numbers.all(|number| has(follower, number))
}

#[test]
fn a_follower_has_what_the_server_has_and_gets_what_is_new() {
    let (server, mut db) = Server::start().with_client();
    for shape in ["0.01 100 EXPANSION 1", "0.01 300000", "0.001 20000 EXPANSION 1"] {
        db.run(&format!("BF.RESERVE f {shape}"));
        add_items(&mut db, "f", 0..50_000);
        let follower = ready(server.port(), "f");
        assert!(has_all(&follower, 0..50_000), "{shape}");
        let false_positives =
            (0..10_000).filter(|n| follower.contains(&absent_item(*n)).expect("there is a copy"));
        assert!(false_positives.count() < 300, "{shape}");

        add_items(&mut db, "f", 50_000..60_000);
        // All of them: any one may be found before it comes, as a false positive.
        eventually("what is new has come", || has_all(&follower, 50_000..60_000));
        let status = follower.status();
        assert_eq!(status.fetches, 1, "{shape}");
        assert!((9_500..=10_000).contains(&status.changes), "{shape}: {status:?}");
        assert!(status.error.is_none() && status.bytes > 50_000, "{shape}: {status:?}");

        let items: Vec<Vec<u8>> = (0..5_000).flat_map(|n| [item(n), absent_item(n)]).collect();
        let answers = follower.contains_many(&items).expect("there is a copy");
        for (item, answer) in items.iter().zip(answers) {
            assert_eq!(Some(answer), follower.contains(item));
        }
        db.run("DEL f");
    }
}

#[test]
fn without_the_key_a_follower_has_no_answer_and_with_it_again_it_has() {
    let (server, mut db) = Server::strict(&[]).with_client();
    let follower = following(server.port(), "f");
    eventually("it says why", || matches!(follower.status().error, Some(Error::Missing(_))));
    assert!(!follower.wait_until_ready(Duration::ZERO) && !follower.is_ready());
    assert_eq!(follower.contains(b"a"), None);
    assert_eq!(follower.contains_many(&["a", "b"]), None);
    assert_eq!(follower.staleness(), None);

    add_items(&mut db, "f", 0..1_000);
    assert!(follower.wait_until_ready(patient(SOON)));
    assert!(has_all(&follower, 0..1_000) && follower.staleness().is_some());

    db.run("SET f text");
    eventually("it has no answer, and says why", || {
        let error = follower.status().error;
        let is_said = matches!(error, Some(Error::Refused(text)) if text.starts_with("WRONGTYPE"));
        is_said && follower.contains(&item(1)).is_none()
    });
    db.run("DEL f");
    add_items(&mut db, "f", 5_000..5_001);
    eventually("it has the new filter", || has(&follower, 5_000));
    assert_eq!(follower.contains(&item(1)), Some(false));
}

#[test]
fn a_filter_that_takes_the_key_of_another_is_swapped_in_as_a_whole() {
    let (server, mut db) = Server::start().with_client();
    add_items(&mut db, "f", 0..100_000);
    let follower = ready(server.port(), "f");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                // Item 7 is in all of them.
                while !done.load(SeqCst) {
                    assert!(has(&follower, 7), "{:?}", follower.status());
                }
            });
        }
        for round in 1..20_u64 {
            let numbers = round * 100_000..round * 100_000 + 20_000;
            add_items(&mut db, "next", 7..8);
            add_items(&mut db, "next", numbers.clone());
            db.run("RENAME next f");
            eventually("the new one is there", || has_all(&follower, numbers.clone()));
        }
        done.store(true, SeqCst);
    });
    let status = follower.status();
    assert!(status.fetches > 19, "{status:?}");
    let strangers = (0..10_000).filter(|number| has(&follower, *number));
    assert!(strangers.count() < 500, "the first filter is gone");
}

#[test]
fn a_follower_comes_back_after_cuts_and_misses_nothing() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.01 1000000");
    add_items(&mut db, "f", 0..100_000);
    let link = Link::to(server.port());
    let follower = following(link.port(), "f");
    for round in 0..12_u64 {
        // Amid a fetch, and amid changes. No fetch can end between two cuts.
        link.repair();
        link.break_after(round * round * 2_000);
        add_items(&mut db, "f", 100_000 + round * 1_000..101_000 + round * 1_000);
        eventually("the link is cut", || link.cuts() > round);
    }
    link.repair();
    eventually("all items have come", || has_all(&follower, 0..112_000));
}

#[test]
fn a_copy_goes_on_answering_while_the_server_is_gone_and_says_how_old_it_is() {
    let (mut server, mut db) =
        Server::configured(&["appendonly yes", "appendfsync always"]).with_client();
    add_items(&mut db, "f", 0..10_000);
    let follower = ready(server.port(), "f");
    eventually("it is current", || follower.staleness() < Some(Duration::from_secs(1)));
    server.kill();
    eventually("it is old", || follower.staleness() > Some(Duration::from_secs(3)));
    assert!(has_all(&follower, 0..10_000));
    eventually("it says why", || follower.status().error.is_some());

    server.start_again();
    add_items(&mut server.connect(), "f", 10_000..10_010);
    eventually("the new items are there", || has_all(&follower, 10_000..10_010));
    assert!(has_all(&follower, 0..10_000));
    eventually("it is current", || follower.staleness() < Some(Duration::from_secs(1)));
    assert_eq!(follower.status().fetches, 2, "another life of the server has other positions");
}

/// A partitioned filter, empty, on one server: how it is followed, and its keys.
fn partitioned(db: &mut Connection, partitions: Partitions) -> (Keys<'static>, Vec<String>) {
    let name = Name::new(b"f").expect("no brace");
    let names = partitions.each().map(|partition| name.key(partition));
    let names: Vec<String> = names.map(|key| String::from_utf8(key).expect("a text")).collect();
    db.run_all(names.iter().map(|key| format!("BF.RESERVE {key} 0.0001 1000")));
    (Keys::Partitioned(name, partitions), names)
}

#[test]
fn a_server_holds_one_question_about_all_partitions() {
    let (server, mut db) = Server::start().with_client();
    let partitions = Partitions::new(64).expect("a power of two");
    let (keys, names) = partitioned(&mut db, partitions);
    for topology in [Topology::OneServer, Topology::Cluster] {
        let follower = Follower::start(at(server.port()), topology, keys).expect("a thread");
        wait_for_a_copy(&follower);
        eventually("it waits", || db.info_number("clients", "blocked_clients") == 1);
        for number in 0..200 {
            let partition = partitions.of(&item(number));
            add_items(&mut db, &names[usize::from(partition)], number..number + 1);
        }
        eventually("all items are there", || has_all(&follower, 0..200));
        assert_eq!(follower.status().fetches, 64);
        drop(follower);
        eventually("it is gone", || db.info_number("clients", "connected_clients") == 1);
    }
}

/// Each round would fetch all existing partitions, for nothing.
#[test]
fn no_partition_is_fetched_while_one_is_missing() {
    let (server, mut db) = Server::start().with_client();
    let partitions = Partitions::new(16).expect("a power of two");
    let (keys, names) = partitioned(&mut db, partitions);
    let key = &names[15];
    db.run(&format!("RENAME {key} elsewhere"));
    let follower = following_all(server.port(), keys);
    eventually("it has asked", || matches!(follower.status().error, Some(Error::Missing(_))));
    thread::sleep(Duration::from_millis(300));
    assert_eq!(follower.status().fetches, 0);
    db.run(&format!("RENAME elsewhere {key}"));
    wait_for_a_copy(&follower);
    // A filter that forgets cannot be followed, so its key counts as missing.
    db.run_all([&format!("DEL {key}"), &format!("BF.INSERT {key} WINDOW 60 ITEMS a")]);
    eventually("there is no answer", || follower.contains(b"a").is_none());
}

#[test]
fn a_follower_of_partitions_sees_each_of_them_go_and_be_replaced() {
    let (server, mut db) = Server::start().with_client();
    let partitions = Partitions::new(4).expect("a power of two");
    let (keys, names) = partitioned(&mut db, partitions);
    let follower = following_all(server.port(), keys);
    wait_for_a_copy(&follower);
    for (partition, key) in partitions.each().zip(&names) {
        db.run(&format!("RENAME {key} elsewhere"));
        eventually("there is no answer, and it names the key", || {
            let error = follower.status().error;
            let is_named = |keys: &[Vec<u8>]| keys == [key.as_bytes()];
            !follower.is_ready() && matches!(error, Some(Error::Missing(keys)) if is_named(&keys))
        });
        assert_eq!(follower.contains_many(&[item(1)]), None);
        db.run(&format!("RENAME elsewhere {key}"));
        wait_for_a_copy(&follower);
        // In one step, so that the old filter, and its journal, live on under another name.
        let mut numbers = (0..).filter(|number| partitions.of(&item(*number)) == partition);
        let number = numbers.next().expect("some item");
        db.run("BF.RESERVE next 0.0001 1000");
        add_items(&mut db, "next", number..number + 1);
        db.run_all(["MULTI", &format!("RENAME {key} old"), &format!("RENAME next {key}"), "EXEC"]);
        eventually("the new one is there", || has(&follower, number));
    }
}

/// Otherwise the server would have dropped the journal of the first partition by the time that the
/// last one has come.
#[test]
fn partitions_are_followed_however_long_it_takes_to_fetch_them_all() {
    let (server, mut db) = Server::configured(&["bf.journal-idle-time 1"]).with_client();
    let (keys, names) = partitioned(&mut db, Partitions::new(8).expect("a power of two"));
    for key in &names {
        add_items(&mut db, key, 0..30_000);
    }
    // Some 100 KB each, at 16 KiB in 80 ms.
    let downwards = |_: &mut [u8]| thread::sleep(Duration::from_millis(80));
    let link = Link::changing(server.port(), |_| (), downwards);
    wait_for_a_copy(&following_all(link.port(), keys));
}

#[test]
fn a_partition_that_cannot_be_fetched_keeps_no_other_back() {
    let (server, mut db) = Server::start().with_client();
    let partitions = Partitions::new(2).expect("a power of two");
    let (keys, names) = partitioned(&mut db, partitions);
    // Only a large chunk is spoiled.
    let downwards = |bytes: &mut [u8]| bytes.iter_mut().skip(2_000).for_each(|byte| *byte = 0);
    let link = Link::changing(server.port(), |_| (), downwards);
    let follower = following_all(link.port(), keys);
    wait_for_a_copy(&follower);
    add_items(&mut db, "large", 0..30_000);
    db.run(&format!("RENAME large {}", names[0]));
    eventually("it cannot be fetched", || follower.status().error.is_some());
    for number in (0..8).filter(|number| partitions.of(&item(*number)) == 1) {
        add_items(&mut db, &names[1], number..number + 1);
        eventually("the item is there", || has(&follower, number));
    }
}

#[test]
fn followers_are_listed_by_name_if_they_may_name_themselves() {
    let (server, mut db) = Server::start().with_client();
    add_items(&mut db, "f", 0..10);
    let follower = ready(server.port(), "f");
    assert!(db.run("CLIENT LIST").text().contains(" name=splitbloom-follower "));
    drop(follower);
    eventually("it is gone", || db.info_number("clients", "connected_clients") == 1);
    db.run("ACL SETUSER default -client");
    let follower = ready(server.port(), "f");
    assert!(has_all(&follower, 0..10));
    db.run("ACL SETUSER default +client");
    assert!(!db.run("CLIENT LIST").text().contains("splitbloom-follower"));
}
