//! Filters as values of the server: saved, loaded, copied, measured, moved.
//!
//! RDB files, dumps and the append-only file all hold the same chain of chunks of at most 1 MiB
//! (see [`splitbloom_filter::codec`]); the append-only file has them as BF.LOADCHUNK commands.

use super::chunks::{load, rewrite, save, SavedFields};
use super::memory::{usable_bytes, Defragmenting};
use super::refusals::Origin;
use super::timetable::Timetable;
use crate::stats;
use crate::types::Stored;
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::foreign::redisbloom::VERSIONS;
use splitbloom_filter::foreign::valkey::VERSION;
use splitbloom_filter::hash::Seed;
use splitbloom_filter::{Filter, Kind, SizeLimit, StoredType};
use splitbloom_server::arguments::Argument;
use splitbloom_server::context::Context;
use splitbloom_server::data_type::{
    AofTarget, CopyTarget, Defrag, Load, NativeType, RdbSource, RdbTarget, Value,
};
use splitbloom_server::entry::Refused;
use splitbloom_server::location::Location;
use splitbloom_server::thread::ServerThread;
use std::ffi::CStr;
use std::num::NonZeroU64;

/// The encoding version that is written. A server stores ten bits of it. RedisBloom's type has the
/// same name and the lower half of the versions, of which it has used [`VERSIONS`].
const OURS: u32 = 512;

static BLOOM_TYPE: NativeType<StoredFilter> =
    NativeType::new::<FromRedisBloom>(StoredType::Bloom.name(), OURS as i32);

/// valkey-bloom's type. A value that comes under its name keeps it, as the server has no way to
/// give it another: it is a filter like any other, and what is saved of it are our chunks. Commands
/// create no value of this type.
static VALKEY_TYPE: NativeType<StoredFilter> =
    NativeType::new::<FromValkeyBloom>(StoredType::ValkeyBloom.name(), OURS as i32);

const REDISBLOOM: Origin = Origin {
    name: StoredType::Bloom.name(),
    writer: "RedisBloom",
    versions: VERSIONS,
    ours: OURS,
    way_out: Origin::WAY_OUT_OF_REDISBLOOM,
};

const VALKEY_BLOOM: Origin = Origin {
    name: StoredType::ValkeyBloom.name(),
    writer: "valkey-bloom",
    versions: VERSION as u32..=VERSION as u32,
    ours: OURS,
    way_out: "Update splitbloom, or add the items to new filters",
};

/// Registers both types.
///
/// # Errors
/// The server already has a type of one of these names.
pub fn register(context: &Context) -> Result<(), Refused> {
    BLOOM_TYPE.register(context)?;
    VALKEY_TYPE.register(context)
}

/// Values of RedisBloom's type, which is ours, too.
struct FromRedisBloom;

impl Load<StoredFilter> for FromRedisBloom {
    fn load(source: &mut RdbSource, version: i32) -> Option<StoredFilter> {
        StoredFilter::load(source, version, &REDISBLOOM, |version, source| {
            Filter::load_redisbloom(version, &mut SavedFields(source))
        })
    }
}

/// Values of valkey-bloom's type.
struct FromValkeyBloom;

impl Load<StoredFilter> for FromValkeyBloom {
    fn load(source: &mut RdbSource, version: i32) -> Option<StoredFilter> {
        StoredFilter::load(source, version, &VALKEY_BLOOM, |version, source| {
            Filter::load_valkey(version, &mut SavedFields(source))
        })
    }
}

/// A filter that the server keeps.
pub struct StoredFilter {
    filter: Filter,
}

impl StoredFilter {
    /// Reads a value that `save` wrote, or one that `origin` did, with `load_foreign`.
    fn load(
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
        Some(stored.scheduled(|| source.location(), source.thread()))
    }

    /// Queues a filter that forgets, which the server loads or copies to `location`.
    fn scheduled(
        mut self,
        location: impl FnOnce() -> Option<Location>,
        thread: ServerThread,
    ) -> Self {
        if self.filter.window().is_some() {
            Timetable::schedule_at(&mut self.filter, location, thread);
        }
        self
    }
}

impl Stored for StoredFilter {
    const LOAD_CHUNK: &'static CStr = c"BF.LOADCHUNK";
    const LOAD_CHUNK_EVENT: &'static CStr = c"bf.loadchunk";

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

    fn schedule(&mut self, context: &Context, key: Argument<'_>) {
        if self.filter.window().is_some() {
            Timetable::schedule(&mut self.filter, context, key);
        }
    }
}

impl Drop for StoredFilter {
    fn drop(&mut self) {
        stats::filter_freed();
    }
}

impl Value for StoredFilter {
    fn native() -> &'static NativeType<Self> {
        &BLOOM_TYPE
    }

    fn other_native() -> Option<&'static NativeType<Self>> {
        Some(&VALKEY_TYPE)
    }

    fn save(&self, target: &mut RdbTarget) {
        save(&self.filter, target);
    }

    fn rewrite(&self, target: &mut AofTarget) {
        rewrite(&self.filter, target, Self::LOAD_CHUNK);
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
        copy.map(|copy| copy.scheduled(|| to.location(), to.thread()))
    }

    fn digest(&self) -> u128 {
        self.filter.digest()
    }

    fn defragment(&mut self, defrag: &Defrag, from: u64) -> Option<NonZeroU64> {
        self.filter.relocate(from, &mut Defragmenting(defrag))
    }
}
