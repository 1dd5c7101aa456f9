//! A replica gets only the adds and the steps of the sweep that have changed the primary.

use super::*;
use std::collections::BTreeMap;

struct Pair {
    primary: Filter,
    replica: Filter,
}

impl Pair {
    fn add(&mut self, number: u64, now: u64) -> bool {
        let added = self.primary.add_at(&item(number), now, UNLIMITED).unwrap();
        if added.has_changed() {
            let followed = self.replica.add_at(&item(number), now, UNLIMITED);
            assert_eq!(followed, Ok(added));
        }
        added.has_changed()
    }

    /// Sweeps to the end.
    fn sweep(&mut self, now: u64) {
        let mut steps = 0;
        while self.primary.next_due().is_some_and(|due| due <= now) {
            if self.primary.sweep_step(now).unwrap().has_changed {
                self.replica.sweep_step(now).unwrap();
            }
            steps += 1;
            assert!(steps < 10_000, "a sweep ends");
        }
    }
}

/// A burst now and then, of which much goes at once, so that the sweep merges pages; and items that
/// come again.
#[test]
fn a_replica_stays_equal_while_sweeps_merge_pages_and_denies_nothing() {
    for (slices, error_rate) in [(2, EXACT), (3, EXACT), (8, EXACT), (8, 0.01)] {
        let new = || filter(error_rate, 10, slices, false);
        let (primary, replica) = (new(), new());
        let mut pair = Pair { primary, replica };
        let mut added = BTreeMap::new();
        for slice in 0..45 {
            let now = START / 10_000 * 10_000 + 10_000 / u64::from(slices) * slice + 1;
            let burst = if slice % 20 == 0 { 60_000 } else { 0 };
            for n in 0..burst {
                pair.add(slice * 1_000_000 + n, now);
            }
            for n in 0..10 {
                let again = (1 << 40) + (slice * 7 + n * n) % 40;
                if pair.add(again, now) {
                    added.insert(again, now);
                }
            }
            pair.sweep(now);
            let Pair { primary, replica } = &pair;
            assert_eq!(bytes_of(primary), bytes_of(replica));
            assert_eq!(primary.reserved_bytes(), replica.reserved_bytes());
            for (number, then) in &added {
                let is_due = now - then <= 10_000;
                assert!(!is_due || replica.contains_at(&item(*number), now), "{number}");
            }
        }
    }
}
