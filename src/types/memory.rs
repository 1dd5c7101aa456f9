//! The memory of a value: measured by the allocator, moved by the server's defragmentation.

use splitbloom_filter::storage::Mover;
use splitbloom_server::allocator::usable_size;
use splitbloom_server::data_type::Defrag;
use std::alloc::Layout;

/// The number of layouts whose rounded size is remembered.
const KNOWN: usize = 16;

/// Bytes that the allocator holds for a `T` and for what `visit_allocations` visits.
pub fn usable_bytes<T>(visit_allocations: impl FnOnce(&mut dyn FnMut(Layout, u64))) -> usize {
    // A filter has allocations of a few layouts only: the allocator rounds each of them once.
    let mut known = [(Layout::new::<()>(), 0); KNOWN];
    let mut next = 0;
    let mut usable = |layout| {
        if let Some((_, bytes)) = known.iter().find(|(known, _)| *known == layout) {
            return *bytes;
        }
        let bytes = usable_size(layout);
        known[next % KNOWN] = (layout, bytes);
        next += 1;
        bytes
    };
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
