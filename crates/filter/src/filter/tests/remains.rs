//! What is left of many items: few entries, in pages made for more.

use super::*;
use crate::filter::{Adding, CountingParameters, Outcome, Window};

const UNLIMITED: SizeLimit = SizeLimit::Unlimited;
/// Some time, in milliseconds since 1970.
const START: u64 = 1_700_000_000_123;

/// Error rates of all magnitudes, the lowest of which are treated as 10^-12.
fn error_rates() -> impl Strategy<Value = f64> {
    (0.1..12.5).prop_map(|magnitude: f64| 10f64.powf(-magnitude))
}

/// Checks that `filter` can be saved and read, and is the same then.
fn check_that_it_is_read_again(filter: &Filter) {
    let bytes = |filter: &Filter| -> Vec<Vec<u8>> {
        chunks(filter).map(|chunk| chunk.encode().unwrap().bytes).collect()
    };
    let mut loaded = None;
    for chunk in bytes(filter) {
        let chunk = Chunk::parse(&chunk).unwrap();
        loaded = load_chunk(loaded.as_mut(), &chunk, UNLIMITED).unwrap().or(loaded);
    }
    assert_eq!(bytes(&loaded.unwrap()), bytes(filter));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_a_window_leaves_is_found_and_read_again(
        error_rate in error_rates(), capacity in 1..200_000u64, slices in 2..=14u8,
        burst in 1..6_000u64, left in 1..20u64,
    ) {
        let growth = Growth::Times(2);
        let parameters = Parameters { error_rate, capacity, growth, seed: Seed(7) };
        let window = Window::new(60, slices, false).unwrap();
        let mut filter = Filter::windowed(parameters, window, UNLIMITED).unwrap();
        for number in 0..burst {
            filter.add_at(&number.to_le_bytes(), START, UNLIMITED).unwrap();
        }
        // The burst is forgotten a slice after its window, half a window before these.
        let mut new = (burst..burst + left).map(u64::to_le_bytes).collect::<Vec<_>>();
        new.retain(|item| filter.add_at(item, START + 60_000, UNLIMITED).unwrap() == Outcome::New);
        let now = START + 91_000;
        while !filter.sweep_step(now).unwrap().is_done {}
        check_that_it_is_read_again(&filter);
        assert!(new.iter().all(|item| filter.contains_at(item, now)));
        let found = (0..burst).filter(|n| filter.contains_at(&n.to_le_bytes(), now)).count();
        assert!(found as f64 <= 20.0 + 2.0 * error_rate * burst as f64, "{found}");
    }

    #[test]
    fn what_deletions_leave_is_found_and_read_again(
        error_rate in error_rates(), capacity in 1..200_000u64, is_fixed in any::<bool>(),
        burst in 1..6_000u64, left in 1..20u64, copies in 1..7u64,
    ) {
        let parameters = CountingParameters {
            error_rate, capacity, expansion: u16::from(!is_fixed), bucket_size: 2,
            max_iterations: 20, seed: Seed(7),
        };
        let mut filter = Filter::counting(parameters, UNLIMITED).unwrap();
        let burst = if is_fixed { burst.min(capacity / copies) } else { burst };
        for number in (0..burst).flat_map(|number| (0..copies).map(move |_| number)) {
            filter.add_copy(&number.to_le_bytes(), Adding::Copies, UNLIMITED).unwrap();
        }
        for number in left..burst {
            for _ in 0..copies {
                assert!(filter.remove(&number.to_le_bytes()).unwrap());
            }
        }
        check_that_it_is_read_again(&filter);
        for number in 0..left.min(burst) {
            assert!(filter.count(&number.to_le_bytes()) >= copies);
            assert!(filter.remove(&number.to_le_bytes()).unwrap());
            check_that_it_is_read_again(&filter);
        }
    }
}
