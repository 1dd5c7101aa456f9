//! Moves a slot by the server's atomic migration: the target gets a copy of the slot's keys, then
//! every change to them, and finally the slot.
//!
//! ```text
//! Valkey 9   source  CLUSTER MIGRATESLOTS SLOTSRANGE s s NODE target  CLUSTER GETSLOTMIGRATIONS
//! Redis 8.4  target  CLUSTER MIGRATION IMPORT s s                     CLUSTER MIGRATION STATUS ALL
//! ```

use splitbloom_harness::trial::Node;
use splitbloom_harness::{Connection, Reply};

/// The node that gets the command to move a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Director {
    /// Valkey.
    Source,
    /// Redis.
    Target,
}

/// A slot migration in progress.
pub struct AtomicMove {
    director: Director,
    db: Connection,
}

impl AtomicMove {
    /// Whether the server has the commands.
    pub fn is_known(db: &mut Connection) -> bool {
        director(db).is_some()
    }

    /// Whether the source drives the migration, and sends commands that create its keys.
    pub fn is_of_commands(db: &mut Connection) -> bool {
        matches!(director(db), Some(Director::Source))
    }

    /// Starts to move a slot.
    pub fn begin(slot: u16, source: &Node, target: &Node) -> AtomicMove {
        let mut from = source.connect();
        let director = director(&mut from).expect("the server supports it");
        // How long the source holds writes back before it gives up: on a busy machine, the default
        // of a few seconds may be too short.
        from.run(match director {
            Director::Source => "CONFIG SET cluster-manual-failover-timeout 60000",
            Director::Target => "CONFIG SET cluster-slot-migration-write-pause-timeout 60000",
        });
        let (mut db, command) = match director {
            Director::Source => {
                (from, format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {}", target.id))
            }
            Director::Target => {
                (target.connect(), format!("CLUSTER MIGRATION IMPORT {slot} {slot}"))
            }
        };
        db.run(&command);
        AtomicMove { director, db }
    }

    /// Whether the slot has moved.
    ///
    /// # Panics
    /// Panics if the migration has failed.
    pub fn is_over(&mut self) -> bool {
        let (question, good) = match self.director {
            Director::Source => ("CLUSTER GETSLOTMIGRATIONS", "success"),
            Director::Target => ("CLUSTER MIGRATION STATUS ALL", "completed"),
        };
        let moves = self.db.run(question);
        let states = moves.elements().iter().map(|one| one.field("state").text());
        let states: Vec<String> = states.collect();
        let bad = |state: &String| ["failed", "cancelled", "canceled"].contains(&&**state);
        assert!(!states.iter().any(bad), "{moves}");
        !states.is_empty() && states.iter().all(|state| state == good)
    }
}

fn director(db: &mut Connection) -> Option<Director> {
    let mut knows = |command| {
        let reply = db.call(["COMMAND", "INFO", command]);
        reply.elements().iter().any(|one| *one != Reply::Null)
    };
    if knows("cluster|migrateslots") {
        Some(Director::Source)
    } else if knows("cluster|migration") {
        Some(Director::Target)
    } else {
        None
    }
}
