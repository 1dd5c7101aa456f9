//! Owners of a shared value on three threads: loom runs the program for each order of the threads
//! with up to three preemptions, and for each value that the memory model lets a thread read.

mod atomic;
#[allow(dead_code, reason = "the size of an allocation")]
#[path = "../../../crates/foundation/src/shared.rs"]
mod shared;

use atomic::{Ordering, RELAXED};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use shared::Shared;
use std::panic::catch_unwind;

/// A value of which loom detects a read during a write, and a missing drop.
struct Value {
    number: UnsafeCell<u64>,
    _dropped: Arc<()>,
}

impl Value {
    fn read(&self) {
        // SAFETY: loom panics if another thread writes meanwhile.
        self.number.with(|number| unsafe { number.read() });
    }

    fn write(&self) {
        // SAFETY: loom panics if another thread reads or writes meanwhile.
        self.number.with_mut(|number| unsafe { number.write(1) });
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.write();
        }
    }
}

/// Reads the value as two owners. If it is then the sole owner, it writes to it, as a filter does
/// once its copy is gone; the last one frees it.
fn own(owner: Shared<Value>) {
    let second = owner.clone();
    second.read();
    drop(second);
    match owner.try_into_inner() {
        Ok(value) => value.write(),
        Err(owner) => owner.read(),
    }
}

fn all_orders() {
    let mut orders = loom::model::Builder::new();
    // The most preemptions in one order. Races need few.
    orders.preemption_bound = Some(3);
    orders.check(|| {
        let value = Value { number: UnsafeCell::new(0), _dropped: Arc::new(()) };
        let first = Shared::try_new(value).unwrap_or_else(|_| panic!("no memory"));
        let threads = [first.clone(), first.clone()].map(|owner| thread::spawn(|| own(owner)));
        own(first);
        for thread in threads {
            thread.join().expect("no owner panics");
        }
    });
}

fn main() {
    all_orders();
    RELAXED.store(true, Ordering::SeqCst);
    assert!(catch_unwind(all_orders).is_err(), "the deliberate race is not detected");
}
