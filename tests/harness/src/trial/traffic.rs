//! Items by number: added until they are acknowledged, and looked up.

use crate::splitmix64;
use splitbloom_client::{Acknowledged, Answer, PartitionedFilter};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The timeout of one WAIT.
const WAIT: Duration = Duration::from_secs(1);
/// The pause before an unacknowledged batch is resent.
const PAUSE: Duration = Duration::from_millis(20);
/// A failover and a full sync of a new replica take several seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// An item that looks random, like an identifier. (Consecutive numbers spread less evenly:
/// docs/cluster.md.)
pub fn item(number: u64) -> [u8; 16] {
    let mixed = splitmix64(number);
    let mut digits = [0; 16];
    for (place, digit) in digits.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(mixed >> (4 * place)) as usize & 15];
    }
    digits
}

/// An item that is never added: these differ from each other and from all others, of which there
/// are fewer than 2^40.
pub fn absent_item(number: u64) -> [u8; 16] {
    item(number + (1 << 40))
}

/// The measurements of adding items.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub batches: u64,
    /// How often a batch was resent because it was not acknowledged.
    pub again: u64,
    /// The longest time from first sending a batch to its acknowledgement.
    pub longest: Duration,
}

/// Adds items in batches and resends each batch until every item is answered and `replicas`
/// replicas of each node have it. Calls `after` with the size of each batch.
pub fn add_until_acknowledged(
    filter: &mut PartitionedFilter,
    numbers: Range<u64>,
    batch: u64,
    replicas: u32,
    mut after: impl FnMut(u64),
) -> Sent {
    let mut sent = Sent::default();
    for first in numbers.clone().step_by(batch as usize) {
        let numbers = first..numbers.end.min(first + batch);
        let items: Vec<[u8; 16]> = numbers.clone().map(item).collect();
        let start = Instant::now();
        loop {
            let answers = filter.madd(&items);
            let refused = answers.iter().find_map(|answer| answer.as_ref().err());
            if let Some(error) = refused {
                panic!("an item was not added: {error}");
            }
            if replicas == 0 || filter.wait(replicas, WAIT) == Acknowledged::Yes {
                break;
            }
            sent.again += 1;
            assert!(start.elapsed() < PATIENCE, "a batch is never acknowledged");
            std::thread::sleep(PAUSE);
        }
        sent.batches += 1;
        sent.longest = sent.longest.max(start.elapsed());
        after(numbers.end - numbers.start);
    }
    sent
}

/// How many of the candidates of these numbers the filter reports as present.
pub fn count_found(
    filter: &mut PartitionedFilter,
    numbers: Range<u64>,
    batch: u64,
    candidate: fn(u64) -> [u8; 16],
    mut after: impl FnMut(u64),
) -> u64 {
    let mut found = 0;
    for first in numbers.clone().step_by(batch as usize) {
        let numbers = first..numbers.end.min(first + batch);
        let items: Vec<[u8; 16]> = numbers.clone().map(candidate).collect();
        let answers = filter.mexists(&items);
        let is_present = |answer: &Answer| *answer.as_ref().expect("a reply");
        found += answers.iter().filter(|answer| is_present(answer)).count() as u64;
        after(numbers.end - numbers.start);
    }
    found
}
