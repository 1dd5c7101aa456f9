//! Counters of what happened.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter and its name in the table.
pub struct Count(&'static str, AtomicU64);

impl Count {
    const fn new(name: &'static str) -> Count {
        Count(name, AtomicU64::new(0))
    }

    pub fn add(&self, number: u64) {
        self.1.fetch_add(number, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.1.load(Relaxed)
    }
}

pub struct Counters {
    pub commands: Count,
    pub items: Count,
    pub copies_deleted: Count,
    pub items_asked: Count,
    pub keys_deleted: Count,
    pub replies_lost: Count,
    pub censuses: Count,
    pub items_in_censuses: Count,
    pub digests: Count,
    pub snapshots: Count,
    pub rewrites: Count,
    pub reloads: Count,
    pub kills: Count,
    pub clean_restarts: Count,
    pub replica_kills: Count,
    pub cuts: Count,
    pub filters_evicted: Count,
    pub memory_returned: Count,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            commands: Count::new("commands answered"),
            items: Count::new("items acknowledged"),
            copies_deleted: Count::new("copies deleted from counting filters, each there"),
            items_asked: Count::new("items looked up by the players, all present"),
            keys_deleted: Count::new("keys deleted, expired or overwritten, all gone"),
            replies_lost: Count::new("replies lost in kills and restarts"),
            censuses: Count::new("censuses of all keys and items"),
            items_in_censuses: Count::new("items looked up in censuses, all present"),
            digests: Count::new("digests of whole servers compared, all equal"),
            snapshots: Count::new("BGSAVE"),
            rewrites: Count::new("BGREWRITEAOF"),
            reloads: Count::new("DEBUG RELOAD"),
            kills: Count::new("kill -9 of the primary, appendfsync always"),
            clean_restarts: Count::new("clean restarts of the primary"),
            replica_kills: Count::new("kill -9 of the replica"),
            cuts: Count::new("cuts of the link to the replica"),
            filters_evicted: Count::new("filters evicted, each as a whole"),
            memory_returned: Count::new("times everything was deleted and all memory returned"),
        }
    }
}

impl Counters {
    fn all(&self) -> [&Count; 18] {
        [
            &self.commands,
            &self.items,
            &self.copies_deleted,
            &self.items_asked,
            &self.keys_deleted,
            &self.replies_lost,
            &self.censuses,
            &self.items_in_censuses,
            &self.digests,
            &self.snapshots,
            &self.rewrites,
            &self.reloads,
            &self.kills,
            &self.clean_restarts,
            &self.replica_kills,
            &self.cuts,
            &self.filters_evicted,
            &self.memory_returned,
        ]
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for count in self.all() {
            writeln!(out, "  {:>12}  {}", count.get(), count.0)?;
        }
        Ok(())
    }
}
