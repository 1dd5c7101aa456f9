//! What the targets need of a filter, whichever kind it is.

use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::window::MAX_TIME;
use splitbloom_filter::filter::{Adding, Filter, Kind, SizeLimit, Window};
use splitbloom_filter::hash::ItemHash;
use splitbloom_oracles::plain_reader::Head;

/// The kind of the record that the filter's chain begins with.
pub fn head(filter: &Filter) -> Head {
    match filter.kind() {
        Kind::Bloom if filter.layers().is_some() => Head::Foreign,
        Kind::Bloom => Head::Filter,
        Kind::Counting => Head::CountingFilter,
        Kind::Windowed => Head::WindowedFilter,
    }
}

/// Adds an item unless it is there.
pub fn add_absent(filter: &mut Filter, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
    let known = filter.contains(item);
    match filter.kind() {
        Kind::Bloom => filter.add_limited(item, limit),
        Kind::Counting => filter.add_copy(item, Adding::Absent, limit),
        // At the latest time that the filter has seen.
        Kind::Windowed => match filter.add_limited(item, limit) {
            // It is there, but cannot be renewed.
            Err(AddError::Loading) if known => Ok(false),
            added => added,
        },
    }
}

/// Tries what else the filter can do with an item; while it is loading, it may refuse.
pub fn use_otherwise(filter: &mut Filter, item: &[u8]) {
    match filter.window() {
        Some(window) => forget(filter, window, item),
        None if filter.kind() == Kind::Counting => count_and_delete(filter, item),
        None => {}
    }
}

/// Copies of an item in the table; at least 1 if it is there.
pub fn copies(filter: &Filter, item: &[u8]) -> u64 {
    if filter.kind() == Kind::Counting {
        return filter.count(item);
    }
    let hash = ItemHash::of(item, filter.parameters().seed);
    filter.table().map_or(0, |table| table.count(hash))
}

/// It counts copies, and forgets them.
fn count_and_delete(filter: &mut Filter, item: &[u8]) {
    let is_loading = filter.loading().is_some();
    for _ in 0..5 {
        match filter.add_copy(item, Adding::Copies, SizeLimit::Bytes(1 << 24)) {
            Ok(is_added) => assert!(is_added && filter.contains(item)),
            Err(AddError::Loading) => assert!(is_loading),
            Err(error) => assert_ne!(error, AddError::OutOfMemory),
        }
    }
    let known = filter.contains(item);
    for _ in 0..3 {
        match filter.remove(item) {
            Ok(was_there) => assert!(was_there || !filter.contains(item)),
            Err(error) => assert!(error == AddError::Loading && is_loading),
        }
    }
    assert!(known || !filter.contains(item));
}

/// It forgets the item.
fn forget(filter: &mut Filter, window: Window, item: &[u8]) {
    let slice = u64::from(window.seconds()) * 1_000 / u64::from(window.slices());
    for _ in 0..3 {
        let now = (filter.latest() + slice + 1).min(MAX_TIME);
        match filter.sweep_step(now) {
            Ok(_) => assert!(filter.next_due().is_none_or(|due| due > now || due == 0)),
            Err(error) => assert!(error == AddError::Loading && filter.loading().is_some()),
        }
        let known = filter.contains_at(item, now);
        match filter.add_at(item, now, SizeLimit::Bytes(1 << 24)) {
            Ok(outcome) => {
                assert!(outcome.is_new() != known && filter.contains_at(item, now));
                assert!(filter.sweep_step(now).is_ok() || filter.loading().is_some());
                assert!(filter.contains_at(item, now));
            }
            Err(error) => assert_ne!(error, AddError::OutOfMemory),
        }
    }
    let over = filter.latest() + 100 * slice + 1_000;
    assert!(!filter.contains_at(item, over) || over > MAX_TIME);
}
