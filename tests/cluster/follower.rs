//! A partitioned filter that is followed as one: a copy denies nothing that was acknowledged longer
//! ago than the copy is old, whatever happens to the nodes.

use crate::atomic::AtomicMove;
use redis::IntoConnectionInfo;
use splitbloom_client::{Follower, Growth, Keys, PartitionedFilter, Topology};
use splitbloom_harness::trial::{
    absent_item, add_until_acknowledged, agree, count_found, item, move_slot, outlive, try_owners,
    Cluster, Node,
};
use splitbloom_harness::{eventually, patient, SetAtEnd};
use splitbloom_partition::{slot_of, Name, Partitions};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const NAME: &str = "users";
const PARTITIONS: u64 = 8;
const BATCH: u64 = 200;
const SOON: Duration = Duration::from_secs(60);

fn partitions() -> Partitions {
    Partitions::new(PARTITIONS).expect("a power of two")
}

/// An empty filter of eight partitions.
fn reserved(cluster: &Cluster) -> PartitionedFilter {
    let filter = PartitionedFilter::connect(&cluster.urls(), NAME, partitions());
    let mut filter = filter.expect("a cluster");
    filter.reserve(0.001, 1_000, Growth::Times(2)).expect("an empty cluster");
    filter
}

/// The keys of all partitions.
fn keys() -> Keys<'static> {
    Keys::Partitioned(Name::new(NAME.as_bytes()).expect("no brace"), partitions())
}

fn following(urls: &[String], keys: Keys) -> Follower {
    let nodes = urls.iter().map(|url| url.as_str().into_connection_info().expect("an address"));
    Follower::start(nodes.collect(), Topology::Cluster, keys).expect("a thread")
}

fn ready(urls: &[String], keys: Keys) -> Follower {
    let follower = following(urls, keys);
    assert!(follower.wait_until_ready(patient(SOON)), "{:?}", follower.status());
    follower
}

fn has_all(follower: &Follower, numbers: Range<u64>) -> bool {
    let items: Vec<[u8; 16]> = numbers.map(item).collect();
    follower.contains_many(&items).is_some_and(|found| found.iter().all(|found| *found))
}

fn add(filter: &mut PartitionedFilter, numbers: Range<u64>) {
    add_until_acknowledged(filter, numbers, BATCH, 0, |_| ());
}

#[test]
fn a_follower_that_knows_one_node_outlives_it() {
    let mut cluster = Cluster::form(3, 1);
    let mut filter = reserved(&cluster);
    // A replica that has just synchronized is sent nothing before its first acknowledgement.
    add_until_acknowledged(&mut filter, 0..1_000, BATCH, 1, |_| ());
    let follower = ready(&cluster.urls()[..1], keys());
    cluster.kill(0);
    add(&mut filter, 1_000..2_000);
    eventually("it follows the others", || has_all(&follower, 0..2_000));
}

#[test]
fn a_copy_follows_the_nodes_that_live_while_one_is_dead() {
    let mut cluster = Cluster::form(3, 0);
    for node in cluster.nodes() {
        node.connect().run("CONFIG SET cluster-require-full-coverage no");
    }
    reserved(&cluster);
    let follower = ready(&cluster.urls(), keys());
    let owners = try_owners(&mut cluster.nodes()[1].connect()).expect("a healthy cluster");
    let (dead, name) = (cluster.nodes()[0].clone(), Name::new(NAME.as_bytes()).expect("no brace"));
    cluster.kill(0);
    let mut added = Vec::new();
    for number in 0..200 {
        let key = name.key(partitions().of(&item(number)));
        let owner = owners[usize::from(slot_of(&key))].clone().expect("it is served");
        if owner != dead {
            let add = [b"BF.ADD".as_slice(), &key, &item(number)];
            eventually("it is added", || !owner.connect().call(add).is_error());
            added.push(item(number));
        }
    }
    assert!(added.len() > 50);
    eventually("they are in the copy, and it says that a node is dead", || {
        let found = follower.contains_many(&added).expect("a copy");
        found.into_iter().all(|found| found) && follower.status().error.is_some()
    });
    // A partition that is fetched anew takes its place, too.
    let number = (1_000..).find(|number| {
        let slot = slot_of(&name.key(partitions().of(&item(*number))));
        owners[usize::from(slot)].as_ref() != Some(&dead)
    });
    let number = item(number.expect("a living node"));
    let key = name.key(partitions().of(&number));
    let owner = owners[usize::from(slot_of(&key))].clone().expect("it is served");
    for command in [vec![b"BF.CLEAR".as_slice(), &key], vec![b"BF.ADD", &key, &number]] {
        assert!(!owner.connect().call(command).is_error());
    }
    eventually("it is in the copy", || follower.contains(&number) == Some(true));
}

