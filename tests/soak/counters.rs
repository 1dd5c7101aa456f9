//! Counters of what happened, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

#[derive(Default)]
pub struct Counters(Mutex<BTreeMap<&'static str, u64>>);

impl Counters {
    pub fn add(&self, name: &'static str, number: u64) {
        *self.all().entry(name).or_default() += number;
    }

    pub fn get(&self, name: &str) -> u64 {
        self.all().get(name).copied().unwrap_or(0)
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().expect("no thread panics with the lock held")
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all().iter().try_for_each(|(name, count)| writeln!(out, "  {count:>12}  {name}"))
    }
}
