//! A filter from many items, on all cores.
//!
//! ```text
//!   round   all threads   take blocks, find the items, hash them, sort the hashes by share
//!           all threads   take shares, add their hashes in the order of the items
//! ```
//!
//! A share is a part of the sub-bitmaps (`splitbloom_filter::filter::Shares`), so no two threads
//! touch the same bit, and the result equals the filter to which the items were added one by one.
//! The last items before it is full, and those that go to a table, are hashed by all threads and
//! added by one.

use crate::blocks::{Block, Blocks};
use crate::error::Error;
use crate::input::Framing;
use memchr::memchr_iter;
use splitbloom_filter::filter::{Routes, Share, Shares};
use splitbloom_filter::hash::ItemHash;
use splitbloom_filter::{AddError, Filter, Seed, SizeLimit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The approximate number of items in a round. Their hashes take 34 MB; the threads wait for each
/// other twice a round.
const MOST_ITEMS_OF_ROUND: u64 = 2_000_000;
/// The least number of items in a round: with fewer, starting the threads (100 µs) would matter.
const LEAST_ITEMS_OF_ROUND: u64 = 50_000;
/// Rounds of a filter that is filled to its capacity; the last one is added by one thread.
const ROUNDS: u64 = 32;
/// Shares for each thread, so that none waits long for the last one.
const SHARES_OF_THREAD: usize = 4;

/// Counts the items of all blocks.
pub fn count(blocks: &Blocks, framing: Framing, threads: usize) -> Result<u64, Error> {
    let items = AtomicU64::new(0);
    on_each_thread(threads, || {
        let mut block = Block::default();
        while blocks.next(&mut block)?.is_some() {
            let bytes = block.bytes();
            let count = match framing {
                Framing::Lines | Framing::Text => {
                    let is_cut = bytes.last().is_some_and(|last| *last != b'\n');
                    memchr_iter(b'\n', bytes).count() + usize::from(is_cut)
                }
                Framing::Fixed(width) => bytes.len() / width,
            };
            items.fetch_add(count as u64, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(items.into_inner())
}

/// Adds the items of all blocks to an empty filter. Returns it, and how many items there were.
pub fn build(
    filter: Filter,
    blocks: &Blocks,
    framing: Framing,
    threads: usize,
) -> Result<(Filter, u64), Error> {
    if threads <= 1 {
        return build_alone(filter, blocks, framing);
    }
    let parameters = filter.parameters();
    let round = Round {
        blocks,
        framing,
        seed: parameters.seed,
        threads,
        most_items: (parameters.capacity / ROUNDS).clamp(LEAST_ITEMS_OF_ROUND, MOST_ITEMS_OF_ROUND),
    };
    let mut filling = match filter.into_shares(threads * SHARES_OF_THREAD) {
        Ok(Ok(shares)) => Filling::Divided(shares),
        Ok(Err(filter)) => Filling::Whole(filter),
        Err(error) => return Err(refused(error)),
    };
    let (mut all, mut items) = (Vec::new(), 0);
    loop {
        let count = round.hash(filling.routes(), &mut all)?;
        if count == 0 {
            return Ok((filling.into_filter()?, items));
        }
        items += count;
        filling = match filling {
            Filling::Divided(mut shares) if shares.has_room_for(count) => {
                round.add(shares.each_mut(), &all)?;
                Filling::Divided(shares)
            }
            other => {
                let mut filter = other.into_filter()?;
                for hashed in &all {
                    let hashes = hashed.in_order();
                    let added = filter.add_hashes(hashes, 0, SizeLimit::Unlimited, |_, _| ());
                    added.map_err(refused)?;
                }
                Filling::Whole(filter)
            }
        };
    }
}

fn build_alone(
    mut filter: Filter,
    blocks: &Blocks,
    framing: Framing,
) -> Result<(Filter, u64), Error> {
    let (mut block, mut items) = (Block::default(), 0);
    while blocks.next(&mut block)?.is_some() {
        let added = filter.add_many(block.items(framing), |_| items += 1);
        added.map_err(refused)?;
    }
    Ok((filter, items))
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
    fn routes(&self) -> Option<Routes> {
        match self {
            Self::Divided(shares) => Some(shares.routes()),
            Self::Whole(_) => None,
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

/// The hashes of a block.
#[derive(Default)]
struct Hashed {
    number: u64,
    /// The share of each item. Empty if there is one share only.
    shares: Vec<u8>,
    by_share: Vec<Vec<ItemHash>>,
}

impl Hashed {
    fn clear(&mut self) {
        self.shares.clear();
        self.by_share.iter_mut().for_each(Vec::clear);
    }

    fn fill<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        seed: Seed,
        routes: Option<Routes>,
    ) {
        self.clear();
        let Some(routes) = routes else {
            self.by_share.resize_with(1, Vec::new);
            self.by_share[0].extend(items.map(|item| ItemHash::of(item, seed)));
            return;
        };
        for item in items {
            let hash = ItemHash::of(item, seed);
            let share = routes.share_of(hash);
            if share >= self.by_share.len() {
                self.by_share.resize_with(share + 1, Vec::new);
            }
            self.shares.push(share as u8);
            self.by_share[share].push(hash);
        }
    }

    fn of_share(&self, share: usize) -> &[ItemHash] {
        self.by_share.get(share).map_or(&[], Vec::as_slice)
    }

    /// The hashes in the order of the items.
    fn in_order(&self) -> impl Iterator<Item = ItemHash> + '_ {
        let mut rest: Vec<_> = self.by_share.iter().map(|hashes| hashes.iter()).collect();
        let mut shares = self.shares.iter();
        let is_sorted = !self.shares.is_empty();
        std::iter::from_fn(move || {
            let share = match is_sorted {
                true => usize::from(*shares.next()?),
                false => 0,
            };
            rest.get_mut(share)?.next().copied()
        })
    }
}

/// What does not change from round to round.
struct Round<'a> {
    blocks: &'a Blocks,
    framing: Framing,
    seed: Seed,
    threads: usize,
    most_items: u64,
}

impl Round<'_> {
    /// Hashes the next blocks, in place of those of the round before. Returns the number of items,
    /// 0 at the end.
    fn hash(&self, routes: Option<Routes>, all: &mut Vec<Hashed>) -> Result<u64, Error> {
        let spare = Mutex::new(std::mem::take(all));
        let (done, items) = (Mutex::new(Vec::new()), AtomicU64::new(0));
        on_each_thread(self.threads, || {
            let mut block = Block::default();
            while items.load(Ordering::Relaxed) < self.most_items {
                let Some(number) = self.blocks.next(&mut block)? else {
                    break;
                };
                let mut hashed = lock(&spare).pop().unwrap_or_default();
                hashed.number = number;
                hashed.fill(block.items(self.framing), self.seed, routes);
                let count: usize = hashed.by_share.iter().map(Vec::len).sum();
                items.fetch_add(count as u64, Ordering::Relaxed);
                lock(&done).push(hashed);
            }
            Ok(())
        })?;
        *all = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort_unstable_by_key(|hashed| hashed.number);
        Ok(items.into_inner())
    }

    /// Adds the hashed items to their shares.
    fn add(&self, shares: &mut [Share], all: &[Hashed]) -> Result<(), Error> {
        let shares = Mutex::new(shares.iter_mut().enumerate());
        on_each_thread(self.threads, || loop {
            let Some((number, share)) = lock(&shares).next() else {
                return Ok(());
            };
            for hashed in all {
                share.add(hashed.of_share(number)).map_err(refused)?;
            }
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs it on that many threads; returns the first error.
fn on_each_thread(threads: usize, run: impl Fn() -> Result<(), Error> + Sync) -> Result<(), Error> {
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(&run)).collect();
        let own = run();
        others.into_iter().fold(own, |all, other| {
            let panicked = |_| Err(Error::Contents("a thread panicked".into()));
            all.and(other.join().unwrap_or_else(panicked))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Source;
    use splitbloom_filter::{Growth, Parameters};
    use std::fs;

    #[test]
    fn any_number_of_threads_builds_the_filter_of_one() {
        let path = std::env::temp_dir().join(format!("splitbloom-bulk-{}", std::process::id()));
        let lines: String = (0..1_200_000u64)
            .map(|n| format!("https://example.com/{}\n", n * n % 1_000_003))
            .collect();
        fs::write(&path, lines).unwrap();
        // Divided to the end; full, with a table behind; small; a table from the start.
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
                let blocks = Blocks::new(
                    Framing::Lines,
                    vec![Source::File(path.clone())],
                    indicatif::ProgressBar::hidden(),
                );
                build(filter, &blocks, Framing::Lines, threads).unwrap()
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