/// What was acknowledged, and when.
#[derive(Default)]
struct Acknowledged(Mutex<Vec<(Range<u64>, Instant)>>);

impl Acknowledged {
    /// Notes that the next `count` numbers are acknowledged.
    fn push(&self, count: u64) {
        let mut batches = self.0.lock().expect("no thread panics with it");
        let first = batches.last().map_or(0, |(numbers, _)| numbers.end);
        batches.push((first..first + count, Instant::now()));
    }

    /// Checks a copy until it is over. Returns how often there was a copy.
    fn watch(&self, follower: &Follower, is_over: &AtomicBool) -> u64 {
        let mut checks = 0;
        while !is_over.load(SeqCst) {
            // Taken before the age: a pause between the two makes the copy seem older.
            let now = Instant::now();
            let current_at = follower.staleness().and_then(|age| now.checked_sub(age));
            let batches = self.0.lock().expect("no thread panics with it").clone();
            for (numbers, since) in batches {
                if current_at.is_some_and(|at| since < at) {
                    for number in numbers {
                        let found = follower.contains(&item(number));
                        assert_ne!(found, Some(false), "{number}: {:?}", follower.status());
                    }
                    checks += 1;
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
        checks
    }
}

/// Runs `work` while a follower is watched. Returns the follower.
fn watched(cluster: &mut Cluster, work: impl FnOnce(&mut Cluster, &Acknowledged)) -> Follower {
    let follower = ready(&cluster.urls(), keys());
    let (acknowledged, is_over) = (Acknowledged::default(), AtomicBool::new(false));
    let checks = thread::scope(|scope| {
        let watch = scope.spawn(|| acknowledged.watch(&follower, &is_over));
        let over = SetAtEnd(&is_over);
        work(cluster, &acknowledged);
        drop(over);
        watch.join().expect("nothing is denied")
    });
    assert!(checks > 10, "nothing was checked: {checks}");
    follower
}

#[test]
fn eight_partitions_on_three_nodes_are_followed_as_one_filter() {
    let cluster = Cluster::form(3, 0);
    let mut filter = reserved(&cluster);
    add(&mut filter, 0..5_000);
    let follower = ready(&cluster.urls(), keys());
    assert!(has_all(&follower, 0..5_000));
    add(&mut filter, 5_000..7_000);
    eventually("the new items are there", || has_all(&follower, 5_000..7_000));
    for number in 0..5_000 {
        assert_eq!(follower.contains(&item(number)), Some(true));
    }
    let absent: Vec<[u8; 16]> = (0..10_000).map(absent_item).collect();
    let found = follower.contains_many(&absent).expect("there is a copy");
    assert!(found.iter().filter(|found| **found).count() < 50);
    assert_eq!(follower.status().fetches, PARTITIONS);
}

#[test]
fn a_copy_follows_a_slot_that_is_moved_by_the_servers() {
    let mut cluster = Cluster::form(3, 0);
    if !AtomicMove::is_known(&mut cluster.nodes()[0].connect()) {
        println!("skipped: this server has no atomic slot migration");
        return;
    }
    let mut filter = reserved(&cluster);
    let key = filter.keys()[3].clone();
    let follower = watched(&mut cluster, |cluster, acknowledged| {
        let mut first = 0;
        for _ in 0..3 {
            eventually("the nodes agree", || agree(cluster.nodes()));
            let [source, target] = cluster.owner_and_other(&key).map(|node| &cluster.nodes()[node]);
            let mut moving = AtomicMove::begin(slot_of(&key), source, target);
            eventually("the slot has moved", || {
                let numbers = first..first + BATCH;
                add_until_acknowledged(&mut filter, numbers, BATCH, 0, |n| acknowledged.push(n));
                first += BATCH;
                moving.is_over()
            });
        }
        let numbers = first..first + 10 * BATCH;
        add_until_acknowledged(&mut filter, numbers, BATCH, 0, |n| acknowledged.push(n));
        let follower = following(&cluster.urls(), keys());
        eventually("all items are there", || has_all(&follower, 0..first + 10 * BATCH));
    });
    let status = follower.status();
    assert!(status.fetches > PARTITIONS, "another node has other positions: {status:?}");
}

/// Creates a filter that has `member`.
fn add_member(cluster: &Cluster, key: &str) {
    let [owner, _] = cluster.owner_and_other(key);
    cluster.nodes()[owner].connect().run(&format!("BF.ADD {key} member"));
}

/// Moves the slot of a key from node to node, as a client does, and then by the servers where they
/// can. Calls `before` and `after` each time with the source and the target.
fn move_around(
    cluster: &Cluster,
    key: &str,
    mut before: impl FnMut(&Node),
    mut after: impl FnMut(&Node),
) {
    let can_move = AtomicMove::is_known(&mut cluster.nodes()[0].connect());
    for by_servers in [false, false, can_move, can_move] {
        eventually("the nodes agree", || agree(cluster.nodes()));
        let [source, target] = cluster.owner_and_other(key).map(|node| &cluster.nodes()[node]);
        before(source);
        let slot = slot_of(key.as_bytes());
        match by_servers {
            true => {
                let mut moving = AtomicMove::begin(slot, source, target);
                eventually("the slot has moved", || moving.is_over());
            }
            false => {
                let (mut from, mut to) = (source.connect(), target.connect());
                let moved = move_slot(slot, (source, &mut from), (target, &mut to));
                moved.expect("the slot moves");
            }
        }
        after(target);
    }
}

#[test]
fn a_copy_answers_while_its_slot_moves() {
    let cluster = Cluster::form(2, 0);
    let key = "f{m}";
    add_member(&cluster, key);
    let follower = ready(&cluster.urls(), Keys::One(key.as_bytes()));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(SeqCst) {
                let found = follower.contains(b"member");
                assert_eq!(found, Some(true), "{:?}", follower.status());
                thread::sleep(Duration::from_micros(200));
            }
        });
        let over = SetAtEnd(&is_over);
        let mut fetches = 1;
        let is_current = || follower.staleness() < Some(Duration::from_secs(1));
        move_around(
            &cluster,
            key,
            |_| eventually("it is current", is_current),
            |_| {
                fetches += 1;
                eventually("it follows the other node", || follower.status().fetches >= fetches);
            },
        );
        drop(over);
    });
}

