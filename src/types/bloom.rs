//! Filters as values of the server: saved, loaded, copied, measured, moved.
//!
//! RDB files, dumps and the append-only file all hold the same chain of chunks of at most 1 MiB
//! (see [`splitbloom_filter::codec`]); the append-only file has them as BF.LOADCHUNK commands.

use super::chunks::{load, rewrite, save};
use super::memory::{usable_bytes, Defragmenting};
use super::refusals::Origin;
use super::valkey::VALKEY_TYPE;
use crate::server::arguments::Argument;
use crate::server::clock::time_now;
use crate::server::context::Context;
use crate::server::data_type::{
    self, methods, AofTarget, CopyTarget, Defrag, Load, RdbSource, RdbTarget, Value,
};
use crate::server::place::Place;
use crate::server::thread::ServerThread;
use crate::server::Refused;
use crate::stats;
use crate::sweeper::changes::next_signal;
use crate::sweeper::queue::{Origin as Home, Queue, Ticket, CHANGES, SWEEPS};
use crate::types::Stored;
use redis_module::native_types::RedisType;
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::foreign::redisbloom::VERSIONS;
use splitbloom_filter::hash::Seed;
use splitbloom_filter::{Filter, Kind, SizeLimit, StoredType};
use std::num::NonZeroU64;

/// The encoding version that is written. A server stores ten bits of it. RedisBloom's type has the
/// same name and the lower half of the versions, of which it has used [`VERSIONS`].
pub(super) const OURS: u32 = 512;

const NAME: &str = StoredType::Bloom.name();

static BLOOM_TYPE: RedisType =
    RedisType::new(NAME, OURS as i32, methods::<StoredFilter, FromRedisBloom>());

const ORIGIN: Origin = Origin {
    name: NAME,
    writer: "RedisBloom",
    versions: VERSIONS,
    ours: OURS,
    way_out: Origin::WAY_OUT_OF_REDISBLOOM,
};

/// Registers the type.
///
/// # Errors
/// The server already has a type of this name.
pub fn register(context: &Context) -> Result<(), Refused> {
    data_type::register(context, NAME, &BLOOM_TYPE)
}

/// Values of RedisBloom's type, which is ours, too.
struct FromRedisBloom;

impl Load<StoredFilter> for FromRedisBloom {
    fn load(source: &mut RdbSource, version: i32) -> Option<StoredFilter> {
        StoredFilter::load(source, version, &ORIGIN, Filter::load_redisbloom)
    }
}

/// When a filter that forgets is to be visited between commands: its attachment.
#[derive(Default)]
pub struct Timetable {
    /// Its place among the filters that are to be swept.
    pub sweep: Option<Ticket>,
    /// Its place among the filters whose lookups will change.
    pub change: Option<Ticket>,
    /// When a client has last supplied the time of its items, in milliseconds since 1970. A sweep
    /// moves the filter's time to the clock's, from where it does not run back, so it waits until a
    /// history is loaded.
    pub told: u64,
}

/// A filter that the server keeps.
pub struct StoredFilter {
    filter: Filter,
}

impl StoredFilter {
    /// Reads a value that `save` wrote, or one that `origin` did, with `load_foreign`.
    pub(super) fn load(
        source: &mut RdbSource,
        version: i32,
        origin: &Origin,
        load_foreign: impl FnOnce(u32, &mut RdbSource) -> Result<Filter, DecodeError>,
    ) -> Option<Self> {
        let loaded = match u32::try_from(version) {
            Ok(OURS) => load(source, Self::takes),
            Ok(version) if origin.versions.contains(&version) => load_foreign(version, source),
            _ => {
                origin.refuse_version(version, source.shown_key());
                return None;
            }
        };
        let loaded = loaded.map_err(|error| origin.refuse(version, error, source.shown_key()));
        let stored = loaded.ok().map(Self::new)?;
        Some(stored.attended(|| source.place(), source.thread()))
    }

