//! Reallocation, so that the server can defragment its heap.

/// Reallocates memory, so that the server can defragment its heap.
pub trait Mover {
    /// Returns the same elements, perhaps at another address.
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T>;
    /// Whether the time of this step is used up.
    fn should_stop(&mut self) -> bool;
}
