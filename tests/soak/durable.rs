//! A server whose append-only file is always written, with a replica at the end of a link: disturbed in every way, and counted
//! through again and again.

use crate::harness::{eventually, missing_items, resident, Connection, Link, Random, Server};
use crate::player::{Player, SHARED, SHARED_RATE};
use crate::rates::Rates;
use crate::tally::Tally;
use crate::Time;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const PLAYERS: u64 = 4;
/// After each command a player rests, so that three soaks together take half a core.
const REST: Duration = Duration::from_millis(12);
/// Between two disturbances.
const CALM: Duration = Duration::from_secs(4);
/// Disturbances between two censuses, and censuses between two times that everything is deleted.
const DISTURBANCES_TO_A_CENSUS: u64 = 5;
const CENSUSES_TO_A_CLEARING: u64 = 5;

const SETTINGS: [&str; 2] = ["appendonly yes", "appendfsync always"];
const REPLICA_SETTINGS: [&str; 2] = ["bf.max-filter-bytes 1", "bf.initial-size 7"];

struct Soak {
    primary: Server,
    replica: Server,
    link: Link,
    players: Vec<Mutex<Player>>,
    random: Random,
    start: Instant,
    tally: Arc<Tally>,
    /// What the module holds when there are no keys. A start anew may load other settings: it is asked for after each.
    bytes_without_keys: i64,
}

pub fn run(seed: u64, time: &Time, tally: &Arc<Tally>, rates: &Arc<Rates>) {
    let primary = Server::configured(&SETTINGS);
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &REPLICA_SETTINGS);
    let player = |name| Mutex::new(Player::new(name, primary.port(), seed, tally, rates));
    let mut soak = Soak {
        bytes_without_keys: primary.connect().info_number("bf", "bf_bytes_held"),
        players: (1..=PLAYERS).map(player).collect(),
        primary,
        replica,
        link,
        random: Random::seeded(seed),
        start: Instant::now(),
        tally: tally.clone(),
    };
    soak.reserve_shared();
    while !time.is_over() {
        soak.go_on_until_a_census(time);
        soak.census();
        if tally.censuses.get().is_multiple_of(CENSUSES_TO_A_CLEARING) {
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

    /// The players play, in threads of their own, while the server is disturbed.
    fn go_on_until_a_census(&mut self, time: &Time) {
        let is_over = AtomicBool::new(false);
        let players = std::mem::take(&mut self.players);
        scope(|threads| {
            for player in &players {
                let is_over = &is_over;
                threads.spawn(move || {
                    let mut player = player.lock().expect("a player that has not failed");
                    while !is_over.load(SeqCst) {
                        player.play();
                        sleep(REST);
                    }
                });
            }
            for _ in 0..DISTURBANCES_TO_A_CENSUS {
                sleep(CALM);
                // A player that failed has left its threads' scope; the others shall end with it.
                if time.is_over() || players.iter().any(Mutex::is_poisoned) {
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
                self.tally.snapshots.add(1);
            }
            20..=39 => {
                let preamble = *self.random.pick(&["yes", "no"]);
                db.run(&format!("CONFIG SET aof-use-rdb-preamble {preamble}"));
                db.line("BGREWRITEAOF");
                self.tally.rewrites.add(1);
            }
            40..=64 => {
                let load = *self.random.pick(&["disabled", "swapdb"]);
                let mut there = self.replica.connect();
                there.run(&format!("CONFIG SET repl-diskless-load {load}"));
                let backlog = *self.random.pick(&["16kb", "16mb"]);
                db.run(&format!("CONFIG SET repl-backlog-size {backlog}"));
                self.link.cut_after(self.random.below(200_000));
                self.tally.cuts.add(1);
            }
            65..=79 => {
                self.primary.restart();
                self.tally.kills.add(1);
            }
            80..=89 => {
                let command = *self.random.pick(&["SHUTDOWN SAVE", "SHUTDOWN NOSAVE"]);
                self.primary.shut_down(command);
                self.primary.start_again();
                self.tally.clean_restarts.add(1);
            }
            _ => {
                self.replica.restart();
                self.tally.replica_kills.add(1);
            }
        }
    }

    /// All is quiet: every key and every item is looked for.
    fn census(&mut self) {
        self.link.mend();
        let mut players: Vec<MutexGuard<'_, Player>> = self
            .players
            .iter()
            .map(|player| player.lock().expect("a player that has not failed"))
            .collect();
        let mut db = self.primary.connect();
        for player in &mut players {
            eventually("a player settles", || player.settle().is_ok());
            for (key, known) in player
                .model
                .keys
                .iter()
                .chain([(&SHARED.to_string(), &player.shared)])
            {
                for range in known.ranges() {
                    let missing = missing_items(&mut db, key, range.clone());
                    assert_eq!(missing, 0, "{key} denies acknowledged items of {range:?}");
                }
                self.tally.items_in_censuses.add(known.count());
            }
        }
        let keys: usize = players.iter().map(|player| player.model.keys.len()).sum();
        let held = db.line("DBSIZE").integer() as usize;
        assert_eq!(
            held,
            keys + 1,
            "keys that were deleted are gone, all others are there"
        );
        assert_eq!(db.info_number("bf", "bf_filters") as usize, keys + 1);

        self.primary.wait_for(&self.replica);
        let digest = db.digest_of_everything();
        assert_eq!(self.replica.connect().digest_of_everything(), digest);
        let mut compared = 1;
        if self.random.percent(50) {
            db.run("DEBUG RELOAD");
            assert_eq!(db.digest_of_everything(), digest);
            self.tally.reloads.add(1);
            compared += 1;
        }
        drop(players);
        self.primary.ask_standing_questions();
        self.replica.ask_standing_questions();
        assert!(
            !self.replica.log().contains("CRITICAL"),
            "{}",
            self.replica.log()
        );
        self.tally.digests.add(compared);
        self.tally.censuses.add(1);
    }

    /// Everything is deleted, and all memory is back.
    fn clear(&mut self) {
        for player in &self.players {
            player
                .lock()
                .expect("a player that has not failed")
                .forget();
        }
        self.primary.connect().run("FLUSHALL");
        self.primary.wait_for(&self.replica);
        let holds_nothing = |db: &mut Connection, bytes| {
            db.info_number("bf", "bf_filters") == 0
                && db.info_number("bf", "bf_bytes_held") == bytes
        };
        let mut db = self.primary.connect();
        eventually("all memory is back", || {
            holds_nothing(&mut db, self.bytes_without_keys)
        });
        let mut db = self.replica.connect();
        eventually("the replica's memory is back", || {
            db.info_number("bf", "bf_filters") == 0
        });
        self.tally.memory_returned.add(1);
        self.reserve_shared();
    }

    fn report(&self) {
        let seconds = self.start.elapsed().as_secs();
        println!(
            "{:>3}:{:02}  {} commands, {} items, {} kills, {} restarts, {} cuts, {} saves, {} censuses, resident {} MiB",
            seconds / 60,
            seconds % 60,
            self.tally.commands.get(),
            self.tally.items.get(),
            self.tally.kills.get() + self.tally.replica_kills.get(),
            self.tally.clean_restarts.get(),
            self.tally.cuts.get(),
            self.tally.snapshots.get() + self.tally.rewrites.get(),
            self.tally.censuses.get(),
            resident(self.primary.process()) >> 20
        );
    }
}