    /// As `attend`, for a value that the server loads or copies, and says where it will be.
    fn attended(mut self, place: impl FnOnce() -> Option<Place>, thread: ServerThread) -> Self {
        let filter = &mut self.filter;
        let (sweep, change) = (filter.next_due(), next_signal(filter, time_now()));
        if let (Some(_), Some(place)) = (sweep.or(change), place()) {
            if let Some(timetable) = filter.attachment::<Timetable>() {
                let home = Home::of(place);
                let ticket = |queue, due| Ticket::new(queue, due, home.clone(), thread);
                timetable.sweep = sweep.map(|due| ticket(&SWEEPS, due));
                timetable.change = change.map(|due| ticket(&CHANGES, due));
            }
        }
        self
    }
}

impl Stored for StoredFilter {
    fn new(filter: Filter) -> Self {
        stats::filter_created();
        Self { filter }
    }

    fn filter(&self) -> &Filter {
        &self.filter
    }

    fn filter_mut(&mut self) -> &mut Filter {
        &mut self.filter
    }

    fn takes(kind: Kind) -> bool {
        kind != Kind::Counting
    }

    fn begin(header: &[u8], seed: Seed, limit: SizeLimit) -> Result<Filter, DecodeError> {
        Filter::begin_redisbloom(header, seed, limit)
    }

    fn size(&self) -> u64 {
        let besides = usable_bytes::<Self>(|visit| self.filter.visit_besides_pages(visit));
        (besides as u64).saturating_add(self.filter.bytes_of_pages())
    }

    /// Queues a filter that forgets, if it has something to forget one day and does not wait under
    /// this key already. Cost: nothing for other filters, some 70 ns for one that waits.
    fn attend(&mut self, context: &Context, key: Argument<'_>) {
        if self.filter.window().is_none() {
            return;
        }
        let (database, now) = (context.database(), time_now());
        let (due, signal) = (self.filter.next_due(), next_signal(&self.filter, now));
        let Some(Timetable { sweep, change, .. }) = self.filter.attachment() else {
            return; // without memory it waits for the next command that changes it
        };
        let queue_for = |queue: &'static Queue, ticket: &mut Option<Ticket>, due: Option<u64>| {
            let Some(due) = due else {
                return;
            };
            let leads_here = |ticket: &Ticket| ticket.leads_to(database, key.bytes(), due, now);
            if !ticket.as_ref().is_some_and(leads_here) {
                // Without memory for the name it waits for the next command that changes it.
                let home = context.place_of(key).map(Home::of);
                *ticket = home.map(|home| Ticket::new(queue, due, home, context.thread()));
            }
        };
        queue_for(&SWEEPS, sweep, due);
        queue_for(&CHANGES, change, signal);
    }
}

impl Drop for StoredFilter {
    fn drop(&mut self) {
        stats::filter_freed();
    }
}

impl Value for StoredFilter {
    fn native() -> &'static RedisType {
        &BLOOM_TYPE
    }

    fn other_native() -> Option<&'static RedisType> {
        Some(&VALKEY_TYPE)
    }

    fn save(&self, target: &mut RdbTarget) {
        save(&self.filter, target);
    }

    fn rewrite(&self, target: &mut AofTarget) {
        rewrite(&self.filter, target, c"BF.LOADCHUNK");
    }

    fn memory_usage(&self) -> usize {
        usable_bytes::<Self>(|visit| self.filter.visit_allocations(visit))
    }

    fn free_effort(&self) -> usize {
        // The server frees values that take more than 64 steps on its background thread.
        self.filter.allocations() as usize
    }

    fn try_copy(&mut self, to: &CopyTarget) -> Option<Self> {
        let copy = self.filter.try_clone().ok().map(Self::new);
        copy.map(|copy| copy.attended(|| to.place(), to.thread()))
    }

    fn digest(&self) -> u128 {
        self.filter.digest()
    }

    fn defragment(&mut self, defrag: &Defrag, from: u64) -> Option<NonZeroU64> {
        self.filter.relocate(from, &mut Defragmenting(defrag))
    }
}
