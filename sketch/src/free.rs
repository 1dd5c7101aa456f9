//! Frees values that a command has replaced.

use splitbloom_server::thread::free_in_background;

/// The most allocations that are freed at once.
const FEW: usize = 1_000;

/// Frees `value`, which has `allocations` allocations: on a thread of its own if they are many.
pub fn free<T: Send + 'static>(value: T, allocations: usize) {
    match allocations {
        0..=FEW => drop(value),
        _ => free_in_background("sketch-free", value),
    }
}
