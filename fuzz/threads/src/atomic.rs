//! The atomic number that counts owners: loom's, which can ignore the order that it is given.

pub use loom::sync::atomic::Ordering;
use std::sync::atomic::AtomicBool;

/// Whether every access is relaxed, which is a race that must be found.
pub static RELAXED: AtomicBool = AtomicBool::new(false);

fn at_most(order: Ordering) -> Ordering {
    match RELAXED.load(Ordering::SeqCst) {
        true => Ordering::Relaxed,
        false => order,
    }
}

pub struct AtomicUsize(loom::sync::atomic::AtomicUsize);

impl AtomicUsize {
    pub fn new(value: usize) -> Self {
        Self(loom::sync::atomic::AtomicUsize::new(value))
    }

    pub fn load(&self, order: Ordering) -> usize {
        self.0.load(at_most(order))
    }

    pub fn fetch_add(&self, more: usize, order: Ordering) -> usize {
        self.0.fetch_add(more, at_most(order))
    }

    pub fn fetch_sub(&self, fewer: usize, order: Ordering) -> usize {
        self.0.fetch_sub(fewer, at_most(order))
    }
}
