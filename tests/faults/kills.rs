//! The server is killed again and again while eight writers add with several commands in flight.

use crate::times;
use splitbloom_harness::{eventually, Connection, Family, Pace, Server, Writers};
use std::time::Duration;

/// A Bloom filter that soon gets a table, a table, a Bloom filter that is large enough, and a
/// counting filter.
const FILTERS: [(Family, &str, &str); 4] = [
    (Family::Bloom, "both", "0.01 1000"),
    (Family::Bloom, "table", "0.001 100"),
    (Family::Bloom, "roomy", "0.01 10000000"),
    (Family::Counting, "counting", "100"),
];

/// How many items each writer gets acknowledged between two kills.
const BETWEEN_KILLS: u64 = 200;

fn reserve(db: &mut Connection) -> [(Family, &'static str); 4] {
    FILTERS.map(|(family, key, parameters)| {
        family.reserve_with(db, key, parameters);
        (family, key)
    })
}

#[test]
fn no_acknowledged_item_is_lost_by_kills_with_appendfsync_always() {
    for items_per_command in [1, 7] {
        let kills = times(3, 50);
        let mut server = Server::configured(&["appendonly yes", "appendfsync always"]);
        let keys = reserve(&mut server.connect());
        let pace = Pace { items_per_command, pause: Duration::from_millis(2), ..Pace::default() };
        let mut writers = Writers::start(server.port(), &keys, pace);
        for kill in 1..=kills {
            let aim = writers.slowest() + BETWEEN_KILLS;
            eventually("enough items are in", || writers.slowest() > aim);
            // Keep the file from growing forever, and make some kills coincide with a rewrite.
            if kill % 3 == 0 {
                let mut db = server.connect();
                db.line("BGREWRITEAOF");
                if kill % 2 == 0 {
                    eventually("the rewrite ends", || {
                        db.info("persistence", "aof_rewrite_in_progress") == "0"
                    });
                }
            }
            server.restart();
            let counts = writers.counts();
            assert_eq!(writers.missing(&mut server.connect(), &counts), 0);
        }
        writers.stop();
        let counts = writers.counts();
        assert_eq!(writers.missing(&mut server.connect(), &counts), 0);
        println!("{kills} kills: {} items acknowledged, 0 lost", writers.acknowledged());
    }
}

#[test]
fn a_kill_with_appendfsync_everysec_costs_each_writer_at_most_its_last_items() {
    let mut server = Server::configured(&["appendonly yes", "appendfsync everysec"]);
    for kill in 0..times(2, 24) {
        let family = Family::by_turns(kill);
        // With an error rate of 10^-9 a lost item does not look present.
        let parameters = match family {
            Family::Bloom => "0.000000001 100",
            Family::Counting => "100 ERROR 0.000000001",
        };
        let mut db = server.connect();
        db.run("DEL k");
        family.reserve_with(&mut db, "k", parameters);
        let pace = Pace { pause: Duration::from_millis(2), ..Pace::default() };
        let mut writers = Writers::start(server.port(), &[(family, "k")], pace);
        eventually("enough items are in", || writers.slowest() > BETWEEN_KILLS);
        server.kill();
        writers.stop();
        server.start_again();
        let mut db = server.connect();
        for (writer, count) in writers.counts().into_iter().enumerate() {
            let missing = |db: &mut Connection, from, to| {
                let numbers = Writers::number(writer, from)..Writers::number(writer, to);
                family.missing_items(db, "k", numbers)
            };
            let lost = missing(&mut db, 0, count);
            assert_eq!(missing(&mut db, 0, count - lost), 0, "a later item is not lost");
        }
    }
}
