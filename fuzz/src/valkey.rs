//! Arbitrary bytes as what valkey-bloom writes: the value of a BF.LOAD; and, the first of them as
//! the encoding version, the fields of a saved filter. Both begin with the same version, so each
//! input is read as both.

use super::twins::{assert_alike, layers_by_both};
use splitbloom_filter::filter::Growth;
use splitbloom_filter::SizeLimit;
use splitbloom_oracles::stream::Stream;
use splitbloom_oracles::valkey_bloom::Filter;

/// Any bytes are refused, or are a filter that answers as the second reader's, whatever is done to
/// it.
pub fn valkey(bytes: &[u8]) {
    for (filter, twin) in [loaded(bytes), saved(bytes)].into_iter().flatten() {
        assert!(filter.layers().unwrap().is_from_valkey());
        let growth = Growth::from_factor(twin.expansion as u32);
        assert_eq!(filter.parameters().growth, growth);
        assert_alike(filter, &twin);
    }
}

/// The value of a BF.LOAD.
fn loaded(bytes: &[u8]) -> Option<(splitbloom_filter::Filter, Filter)> {
    let read = || splitbloom_filter::Filter::parse_valkey(bytes, SizeLimit::Unlimited);
    layers_by_both(bytes.len(), read, Filter::of_load(bytes))
}

/// A saved filter.
fn saved(bytes: &[u8]) -> Option<(splitbloom_filter::Filter, Filter)> {
    let (version, fields) = bytes.split_first()?;
    let (version, mut fields) = (u32::from(*version), Stream(fields));
    let twin = Filter::of_fields(version, fields);
    let read = || splitbloom_filter::Filter::load_valkey(version, &mut fields);
    layers_by_both(bytes.len(), read, twin)
}

#[test]
fn each_kept_input_is_accepted_as_what_it_is() {
    for bytes in super::kept::inputs("valkey", "load-") {
        assert!(loaded(&bytes).is_some() && saved(&bytes).is_none());
    }
    for bytes in super::kept::inputs("valkey", "saved-") {
        assert!(saved(&bytes).is_some() && loaded(&bytes).is_none());
    }
}
