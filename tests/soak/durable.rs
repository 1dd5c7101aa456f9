//! A server with `appendfsync always` and a replica behind a link, disturbed in every way and
//! checked in full again and again.

use crate::counters::Counters;
use crate::player::{Player, SHARED, SHARED_RATE};
use crate::rates::Rates;
use splitbloom_harness::{eventually, resident, Connection, Link, Random, Server};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const PLAYERS: u64 = 4;
/// A pause after each command of a player, so that three soaks together take half a core.
const REST: Duration = Duration::from_millis(12);
/// Between two disturbances.
const CALM: Duration = Duration::from_secs(4);
/// Disturbances between two censuses, and censuses between two deletions of everything.
const DISTURBANCES_PER_CENSUS: u64 = 5;
const CENSUSES_PER_CLEARING: u64 = 5;

const SETTINGS: [&str; 2] = ["appendonly yes", "appendfsync always"];
const REPLICA_SETTINGS: [&str; 2] = ["bf.max-filter-bytes 1", "bf.initial-size 7"];

struct Soak {
    primary: Server,
    replica: Server,
    link: Link,
    players: Vec<Mutex<Player>>,
    random: Random,
    start: Instant,
    counters: Arc<Counters>,
    /// What the module allocates without any keys. A restart may load other settings, so it is read
    /// again after each.
    bytes_without_keys: i64,
}

pub fn run(seed: u64, end: Instant, counters: &Arc<Counters>, rates: &Arc<Rates>) {
    let primary = Server::configured(&SETTINGS);
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &REPLICA_SETTINGS);
    let player = |name| Mutex::new(Player::new(name, primary.port(), seed, counters, rates));
    let mut soak = Soak {
        bytes_without_keys: primary.connect().bytes_held(),
        players: (1..=PLAYERS).map(player).collect(),
        primary,
        replica,
        link,
        random: Random::seeded(seed),
        start: Instant::now(),
        counters: counters.clone(),
    };
    soak.reserve_shared();
    while Instant::now() < end {
        soak.play_until_a_census(end);
        soak.census();
        if counters.get("censuses").is_multiple_of(CENSUSES_PER_CLEARING) {
            soak.clear();
        }
        soak.report();
    }
    soak.clear();
}

impl Soak {
    fn reserve_shared(&self) {
        let mut db = self.primary.connect();
        db.run(&format!("BF.RESERVE {SHARED} {SHARED_RATE} 100"));
    }

    /// The players run, each in a thread, while the server is disturbed.
    fn play_until_a_census(&mut self, end: Instant) {
        let is_over = AtomicBool::new(false);
        let players = std::mem::take(&mut self.players);
        scope(|threads| {
            for player in &players {
                let is_over = &is_over;
                threads.spawn(move || {
                    let mut player = player.lock().expect("no player has failed");
                    while !is_over.load(SeqCst) {
                        player.play();
                        sleep(REST);
                    }
                });
            }
            for _ in 0..DISTURBANCES_PER_CENSUS {
                sleep(CALM);
                // If one player fails, stop the others too.
                if Instant::now() > end || players.iter().any(Mutex::is_poisoned) {
                    break;
                }
                self.disturb();
            }
            is_over.store(true, SeqCst);
        });
        self.players = players;
    }

    fn disturb(&mut self) {
        let mut db = self.primary.connect();
        match self.random.below(100) {
            0..=19 => {
                db.line("BGSAVE");
                self.counters.add("BGSAVE", 1);
            }
            20..=39 => {
                let preamble = *self.random.pick(&["yes", "no"]);
                db.run(&format!("CONFIG SET aof-use-rdb-preamble {preamble}"));
                db.line("BGREWRITEAOF");
                self.counters.add("BGREWRITEAOF", 1);
            }
            40..=64 => {
                let load = *self.random.pick(&["disabled", "swapdb"]);
                let mut there = self.replica.connect();
                there.run(&format!("CONFIG SET repl-diskless-load {load}"));
                let backlog = *self.random.pick(&["16kb", "16mb"]);
                db.run(&format!("CONFIG SET repl-backlog-size {backlog}"));
                self.link.cut_after(self.random.below(200_000));
                self.counters.add("cuts of the link to the replica", 1);
            }
            65..=79 => {
                self.primary.restart();
                self.counters.add("kill -9 of the primary", 1);
            }
            80..=89 => {
                let command = *self.random.pick(&["SHUTDOWN SAVE", "SHUTDOWN NOSAVE"]);
                self.primary.shut_down(command);
                self.primary.start_again();
                self.counters.add("clean restarts of the primary", 1);
            }
            _ => {
                self.replica.restart();
                self.counters.add("kill -9 of the replica", 1);
            }
        }
    }

    /// With the players paused, looks up every key and every item.
    fn census(&mut self) {
        self.link.repair();
        let mut players: Vec<MutexGuard<'_, Player>> = self
            .players
            .iter()
            .map(|player| player.lock().expect("no player has failed"))
            .collect();
        let mut db = self.primary.connect();
        for player in &mut players {
            eventually("a player settles", || player.settle().is_ok());
            for (key, known) in
                player.model.keys.iter().chain([(&SHARED.to_string(), &player.shared)])
            {
                for range in known.ranges() {
                    let missing = known.family.missing_items(&mut db, key, range.clone());
                    assert_eq!(missing, 0, "{key}: false negatives in {range:?}");
                }
                self.counters.add("items looked up in censuses", known.count());
            }
        }
        let keys: usize = players.iter().map(|player| player.model.keys.len()).sum();
        let held = db.line("DBSIZE").integer() as usize;
        assert_eq!(held, keys + 1, "deleted keys are gone, all others are present");
        assert_eq!(db.info_number("bf", "bf_filters") as usize, keys + 1);

        let digest = self.primary.assert_equal(&self.replica);
        let mut compared = 1;
        if self.random.percent(50) {
            db.run("DEBUG RELOAD");
            assert_eq!(db.digest_of_everything(), digest);
            self.counters.add("DEBUG RELOAD", 1);
            compared += 1;
        }
        drop(players);
        self.primary.check_health();
        self.replica.check_health();
        assert!(!self.replica.log().contains("CRITICAL"), "{}", self.replica.log());
        self.counters.add("digests of whole servers compared", compared);
        self.counters.add("censuses", 1);
    }

    /// Deletes everything; all memory must be returned.
    fn clear(&mut self) {
        for player in &self.players {
            player.lock().expect("no player has failed").forget();
        }
        self.primary.connect().run("FLUSHALL");
        self.primary.wait_for(&self.replica);
        let holds_nothing = |db: &mut Connection, bytes| {
            db.info_number("bf", "bf_filters") == 0 && db.bytes_held() == bytes
        };
        let mut db = self.primary.connect();
        eventually("all memory is returned", || holds_nothing(&mut db, self.bytes_without_keys));
        let mut db = self.replica.connect();
        eventually("the replica's memory is returned", || db.info_number("bf", "bf_filters") == 0);
        self.counters.add("times all memory was returned", 1);
        self.reserve_shared();
    }

    fn report(&self) {
        let seconds = self.start.elapsed().as_secs();
        println!(
            "{:>3}:{:02}  {} commands, {} censuses, resident {} MiB",
            seconds / 60,
            seconds % 60,
            self.counters.get("commands answered"),
            self.counters.get("censuses"),
            resident(self.primary.process()) >> 20
        );
    }
}
