//! Filters of a cluster: one key, and many.

use crate::tool::{lines, tool, url, Folder, Runs};
use splitbloom_client::PartitionedFilter;
use splitbloom_harness::trial::{Cluster, Mover, Node};
use splitbloom_harness::{eventually, Server, SetAtEnd};
use splitbloom_partition::{slot_of, Name, Partitions};
use std::fs;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;

const PARTITIONS: &[&str] = &["--cluster", "--partitions", "16"];

fn on_cluster(cluster: &Cluster, words: &[&str]) -> Command {
    let mut command = tool(words);
    command.env("REDIS_URL", &cluster.urls()[0]);
    command
}

#[test]
fn a_partitioned_filter_is_one_filter_to_every_client() {
    let (cluster, work) = (Cluster::form(3, 0), Folder::new());
    let on = |words: &[&str]| on_cluster(&cluster, &[words, PARTITIONS].concat());
    let (here, there) = (lines(0..20_000), lines(20_000..30_000));
    let file = work.file("here", here.as_bytes());
    let load = ["load", "users", &file, "--capacity", "40000", "--error", "1e-9"];
    assert_eq!(on(&load).prints(), "20000 items, 20000 new\n");
    let both = [there.clone(), here.clone()].concat();
    let run = on(&["check", "users", "--missing"]).run_with(both.as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert!(run.stdout == there);
    let run = on(&["check", "users"]).run_with(both.as_bytes());
    assert!(run.stdout == here, "in the order of the input");

    let partitions = Partitions::new(16).expect("a power of two");
    let mut users =
        PartitionedFilter::connect(&cluster.urls(), "users", partitions).expect("a cluster");
    let items: Vec<&str> = both.lines().collect();
    let found = users.mexists(&items).into_iter().map(|answer| answer.expect("a reply"));
    assert_eq!(found.filter(|found| *found).count(), 20_000);
    let info = users.info().expect("all partitions");
    assert_eq!((info.items, info.sub_filters), (20_000, 16));

    let message = on(&["load", "us{ers}", &file]).error(2);
    assert!(message.contains('{'), "{message}");
    let count = on(&["load", "bags", &file, "--cf"]).prints();
    assert_eq!(count, "20000 items, 20000 new\n");
    assert_eq!(on(&["unload", "bags", &file]).prints(), "20000 items, 20000 removed\n");
}

#[test]
fn no_item_is_lost_while_slots_move() {
    let (cluster, work) = (Cluster::form(3, 0), Folder::new());
    let file = work.file("items", lines(0..300_000).as_bytes());
    let on = |words: &[&str]| on_cluster(&cluster, &[words, PARTITIONS].concat());
    let name = Name::new(b"users").expect("no brace");
    let partitions = Partitions::new(16).expect("a power of two");
    let slots: Vec<u16> = partitions.each().map(|number| slot_of(&name.key(number))).collect();
    assert_eq!(on(&["load", "users", "--capacity", "100"]).prints(), "0 items, 0 new\n");
    while_they_move(&cluster, &slots, || {
        let run = on(&["load", "users", &file]).run();
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    });
    assert_eq!(on(&["check", "users", &file, "--missing"]).prints(), "");
}

#[test]
fn a_filter_finds_its_node_and_leaves_nothing_elsewhere() {
    let (cluster, work) = (Cluster::form(3, 0), Folder::new());
    let on = |words: &[&str]| on_cluster(&cluster, words);
    let (file, whole) = built(&work, 1_000);
    // Whichever node is asked, some of these are elsewhere.
    let mut elsewhere = 0;
    for key in ["a", "b", "c}d", "{tag}e"] {
        for words in [["push", &file, key].as_slice(), &["info", key]] {
            let run = on(words).run();
            if run.code != 0 {
                elsewhere += 1;
                assert_eq!(run.code, 4, "{run:?}");
                assert!(run.stderr.contains("--cluster goes there"), "{run:?}");
            }
        }
        on(&["push", &file, key, "--replace", "--cluster"]).prints();
        let info = on(&["info", key, "--cluster", "--json"]).prints();
        assert!(info.contains("\"Capacity\": 1000,"), "{info}");
        let other = format!("{key}:copy");
        let to = ["--to", &cluster.urls()[1], "--as", &other, "--cluster"];
        on(&[["pull", key].as_slice(), &to].concat()).prints();
        let back = work.path("back.sbf");
        on(&["pull", &other, "-o", &back, "--replace", "--cluster"]).prints();
        assert!(fs::read(back).expect("it was pulled") == whole);
    }
    assert!(elsewhere > 0);
    let keys = |node: &Node| node.connect().run("DBSIZE").integer();
    assert_eq!(cluster.nodes().iter().map(keys).sum::<i64>(), 8);
}

#[test]
fn filters_move_from_a_server_to_the_nodes_that_own_their_keys() {
    let (server, cluster) = (Server::start(), Cluster::form(3, 0));
    let mut db = server.connect();
    let keys = ["a", "b", "c}d", "{tag}e"];
    for key in keys {
        db.run(&format!("BF.MADD {key} x y"));
    }
    let to = &cluster.urls()[1];
    let migrate = ["migrate", &url(&server), to, "--cluster"];
    let copied = "4 filters copied, 0 there already, 0 not copied\n";
    assert_eq!(tool(&migrate).prints(), copied);
    let check = [migrate.as_slice(), &["--check"]].concat();
    let equal = "4 filters are equal, 0 are missing or different\n";
    assert_eq!(tool(&check).prints(), equal);
    let owned = |node: &Node| node.connect().run("DBSIZE").integer();
    let owned: Vec<i64> = cluster.nodes().iter().map(owned).collect();
    assert_eq!(owned.iter().sum::<i64>(), 4, "{owned:?}");
    // And back, from each node what it has.
    db.run("FLUSHALL");
    for node in cluster.urls() {
        tool(&["migrate", &node, &url(&server)]).prints();
    }
    assert_eq!(db.ask("DBSIZE"), ":4");
}

#[test]
fn a_filter_stays_whole_while_its_slot_moves() {
    let (cluster, work) = (Cluster::form(3, 0), Folder::new());
    let on = |words: &[&str]| on_cluster(&cluster, words);
    // Five chunks.
    let (file, whole) = built(&work, 4_000_000);
    while_they_move(&cluster, &[slot_of(b"users")], || {
        for _ in 0..5 {
            on(&["push", &file, "users", "--replace", "--cluster"]).prints();
            let back = work.path("back.sbf");
            on(&["pull", "users", "-o", &back, "--replace", "--cluster"]).prints();
            assert!(fs::read(back).expect("it was pulled") == whole);
        }
    });
}

/// A file with a filter of some numbers and this capacity, and its bytes.
fn built(work: &Folder, capacity: u32) -> (String, Vec<u8>) {
    let items = work.file("items", lines(0..capacity.min(600_000)).as_bytes());
    let file = work.path("built.sbf");
    let capacity = capacity.to_string();
    tool(&["build", &items, "-o", &file, "--capacity", &capacity]).prints();
    let bytes = fs::read(&file).expect("it was built");
    (file, bytes)
}

/// Does something while slots move from node to node.
fn while_they_move(cluster: &Cluster, slots: &[u16], act: impl FnOnce()) {
    let mover = Mover::new(cluster.nodes(), slots, 0);
    thread::scope(|scope| {
        scope.spawn(|| mover.run(1));
        eventually("a slot has moved", || mover.moves.load(Ordering::Acquire) > 0);
        let _over = SetAtEnd(&mover.is_over);
        act();
    });
}
