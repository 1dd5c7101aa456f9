//! Counters of what happened.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is counted, in the order of [`NAMES`].
#[derive(Clone, Copy)]
pub enum Count {
    Commands,
    Items,
    CopiesDeleted,
    ItemsAsked,
    KeysDeleted,
    RepliesLost,
    Censuses,
    ItemsInCensuses,
    Digests,
    Snapshots,
    Rewrites,
    Reloads,
    Kills,
    CleanRestarts,
    ReplicaKills,
    Cuts,
    FiltersEvicted,
    MemoryReturned,
}

const NAMES: [&str; 18] = [
    "commands answered",
    "items acknowledged",
    "copies deleted from counting filters, each there",
    "items looked up by the players, all present",
    "keys deleted, expired or overwritten, all gone",
    "replies lost in kills and restarts",
    "censuses of all keys and items",
    "items looked up in censuses, all present",
    "digests of whole servers compared, all equal",
    "BGSAVE",
    "BGREWRITEAOF",
    "DEBUG RELOAD",
    "kill -9 of the primary, appendfsync always",
    "clean restarts of the primary",
    "kill -9 of the replica",
    "cuts of the link to the replica",
    "filters evicted, each as a whole",
    "times everything was deleted and all memory returned",
];

#[derive(Default)]
pub struct Counters([AtomicU64; NAMES.len()]);

impl Counters {
    pub fn add(&self, count: Count, number: u64) {
        self.0[count as usize].fetch_add(number, Relaxed);
    }

    pub fn get(&self, count: Count) -> u64 {
        self.0[count as usize].load(Relaxed)
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, name) in self.0.iter().zip(NAMES) {
            writeln!(out, "  {:>12}  {name}", count.load(Relaxed))?;
        }
        Ok(())
    }
}
