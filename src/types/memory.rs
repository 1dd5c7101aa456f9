//! The memory of a value: measured by the allocator, moved by the server's defragmentation.

use crate::server::allocator::usable_size;
use crate::server::data_type::Defrag;
use splitbloom_filter::storage::Mover;
use std::alloc::Layout;
use std::collections::HashMap;

/// Bytes that the allocator holds for a `T` and what `visit_allocations` visits.
pub fn usable_bytes<T>(visit_allocations: impl FnOnce(&mut dyn FnMut(Layout, u64))) -> usize {
    // A filter has allocations of a few sizes only: ask the allocator once for each.
    let mut known: HashMap<Layout, usize> = HashMap::new();
    let mut usable = |layout| *known.entry(layout).or_insert_with(|| usable_size(layout));
    let mut bytes = usable(Layout::new::<T>());
    visit_allocations(&mut |layout, times| bytes += usable(layout) * times as usize);
    bytes
}

/// Passes memory through the server's defragmentation.
pub struct Defragmenting<'a>(pub &'a Defrag);

impl Mover for Defragmenting<'_> {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        self.0.relocate(elements)
    }

    fn should_stop(&mut self) -> bool {
        self.0.should_stop()
    }
}
