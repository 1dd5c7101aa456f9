//! The server is killed again and again while eight writers add with several commands in flight.

use crate::harness::{eventually, missing_items, Connection, Pace, Server, Writers};
use crate::times;
use std::time::Duration;

/// A filter that grows in small steps, one that grows in large steps, and one that is large enough.
const FILTERS: [(&str, &str); 3] = [
    ("steps", "0.01 1000 EXPANSION 1"),
    ("leaps", "0.001 100 EXPANSION 4"),
    ("roomy", "0.01 10000000"),
];

/// How many items each writer gets acknowledged between two kills.
const BETWEEN_KILLS: u64 = 200;

fn reserve(db: &mut Connection) -> Vec<&'static str> {
    for (key, parameters) in FILTERS {
        db.run(&format!("BF.RESERVE {key} {parameters}"));
    }
    FILTERS.map(|(key, _)| key).to_vec()
}

#[test]
fn no_acknowledged_item_is_lost_by_kills_with_appendfsync_always() {
    for items_per_command in [1, 7] {
        let kills = times(3, 50);
        let mut server = Server::configured(&["appendonly yes", "appendfsync always"]);
        let keys = reserve(&mut server.connect());
        let pace = Pace {
            items_per_command,
            pause: Duration::from_millis(2),
            ..Pace::default()
        };
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
        println!(
            "{kills} kills, {items_per_command} items a command: {} items acknowledged, 0 lost",
            writers.acknowledged()
        );
    }
}

#[test]
fn a_kill_with_appendfsync_everysec_costs_each_writer_at_most_its_last_items() {
    let kills = times(2, 25);
    let mut server = Server::configured(&["appendonly yes", "appendfsync everysec"]);
    // With an error rate of 10^-9 a lost item does not look present.
    server
        .connect()
        .run("BF.RESERVE k 0.000000001 100 EXPANSION 2");
    let mut lost = 0;
    let mut acknowledged = 0;
    for _ in 0..kills {
        server.connect().run("DEL k");
        server
            .connect()
            .run("BF.RESERVE k 0.000000001 100 EXPANSION 2");
        let pace = Pace {
            pause: Duration::from_millis(2),
            ..Pace::default()
        };
        let mut writers = Writers::start(server.port(), &["k"], pace);
        eventually("enough items are in", || writers.slowest() > BETWEEN_KILLS);
        server.kill();
        writers.stop();
        server.start_again();
        let mut db = server.connect();
        for (writer, count) in writers.counts().into_iter().enumerate() {
            let missing = |db: &mut Connection, from, to| {
                missing_items(
                    db,
                    "k",
                    Writers::number(writer, from)..Writers::number(writer, to),
                )
            };
            let missing_in_all = missing(&mut db, 0, count);
            assert_eq!(
                missing(&mut db, 0, count - missing_in_all),
                0,
                "an item is lost although a later one is not"
            );
            lost += missing_in_all;
        }
        acknowledged += writers.acknowledged();
    }
    println!("{kills} kills: {acknowledged} items acknowledged, {lost} lost");
}
