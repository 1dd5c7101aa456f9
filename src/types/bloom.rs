//! Filters as values of the server: saved, loaded, copied, measured, moved.
//!
//! RDB files, dumps and the append-only file all hold the same chain of chunks of at most 1 MiB
//! (see [`splitbloom_filter::codec`]); the append-only file has them as BF.LOADCHUNK commands.

use super::chunks::{load, rewrite, save};
use super::memory::{usable_bytes, Defragmenting};
use super::refusals::{refuse, refuse_version};
use crate::server::context::Context;
use crate::server::data_type::{self, methods, AofTarget, Defrag, RdbSource, RdbTarget, Value};
use crate::server::Refused;
use crate::stats;
use crate::types::Stored;
use redis_module::native_types::RedisType;
use splitbloom_filter::foreign::rdb::VERSIONS;
use splitbloom_filter::foreign::ForeignFilter;
use splitbloom_filter::AnyFilter;
use std::num::NonZeroU64;

/// The encoding version that is written. A server stores ten bits of it. RedisBloom's type has the
/// same name and the lower half of the versions, of which it has used [`VERSIONS`].
const OURS: u32 = 512;

/// RedisBloom's name: this module replaces RedisBloom, and so does its type.
const NAME: &str = "MBbloom--";

static BLOOM_TYPE: RedisType = RedisType::new(NAME, OURS as i32, methods::<StoredFilter>());

/// Registers the type.
///
/// # Errors
/// The server already has a type of this name.
pub fn register(context: &Context) -> Result<(), Refused> {
    data_type::register(context, NAME, &BLOOM_TYPE)
}

/// A filter that the server keeps.
pub struct StoredFilter {
    filter: AnyFilter,
}

impl Stored for StoredFilter {
    type Filter = AnyFilter;

    fn new(filter: AnyFilter) -> Self {
        stats::filter_created();
        Self { filter }
    }

    fn filter(&self) -> &AnyFilter {
        &self.filter
    }

    fn filter_mut(&mut self) -> &mut AnyFilter {
        &mut self.filter
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

    fn load(source: &mut RdbSource, version: i32) -> Option<Self> {
        let loaded = match u32::try_from(version) {
            Ok(OURS) => load(source),
            Ok(version) if VERSIONS.contains(&version) => {
                ForeignFilter::load(version, source).and_then(AnyFilter::foreign)
            }
            _ => {
                refuse_version(NAME, version, VERSIONS, OURS);
                return None;
            }
        };
        let loaded = loaded.map_err(|error| refuse(NAME, version, error));
        loaded.ok().map(Self::new)
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

    fn try_copy(&mut self) -> Option<Self> {
        self.filter.try_clone().ok().map(Self::new)
    }

    fn digest(&self) -> u128 {
        self.filter.digest()
    }

    fn defragment(&mut self, defrag: &Defrag, from: u64) -> Option<NonZeroU64> {
        self.filter.relocate(from, &mut Defragmenting(defrag))
    }
}
