//! The link between primary and replica cut at random places of what flows through it, in the middle of a full copy as well
//! as behind it, while items come.

use crate::harness::{
    count_found, eventually, item, Connection, Link, Pace, Random, Reply, Server, Specimens,
    Writers,
};
use crate::times;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::{scope, sleep};
use std::time::Duration;

/// As little as can be set.
const NO_BACKLOG: &str = "repl-backlog-size 16kb";

/// The filters that the writers add to.
const WRITTEN: [&str; 2] = ["grown", "big"];

/// One that stays as it is, and some of its items.
const STABLE: &str = "strict";
const STABLE_ITEMS: u64 = 100;

/// After so many bytes a replica can no longer go on where it was: four times what the backlog holds, which is kept in blocks.
const BACKLOG_IS_LOST: i64 = 64 << 10;

/// Bytes behind a copy that a cut may still wait for.
const BEHIND_THE_COPY: u64 = 64 << 10;

/// Slow enough to leave something of the machine to others.
const PACE: Pace = Pace {
    writers: 2,
    items_per_command: 5,
    in_flight: 16,
    pause: Duration::from_millis(1),
    replicas: 0,
};

#[test]
fn a_replica_survives_cuts_of_copies_by_way_of_the_disk() {
    survive_cuts("repl-diskless-sync no", "repl-diskless-load disabled", 1);
}

#[test]
fn a_replica_survives_cuts_of_copies_sent_without_a_disk() {
    survive_cuts("repl-diskless-sync yes", "repl-diskless-load disabled", 2);
}

#[test]
fn a_replica_survives_cuts_of_copies_loaded_aside_without_a_disk() {
    survive_cuts("repl-diskless-sync yes", "repl-diskless-load swapdb", 3);
}

fn survive_cuts(sync: &str, load: &str, seed: u64) {
    let cuts = times(8, 100);
    let primary = Server::configured(&[sync, NO_BACKLOG]);
    let mut here = primary.connect();
    Specimens::create(&mut here);
    here.run("SAVE");
    let copy = fs::metadata(primary.folder().join("dump.rdb"))
        .expect("a snapshot")
        .len();
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &[load, "bf.max-filter-bytes 1"]);
    let mut writers = Writers::start(primary.port(), &WRITTEN, PACE);
    let mut random = Random::seeded(seed);
    let is_over = AtomicBool::new(false);
    let answers = scope(|threads| {
        let _ends = SetAtEnd(&is_over);
        let reader = threads.spawn(|| read_stable_items(&mut replica.connect(), &is_over));
        for cut in 1..=cuts {
            // Mostly inside the copy, else in what follows it.
            link.break_after(match random.below(5) {
                0 => copy + random.below(BEHIND_THE_COPY),
                _ => random.below(copy),
            });
            eventually("the link is cut", || link.cuts() >= cut);
            // More than the backlog holds, so that the next link begins with a full copy.
            let offset = |db: &mut Connection| db.info_number("replication", "master_repl_offset");
            let aim = offset(&mut here) + BACKLOG_IS_LOST;
            eventually("the backlog is lost", || offset(&mut here) > aim);
            link.mend();
        }
        is_over.store(true, SeqCst);
        reader.join().expect("the reader got good answers only")
    });
    writers.stop();
    primary.wait_for(&replica);
    let copies = here.info_number("stats", "sync_full") as u64;
    assert!(copies > cuts / 2, "{copies} full copies for {cuts} cuts");
    let mut there = replica.connect();
    assert_eq!(here.digest_of_everything(), there.digest_of_everything());
    let counts = writers.counts();
    assert_eq!(writers.missing(&mut here, &counts), 0);
    assert_eq!(writers.missing(&mut there, &counts), 0);
    assert!(!replica.log().contains("CRITICAL"), "{}", replica.log());
    assert!(answers > 0, "nobody could read the replica at any time");
    println!(
        "{sync}, {load}: {} cuts, {} full copies, {} continued, {} items acknowledged, 0 lost, {answers} reads, equal digests",
        link.cuts(),
        copies,
        here.info("stats", "sync_partial_ok"),
        writers.acknowledged()
    );
}

/// Set when it is dropped, even by a panic: what waits for it ends.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Asks the replica for items that it had from the start: they are there, or it says that it loads. Answers how often they were.
fn read_stable_items(db: &mut Connection, is_over: &AtomicBool) -> u64 {
    let answers = AtomicU64::new(0);
    let question = || {
        let head = [b"BF.MEXISTS".to_vec(), STABLE.as_bytes().to_vec()];
        head.into_iter().chain((0..STABLE_ITEMS).map(item))
    };
    while !is_over.load(SeqCst) {
        match db.call(question()) {
            Reply::Error(text) => assert!(text.starts_with("LOADING "), "{text}"),
            found => {
                let found = found
                    .elements()
                    .iter()
                    .filter(|one| one.integer() == 1)
                    .count();
                assert_eq!(found as u64, STABLE_ITEMS);
                answers.fetch_add(1, SeqCst);
            }
        }
        sleep(Duration::from_millis(5));
    }
    answers.into_inner()
}

#[test]
fn a_replica_goes_on_where_a_cut_left_it() {
    let primary = Server::configured(&["repl-backlog-size 64mb"]);
    let mut here = primary.connect();
    Specimens::create(&mut here);
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &[]);
    let mut writers = Writers::start(primary.port(), &WRITTEN, PACE);
    let mut random = Random::seeded(4);
    let cuts = times(4, 40);
    for cut in 1..=cuts {
        let mut there = replica.connect();
        eventually("the link is up", || {
            there.info("replication", "master_link_status") == "up"
        });
        link.cut_after(random.below(20_000));
        eventually("the link is cut", || link.cuts() >= cut);
    }
    writers.stop();
    primary.wait_for(&replica);
    assert_eq!(
        here.digest_of_everything(),
        replica.connect().digest_of_everything()
    );
    assert_eq!(here.info("stats", "sync_full"), "1");
    assert_eq!(here.info_number("stats", "sync_partial_ok") as u64, cuts);
    assert_eq!(
        count_found(&mut replica.connect(), STABLE, 0..STABLE_ITEMS, item),
        STABLE_ITEMS
    );
    println!(
        "{cuts} cuts, all continued, {} items acknowledged",
        writers.acknowledged()
    );
}
