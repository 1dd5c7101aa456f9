//! Arbitrary bytes as the BF.LOAD of valkey-bloom.

use super::decode::use_it;
use super::fuzzed::Fuzzed;
use super::survival::assert_survives;
use splitbloom_filter::codec::MEMORY_PER_BYTE;
use splitbloom_filter::foreign::ForeignFilter;
use splitbloom_filter::SizeLimit;
use splitbloom_test_allocator::meter::measured;

/// What a filter takes beside what its bytes bring.
const MEMORY_BEFORE: isize = 4096;

/// Any bytes are refused, or are a filter that survives whatever is done to it.
pub fn valkey(bytes: &[u8]) {
    let parse = || ForeignFilter::parse_from_valkey(bytes, SizeLimit::Unlimited);
    let (read, taken) = measured(parse);
    let most = MEMORY_PER_BYTE as isize * bytes.len() as isize + MEMORY_BEFORE;
    assert!(taken.peak <= most, "{taken:?} for {} bytes", bytes.len());
    let Ok(mut filter) = read else { return };
    filter.assert_sound();
    assert_survives(&mut filter);
    use_it(&mut filter);
    filter.assert_sound();
}
