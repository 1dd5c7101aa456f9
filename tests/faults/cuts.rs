//! The link between primary and replica is cut at random points of the stream, during a full
//! synchronization and after it, while items arrive.

use crate::loading::read;
use crate::times;
use splitbloom_harness::{
    eventually, missing_items, Connection, Family, Link, Pace, Random, Server, SetAtEnd, Specimens,
    Writers,
};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{scope, sleep};
use std::time::Duration;

/// The smallest size allowed.
const NO_BACKLOG: &str = "repl-backlog-size 16kb";

/// Filters that the writers add to.
const WRITTEN: [(Family, &str); 3] =
    [(Family::Bloom, "grown"), (Family::Bloom, "big"), (Family::Counting, "counting-copies")];

/// A filter that does not change, and some of its items.
const STABLE: &str = "strict";
const STABLE_ITEMS: u64 = 100;

/// After this many bytes a replica can no longer resume: four times the backlog size, because the
/// backlog is kept in blocks.
const BACKLOG_IS_LOST: i64 = 64 << 10;

/// How far after a full synchronization a cut can come, in bytes.
const BEHIND_THE_COPY: u64 = 64 << 10;

/// Slow enough to leave some of the machine to other tests.
const PACE: Pace = Pace {
    writers: 3,
    items_per_command: 5,
    in_flight: 16,
    pause: Duration::from_millis(1),
    replicas: 0,
};

#[test]
fn a_replica_survives_cuts_of_full_syncs() {
    survive_cuts("repl-diskless-sync no", "repl-diskless-load disabled", 1);
    survive_cuts("repl-diskless-sync yes", "repl-diskless-load disabled", 2);
    survive_cuts("repl-diskless-sync yes", "repl-diskless-load swapdb", 3);
}

fn survive_cuts(sync: &str, load: &str, seed: u64) {
    println!("{sync}, {load}");
    let cuts = times(8, 100);
    let (primary, mut here) = Server::configured(&[sync, NO_BACKLOG]).with_client();
    Specimens::create(&mut here);
    here.run("SAVE");
    let copy = fs::metadata(primary.folder().join("dump.rdb")).expect("a snapshot").len();
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &[load, "bf.max-filter-bytes 1"]);
    let mut writers = Writers::start(primary.port(), &WRITTEN, PACE);
    let mut random = Random::seeded(seed);
    let is_over = AtomicBool::new(false);
    let answers = scope(|threads| {
        let _ends = SetAtEnd(&is_over);
        let reader = threads.spawn(|| read_stable_items(&mut replica.connect(), &is_over));
        for cut in 1..=cuts {
            // Mostly during the copy, otherwise after it.
            link.break_after(match random.below(5) {
                0 => copy + random.below(BEHIND_THE_COPY),
                _ => random.below(copy),
            });
            eventually("the link is cut", || link.cuts() >= cut);
            // More than the backlog holds, so that the next connection starts with a full sync.
            let offset = |db: &mut Connection| db.info_number("replication", "master_repl_offset");
            let aim = offset(&mut here) + BACKLOG_IS_LOST;
            eventually("the backlog is lost", || offset(&mut here) > aim);
            link.repair();
        }
        is_over.store(true, SeqCst);
        reader.join().expect("the reader got only valid replies")
    });
    writers.stop();
    primary.assert_equal(&replica);
    let copies = here.info_number("stats", "sync_full") as u64;
    assert!(copies > cuts / 2, "{copies} full copies for {cuts} cuts");
    let counts = writers.counts();
    for server in [&primary, &replica] {
        assert_eq!(writers.missing(&mut server.connect(), &counts), 0);
    }
    assert!(!replica.log().contains("CRITICAL"), "{}", replica.log());
    assert!(answers > 0, "the replica never answered a read");
    println!("{copies} full copies, {} items acknowledged, 0 lost", writers.acknowledged());
}

/// Looks up items that the replica had from the start: it finds them or says that it is loading.
/// Returns how many times it found them.
fn read_stable_items(db: &mut Connection, is_over: &AtomicBool) -> u64 {
    let mut answers = 0;
    while !is_over.load(SeqCst) {
        if let Some(found) = read(db, (Family::Bloom, STABLE), STABLE_ITEMS) {
            assert_eq!(found, STABLE_ITEMS);
            answers += 1;
        }
        sleep(Duration::from_millis(5));
    }
    answers
}

#[test]
fn a_replica_resumes_from_the_backlog_after_a_cut() {
    let (primary, mut here) = Server::configured(&["repl-backlog-size 64mb"]).with_client();
    Specimens::create(&mut here);
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &[]);
    let mut writers = Writers::start(primary.port(), &WRITTEN, PACE);
    let mut random = Random::seeded(4);
    let cuts = times(4, 40);
    for cut in 1..=cuts {
        let mut there = replica.connect();
        eventually("the link is up", || there.info("replication", "master_link_status") == "up");
        link.cut_after(random.below(20_000));
        eventually("the link is cut", || link.cuts() >= cut);
        // Until then the replica may not have noticed the cut, and report the link as up.
        let mut continued = || here.info_number("stats", "sync_partial_ok") as u64;
        eventually("it is continued", || continued() >= cut);
    }
    writers.stop();
    primary.assert_equal(&replica);
    assert_eq!(here.info("stats", "sync_full"), "1");
    assert_eq!(here.info_number("stats", "sync_partial_ok") as u64, cuts);
    assert_eq!(missing_items(&mut replica.connect(), STABLE, 0..STABLE_ITEMS), 0);
}
