//! A filter from many items, on all cores.
//!
//! ```text
//!   round   workers       take blocks, find the items, hash them, sort the hashes by share
//!           all threads   take shares, add their hashes in the order of the items
//! ```
//!
//! A share is a part of the sub-bitmaps (`splitbloom_filter::filter::Shares`), so no two threads
//! touch the same bit, and the result equals the filter to which the items were added one by one.
//! The last items before it is full, and those that go to a table, are hashed by all threads and
//! added by one.

use crate::error::Error;
use crate::feed::{self, Block, Reading};
use splitbloom_filter::filter::{Routes, Share, Shares};
use splitbloom_filter::hash::ItemHash;
use splitbloom_filter::{AddError, Filter, Parameters, Seed, SizeLimit};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The bytes of a block: read in some 50 µs, and small enough for the cache of a core.
pub const BLOCK_BYTES: usize = 256 * 1024;

/// The approximate number of items in a round. Their hashes take 34 MB; while they are added, the
/// workers hash only as many more as there are buffers.
const MOST_ITEMS_OF_ROUND: u64 = 2_000_000;
/// The least number of items in a round: with fewer, starting the threads (100 µs) would matter.
const LEAST_ITEMS_OF_ROUND: u64 = 50_000;
/// Rounds of a filter that is filled to its capacity; the last one is added by one thread.
const ROUNDS: u64 = 32;
/// Shares for each thread, so that none waits long for the last one.
const SHARES_OF_THREAD: usize = 4;

/// Counts the items.
pub fn count(reading: Reading, threads: usize) -> Result<u64, Error> {
    let layout = reading.layout();
    let count = move |(), block: &Block| {
        let items = layout.count(&block.bytes) as u64;
        move || ((), items)
    };
    let mut all = 0;
    feed::run(reading, vec![vec![()]; threads], count, |_, items| {
        all += items;
        Ok(None)
    })?;
    Ok(all)
}

/// Adds the items to an empty filter. Returns it, and how many items there were.
pub fn build(filter: Filter, reading: Reading, threads: usize) -> Result<(Filter, u64), Error> {
    let Parameters { capacity, seed, .. } = filter.parameters();
    let most_items = (capacity / ROUNDS).clamp(LEAST_ITEMS_OF_ROUND, MOST_ITEMS_OF_ROUND);
    let filling = Filling::of(filter, threads)?;
    let (framing, routes) = (reading.framing, filling.routes());
    let spare = Arc::new(Mutex::new(Vec::<Hashed>::new()));
    let used = Arc::clone(&spare);
    let hash = move |(), block: &Block| {
        let mut hashed = lock(&spare).pop().unwrap_or_default();
        hashed.fill(framing.items(&block.bytes), seed, routes);
        move || ((), hashed)
    };
    // Nothing while a round is added, and after an error.
    let mut filling = Some(filling);
    let (mut round, mut items) = (Vec::new(), 0);
    feed::run(reading, vec![vec![()]; threads], hash, |_, hashed| {
        items += hashed.len();
        round.push(hashed);
        if items_of(&round) >= most_items {
            filling = filling.take().map(|filling| filling.add(&round, threads)).transpose()?;
            lock(&used).append(&mut round);
        }
        Ok(None)
    })?;
    let filling = filling.ok_or_else(|| Error::Contents("internal error".into()))?;
    Ok((filling.add(&round, threads)?.into_filter()?, items))
}

fn refused(error: AddError) -> Error {
    Error::Contents(match error {
        AddError::Full => "the filter is full and does not grow: give a larger --capacity".into(),
        other => other.to_string(),
    })
}

/// A filter that is being filled.
enum Filling {
    Divided(Shares),
    Whole(Filter),
}

impl Filling {
    /// An empty filter, to be filled by that many threads.
    fn of(filter: Filter, threads: usize) -> Result<Self, Error> {
        if threads == 1 {
            return Ok(Self::Whole(filter));
        }
        let shares = filter.into_shares(threads * SHARES_OF_THREAD).map_err(refused)?;
        Ok(shares.map_or_else(Self::Whole, Self::Divided))
    }

    fn routes(&self) -> Option<Routes> {
        match self {
            Self::Divided(shares) => Some(shares.routes()),
            Self::Whole(_) => None,
        }
    }

