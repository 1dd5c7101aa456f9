//! Threads: proof of which one runs, and one that frees values in the background.

use super::context::Context;
use super::data_type::{CopyTarget, RdbSource};
use super::ration;
use std::marker::PhantomData;
use std::thread::Builder;

/// Proof that this is the server's own thread, the one that runs commands, events and timers, and
/// that loads and copies values. It is made from what the server provides only there. (A thread of
/// another module may call commands, too, but holds the server's lock, which stops the server's own
/// thread.)
#[derive(Clone, Copy)]
pub struct ServerThread {
    /// Not `Send`.
    _stays_here: PhantomData<*const ()>,
}

const THIS: ServerThread = ServerThread { _stays_here: PhantomData };

impl Context {
    /// Proof that this is the server's own thread.
    pub fn thread(&self) -> ServerThread {
        THIS
    }
}

impl RdbSource {
    /// Proof that this is the server's own thread.
    pub fn thread(&self) -> ServerThread {
        THIS
    }
}

impl CopyTarget {
    /// Proof that this is the server's own thread.
    pub fn thread(&self) -> ServerThread {
        THIS
    }
}

/// The stack of a thread that frees a value, in bytes: the value is freed level by level, and has
/// few levels.
const STACK: usize = 256 << 10;

/// Frees `value` on a new thread called `name`, or on this one if the system has none. Cost: some
/// 30 µs.
pub fn free_in_background<T: Send + 'static>(name: &str, value: T) {
    // A thread allocates infallibly: refused memory would end the server.
    ration::suspended(|| {
        let thread = Builder::new().name(name.into()).stack_size(STACK);
        // Without a thread the closure is dropped, and the value with it.
        let _ = thread.spawn(move || drop(value));
    });
}
