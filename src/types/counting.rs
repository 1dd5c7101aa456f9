//! Counting filters as values of the server.

use super::chunks::{load, rewrite, save, SavedFields};
use super::memory::{usable_bytes, Defragmenting};
use super::refusals::Origin;
use crate::stats;
use crate::types::Stored;
use splitbloom_filter::foreign::cuckoo::VERSIONS;
use splitbloom_filter::hash::Seed;
use splitbloom_filter::{DecodeError, Filter, Kind, SizeLimit, StoredType};
use splitbloom_server::context::Context;
use splitbloom_server::data_type::{
    AofTarget, CopyTarget, Defrag, Load, NativeType, RdbSource, RdbTarget, Value,
};
use splitbloom_server::entry::Refused;
use std::ffi::CStr;
use std::num::NonZeroU64;

/// The encoding version that is written. RedisBloom's type has the same name and the lower half of
/// the versions, of which it has used [`VERSIONS`].
const OURS: u32 = 512;

static COUNTING_TYPE: NativeType<StoredCountingFilter> =
    NativeType::new::<FromRedisBloom>(StoredType::Counting.name(), OURS as i32);

const ORIGIN: Origin = Origin {
    name: StoredType::Counting.name(),
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
    COUNTING_TYPE.register(context)
}

/// Values of RedisBloom's type, which is ours, too.
struct FromRedisBloom;

impl Load<StoredCountingFilter> for FromRedisBloom {
    fn load(source: &mut RdbSource, version: i32) -> Option<StoredCountingFilter> {
        let loaded = match u32::try_from(version) {
            Ok(OURS) => load(source, StoredCountingFilter::takes),
            Ok(version) if VERSIONS.contains(&version) => {
                Filter::load_cuckoo(version, &mut SavedFields(source))
            }
            _ => {
                ORIGIN.refuse_version(version, source.shown_key());
                return None;
            }
        };
        let loaded = loaded.map_err(|error| ORIGIN.refuse(version, error, source.shown_key()));
        loaded.ok().map(StoredCountingFilter::new)
    }
}

/// A counting filter that the server keeps.
pub struct StoredCountingFilter {
    filter: Filter,
}

impl Stored for StoredCountingFilter {
    const LOAD_CHUNK: &'static CStr = c"CF.LOADCHUNK";
    const LOAD_CHUNK_EVENT: &'static CStr = c"cf.loadchunk";

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
        kind == Kind::Counting
    }

    fn begin(header: &[u8], seed: Seed, limit: SizeLimit) -> Result<Filter, DecodeError> {
        Filter::begin_cuckoo(header, seed, limit)
    }

    fn size(&self) -> u64 {
        let besides = usable_bytes::<Self>(|visit| self.filter.visit_besides_pages(visit));
        (besides as u64).saturating_add(self.filter.bytes_of_pages())
    }
}

impl Drop for StoredCountingFilter {
    fn drop(&mut self) {
        stats::filter_freed();
    }
}

impl Value for StoredCountingFilter {
    fn native() -> &'static NativeType<Self> {
        &COUNTING_TYPE
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

    fn try_copy(&mut self, _to: &CopyTarget) -> Option<Self> {
        self.filter.try_clone().ok().map(Self::new)
    }

    fn digest(&self) -> u128 {
        self.filter.digest()
    }

    fn defragment(&mut self, defrag: &Defrag, from: u64) -> Option<NonZeroU64> {
        self.filter.relocate(from, &mut Defragmenting(defrag))
    }
}