    /// Adds the hashed items of a round.
    fn add(self, round: &[Hashed], threads: usize) -> Result<Self, Error> {
        match self {
            Self::Divided(mut shares) if shares.has_room_for(items_of(round)) => {
                add_to_each(shares.each_mut(), round, threads)?;
                Ok(Self::Divided(shares))
            }
            other => {
                let mut filter = other.into_filter()?;
                let hashes = round.iter().flat_map(Hashed::in_order);
                let added = filter.add_hashes(hashes, 0, SizeLimit::Unlimited, |_, _| ());
                added.map_err(refused)?;
                Ok(Self::Whole(filter))
            }
        }
    }

    fn into_filter(self) -> Result<Filter, Error> {
        match self {
            Self::Whole(filter) => Ok(filter),
            Self::Divided(shares) => shares.into_filter().map_err(|error| match error {
                AddError::Full => Error::Contents(
                    "the items crowd together, as if they were chosen for it: use --threads 1"
                        .into(),
                ),
                other => refused(other),
            }),
        }
    }
}

/// Adds the hashed items of a round to their shares.
fn add_to_each(shares: &mut [Share], round: &[Hashed], threads: usize) -> Result<(), Error> {
    let shares = Mutex::new(shares.iter_mut().enumerate());
    let add = || -> Result<(), AddError> {
        loop {
            let Some((number, share)) = lock(&shares).next() else {
                return Ok(());
            };
            round.iter().try_for_each(|hashed| share.add(hashed.of_share(number)))?;
        }
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(add)).collect();
        // A panic has ended the process.
        all.into_iter().filter_map(|thread| thread.join().ok()).collect::<Result<(), _>>()
    })
    .map_err(refused)
}

/// The hashes of a block.
#[derive(Default)]
struct Hashed {
    /// The share of each item.
    shares: Vec<u8>,
    by_share: Vec<Vec<ItemHash>>,
}

impl Hashed {
    /// Replaces the hashes and shares by those of `items`. Without `routes` there is one share.
    fn fill<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        seed: Seed,
        routes: Option<Routes>,
    ) {
        self.shares.clear();
        self.by_share.iter_mut().for_each(Vec::clear);
        for item in items {
            let hash = ItemHash::of(item, seed);
            let share = routes.map_or(0, |routes| routes.share_of(hash));
            if share >= self.by_share.len() {
                self.by_share.resize_with(share + 1, Vec::new);
            }
            self.shares.push(share as u8);
            self.by_share[share].push(hash);
        }
    }

    fn len(&self) -> u64 {
        self.shares.len() as u64
    }

    fn of_share(&self, share: usize) -> &[ItemHash] {
        self.by_share.get(share).map_or(&[], Vec::as_slice)
    }

    /// The hashes in the order of the items.
    fn in_order(&self) -> impl Iterator<Item = ItemHash> + '_ {
        let mut rest: Vec<_> = self.by_share.iter().map(|hashes| hashes.iter()).collect();
        let shares = self.shares.iter();
        shares.filter_map(move |share| rest[usize::from(*share)].next().copied())
    }
}

fn items_of(round: &[Hashed]) -> u64 {
    round.iter().map(Hashed::len).sum()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Framing, Source};
    use indicatif::ProgressBar;
    use splitbloom_filter::Growth;
    use std::fs;

    #[test]
    fn any_number_of_threads_builds_the_filter_of_one() {
        let path = std::env::temp_dir().join(format!("splitbloom-bulk-{}", std::process::id()));
        let lines: String = (0..1_200_000u64)
            .map(|n| format!("https://example.com/{}\n", n * n % 1_000_003))
            .collect();
        fs::write(&path, lines).unwrap();
        // Divided to the end; full and continued by a table; small; a table from the start.
        for (capacity, growth) in [
            (1_500_000, Growth::Fixed),
            (900_000, Growth::Times(2)),
            (400_000, Growth::Times(2)),
            (10_000, Growth::Times(2)),
            (100, Growth::Times(2)),
        ] {
            let built = |threads| {
                let parameters = Parameters { error_rate: 0.01, capacity, growth, seed: Seed(9) };
                let filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
                let reading = Reading {
                    sources: vec![Source::File(path.clone())],
                    framing: Framing::Lines,
                    block_bytes: BLOCK_BYTES,
                    from: None,
                    bar: ProgressBar::hidden(),
                };
                build(filter, reading, threads).unwrap()
            };
            let (alone, items) = built(1);
            assert_eq!(items, 1_200_000);
            for threads in [2, 3] {
                let (filter, items) = built(threads);
                assert_eq!(items, 1_200_000);
                assert_eq!(filter.items(), alone.items(), "{capacity} {threads}");
                assert_eq!(filter.digest(), alone.digest(), "{capacity} {threads}");
            }
        }
        fs::remove_file(path).unwrap();
    }
}
