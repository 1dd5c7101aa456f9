//! What the targets need of a filter, whichever kind it is.

use super::laws::{
    assert_sound, assert_sound_counting, assert_sound_foreign, assert_sound_windowed,
};
use super::plain_reader::Head;
use splitbloom_filter::codec::Chunked;
use splitbloom_filter::counting::Adding;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Filter, Loading, SizeLimit};
use splitbloom_filter::foreign::ForeignFilter;
use splitbloom_filter::hash::ItemHash;
use splitbloom_filter::windowed::{Outcome, MAX_TIME};
use splitbloom_filter::{CountingFilter, WindowedFilter};
use std::alloc::Layout;

/// A filter that the targets can use.
pub trait Fuzzed: Chunked {
    const KIND: Head;
    fn digest(&self) -> u128;
    fn items(&self) -> u64;
    fn loading(&self) -> Option<Loading>;
    fn contains(&self, item: &[u8]) -> bool;
    /// Bytes that a limit bounds.
    fn bytes(&self) -> u64;
    /// Visits every allocation but the filter itself.
    fn visit(&self, visit: impl FnMut(Layout, u64));
    /// Adds an item unless it is there.
    fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError>;
    /// What else the filter can do with an item, if all of it has come.
    fn use_otherwise(&mut self, item: &[u8]);
    /// Copies of an item in the table; at least 1 if it is there.
    fn count(&self, item: &[u8]) -> u64;
    fn try_clone(&mut self) -> Result<Self, AddError>;
    fn assert_sound(&self);
}

/// The two kinds of Bloom filter have the same methods, and no trait in common.
macro_rules! fuzz_bloom_filter {
    ($filter:ty, $head:ident, $assert_sound:ident) => {
        impl Fuzzed for $filter {
            const KIND: Head = Head::$head;

            fn digest(&self) -> u128 {
                self.digest()
            }

            fn items(&self) -> u64 {
                self.items()
            }

            fn loading(&self) -> Option<Loading> {
                self.loading()
            }

            fn contains(&self, item: &[u8]) -> bool {
                self.contains(item)
            }

            fn bytes(&self) -> u64 {
                self.reserved_bytes()
            }

            fn visit(&self, visit: impl FnMut(Layout, u64)) {
                self.visit_allocations(visit);
            }

            fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
                self.add(item, limit)
            }

            fn use_otherwise(&mut self, _: &[u8]) {}

            fn count(&self, item: &[u8]) -> u64 {
                let hash = ItemHash::of(item, self.parameters().seed);
                self.table().map_or(0, |table| table.count(hash))
            }

            fn try_clone(&mut self) -> Result<Self, AddError> {
                self.try_clone()
            }

            fn assert_sound(&self) {
                $assert_sound(self);
            }
        }
    };
}

fuzz_bloom_filter!(Filter, Filter, assert_sound);
fuzz_bloom_filter!(ForeignFilter, Foreign, assert_sound_foreign);

impl Fuzzed for CountingFilter {
    const KIND: Head = Head::CountingFilter;

    fn digest(&self) -> u128 {
        self.digest()
    }

    fn items(&self) -> u64 {
        self.items()
    }

    fn loading(&self) -> Option<Loading> {
        self.loading()
    }

    fn contains(&self, item: &[u8]) -> bool {
        self.contains(item)
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn visit(&self, visit: impl FnMut(Layout, u64)) {
        self.visit_allocations(visit);
    }

    fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
        self.add(item, Adding::Absent, limit)
    }

    /// It counts copies, and forgets them.
    fn use_otherwise(&mut self, item: &[u8]) {
        let is_loading = self.loading().is_some();
        for _ in 0..5 {
            match self.add(item, Adding::Copies, SizeLimit::Bytes(1 << 24)) {
                Ok(is_added) => assert!(is_added && self.contains(item)),
                Err(AddError::Loading) => assert!(is_loading),
                Err(error) => assert_ne!(error, AddError::OutOfMemory),
            }
        }
        let known = self.contains(item);
        for _ in 0..3 {
            match self.remove(item) {
                Ok(was_there) => assert!(was_there || !self.contains(item)),
                Err(error) => assert!(error == AddError::Loading && is_loading),
            }
        }
        assert!(known || !self.contains(item));
    }

    fn count(&self, item: &[u8]) -> u64 {
        self.count(item)
    }

    fn try_clone(&mut self) -> Result<Self, AddError> {
        self.try_clone()
    }

    fn assert_sound(&self) {
        assert_sound_counting(self);
    }
}

/// At the latest time that the filter has seen.
impl Fuzzed for WindowedFilter {
    const KIND: Head = Head::WindowedFilter;

    fn digest(&self) -> u128 {
        self.digest()
    }

    fn items(&self) -> u64 {
        self.items(0)
    }

    fn loading(&self) -> Option<Loading> {
        self.loading()
    }

    fn contains(&self, item: &[u8]) -> bool {
        self.contains(item, 0)
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn visit(&self, visit: impl FnMut(Layout, u64)) {
        self.visit_allocations(visit);
    }

    fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
        let known = self.contains(item, 0);
        match self.add(item, 0, limit) {
            // It is there, but cannot be renewed.
            Err(AddError::Loading) if known => Ok(false),
            outcome => outcome.map(Outcome::is_new),
        }
    }

    /// It forgets it.
    fn use_otherwise(&mut self, item: &[u8]) {
        let slice = u64::from(self.window().seconds()) * 1_000 / u64::from(self.window().slices());
        for _ in 0..3 {
            let now = (self.latest() + slice + 1).min(MAX_TIME);
            match self.sweep_step(now) {
                Ok(_) => assert!(self.next_due().is_none_or(|due| due > now || due == 0)),
                Err(error) => assert!(error == AddError::Loading && self.loading().is_some()),
            }
            let known = self.contains(item, now);
            match self.add(item, now, SizeLimit::Bytes(1 << 24)) {
                Ok(outcome) => {
                    assert!(outcome.is_new() != known && self.contains(item, now));
                    assert!(self.sweep_step(now).is_ok() || self.loading().is_some());
                    assert!(self.contains(item, now));
                }
                Err(error) => assert_ne!(error, AddError::OutOfMemory),
            }
        }
        let over = self.latest() + 100 * slice + 1_000;
        assert!(!self.contains(item, over) || over > MAX_TIME);
    }

    fn count(&self, item: &[u8]) -> u64 {
        let (hash, table) = (ItemHash::of(item, self.parameters().seed), self.table());
        table.map_or(0, |table| table.count(hash))
    }

    fn try_clone(&mut self) -> Result<Self, AddError> {
        self.try_clone()
    }

    fn assert_sound(&self) {
        assert_sound_windowed(self);
    }
}