/// As a client of BLPOP is.
#[test]
fn a_client_that_waits_is_redirected_when_its_slot_has_moved() {
    let cluster = Cluster::form(2, 0);
    let key = "f{m}";
    add_member(&cluster, key);
    let waiting = RefCell::new(Vec::new());
    let before = |source: &Node| {
        let mut db = source.connect();
        let position = db.line(&format!("BF.CHANGES {key} 0")).elements()[0].text();
        for line in [format!("BF.CHANGES {key} {position} BLOCK 0"), "BLPOP none{m} 0".to_owned()] {
            let mut client = source.connect();
            client.send(line.split(' '));
            waiting.borrow_mut().push((line, client));
        }
        eventually("both wait", || db.info_number("clients", "blocked_clients") == 2);
    };
    let after = |target: &Node| {
        let moved = format!("-MOVED {} 127.0.0.1:{}", slot_of(key.as_bytes()), target.port);
        for (line, mut client) in waiting.take() {
            assert_eq!(client.receive().to_string(), moved, "{line}");
        }
    };
    move_around(&cluster, key, before, after);
}

#[test]
fn a_copy_outlives_moving_slots_and_the_death_of_a_node() {
    let mut cluster = Cluster::form(3, 1);
    let mut filter = reserved(&cluster);
    let follower = watched(&mut cluster, |cluster, acknowledged| {
        outlive(cluster, 3, &mut filter, 0..30_000, BATCH, |n| acknowledged.push(n));
    });
    let found = count_found(&mut filter, 0..30_000, BATCH, item, |_| ());
    assert_eq!(found, 30_000, "what was acknowledged");
    eventually("all items are there", || has_all(&follower, 0..30_000));
    let status = follower.status();
    assert!(status.fetches > PARTITIONS, "{status:?}");
    eventually("it is current", || follower.staleness() < Some(Duration::from_secs(1)));
}
