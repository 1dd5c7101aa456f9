//! Freeing what takes long, without stopping the server.

use std::thread::Builder;

/// The stack of such a thread, in bytes: a value is freed level by level, and has few of them.
const STACK: usize = 256 << 10;

/// Frees a value on a thread of its own, or here if the system has none. Cost: some 30 µs.
pub fn free_elsewhere<T: Send + 'static>(value: T) {
    let thread = Builder::new().name("bf-free".into()).stack_size(STACK);
    // Without a thread the closure is dropped, and the value with it.
    let _ = thread.spawn(move || drop(value));
}
