//! Frees what a command has replaced.

use splitbloom_server::thread::free_in_background;
use splitbloom_sketch::Part;

/// The most allocations that are freed at once.
const FEW: usize = 1_000;

/// Frees a sketch or a slice: on a thread of its own if it has many allocations.
pub fn free<P: Part + Send + 'static>(part: P) {
    match part.allocations() {
        0..=FEW => drop(part),
        _ => free_in_background("sketch-free", part),
    }
}
