//! The server killed, again and again, while eight writers add with several commands on their way.

use crate::harness::{eventually, missing_items, Connection, Pace, Server, Writers};
use crate::times;
use std::time::Duration;

/// A filter that grows step by step, one that grows by leaps, one that has its room.
const FILTERS: [(&str, &str); 3] = [
    ("steps", "0.01 1000 EXPANSION 1"),
    ("leaps", "0.001 100 EXPANSION 4"),
    ("roomy", "0.01 10000000"),
];

/// Each writer gets so many items acknowledged between two kills.
const BETWEEN_KILLS: u64 = 200;

fn reserve(db: &mut Connection) -> Vec<&'static str> {
    for (key, parameters) in FILTERS {
        db.run(&format!("BF.RESERVE {key} {parameters}"));
    }
    FILTERS.map(|(key, _)| key).to_vec()
}

#[test]
fn no_acknowledged_item_is_lost_by_kills_with_a_file_that_is_always_written() {
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
            // The file must not grow without end; and some kills shall meet it while it is rewritten.
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
fn a_kill_with_a_file_written_every_second_costs_each_writer_its_last_items_at_most() {
    let kills = times(2, 25);
    let mut server = Server::configured(&["appendonly yes", "appendfsync everysec"]);
    // An item that is lost is taken for present in one case of 10^9, so that the first one lost is seen.
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
                "a gap, and items behind it"
            );
            lost += missing_in_all;
        }
        acknowledged += writers.acknowledged();
    }
    println!("{kills} kills: {acknowledged} items acknowledged, {lost} lost");
}
