//! Filters as values of the server: saved, loaded, copied, measured, moved.
//!
//! RDB files, dumps and the append-only file all hold the same chain of chunks of at most 1 MiB
//! (see [`splitbloom_filter::codec`]); the append-only file has them as BF.LOADCHUNK commands.

use crate::server::allocator::usable_size;
use crate::server::context::Context;
use crate::server::data_type::{self, methods, AofTarget, Defrag, RdbSource, RdbTarget, Value};
use crate::server::log::warn;
use crate::server::Refused;
use crate::stats;
use redis_module::native_types::RedisType;
use splitbloom_filter::codec::{chunks, load_chunk, Chunk, Outline, MAX_CHUNK_BYTES};
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::filter::{Filter, SizeLimit};
use splitbloom_filter::storage::Mover;
use std::alloc::Layout;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};

/// The encoding version that is written. A server stores ten bits of it. RedisBloom's type has the
/// same name and the lower half of the versions, so its filters can be told apart,
/// and one day read.
const ENCODING_VERSION: i32 = 512;

/// RedisBloom's name: this module replaces RedisBloom, and so does its type.
const NAME: &str = "MBbloom--";

static BLOOM_TYPE: RedisType = RedisType::new(NAME, ENCODING_VERSION, methods::<StoredFilter>());

/// Registers the type.
///
/// # Errors
/// The server already has a type of this name.
pub fn register(context: &Context) -> Result<(), Refused> {
    data_type::register(context, NAME, &BLOOM_TYPE)
}

/// A filter that the server keeps.
pub struct StoredFilter {
    filter: Filter,
}

impl StoredFilter {
    pub fn new(filter: Filter) -> Self {
        stats::filter_created();
        Self { filter }
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn filter_mut(&mut self) -> &mut Filter {
        &mut self.filter
    }
}

impl Drop for StoredFilter {
    fn drop(&mut self) {
        stats::filter_freed();
    }
}

/// Chunks are written here before the server copies them, so that saving never lacks memory: where
/// the server saves in its own process, a module cannot make SAVE or DUMP fail. The buffer costs
/// nothing before the first save, which touches as many pages as its largest chunk has.
static BUFFER: Mutex<[u8; MAX_CHUNK_BYTES]> = Mutex::new([0; MAX_CHUNK_BYTES]);

/// Calls `take` with each chunk.
fn for_each_chunk(filter: &Filter, mut take: impl FnMut(&Outline<'_>, &[u8])) {
    let mut buffer = BUFFER.lock().unwrap_or_else(PoisonError::into_inner);
    for chunk in chunks(filter) {
        take(&chunk, chunk.write_into(&mut buffer));
    }
}

/// Reads chunks up to the last one.
fn load_chunks(source: &mut RdbSource) -> Result<Filter, DecodeError> {
    let mut filter: Option<Filter> = None;
    loop {
        let string = source.load_string().ok_or(DecodeError::Length)?;
        let chunk = Chunk::parse(string.bytes())?;
        let begun = load_chunk(filter.as_mut(), &chunk, SizeLimit::Unlimited)?;
        filter = begun.or(filter);
        if chunk.is_last() {
            return filter.ok_or(DecodeError::Order);
        }
    }
}

impl Value for StoredFilter {
    fn native() -> &'static RedisType {
        &BLOOM_TYPE
    }

    fn load(source: &mut RdbSource, version: i32) -> Option<Self> {
        if version != ENCODING_VERSION {
            warn(format_args!(
                "refused a filter in encoding version {version}: this module reads version {ENCODING_VERSION}"
            ));
            return None;
        }
        match load_chunks(source) {
            Ok(filter) => Some(Self::new(filter)),
            Err(error) => {
                warn(format_args!("refused a filter: {error}"));
                None
            }
        }
    }

    fn save(&self, target: &mut RdbTarget) {
        for_each_chunk(&self.filter, |_, bytes| target.save_string(bytes));
    }

    fn rewrite(&self, target: &mut AofTarget) {
        for_each_chunk(&self.filter, |chunk, bytes| {
            target.emit(c"BF.LOADCHUNK", chunk.next(), bytes);
        });
    }

    fn memory_usage(&self) -> usize {
        // A filter has allocations of a few sizes only: ask the allocator once for each.
        let mut known: HashMap<Layout, usize> = HashMap::new();
        let mut usable = |layout| *known.entry(layout).or_insert_with(|| usable_size(layout));
        let mut bytes = usable(Layout::new::<Self>());
        self.filter
            .visit_allocations(|layout, times| bytes += usable(layout) * times as usize);
        bytes
    }

    fn free_effort(&self) -> usize {
        // The server frees values that take more than 64 steps on its background thread.
        self.filter.allocated_segments() as usize + self.filter.sub_filters().len()
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

/// Passes the filter's memory through the server's defragmentation.
struct Defragmenting<'a>(&'a Defrag);

impl Mover for Defragmenting<'_> {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        self.0.relocate(elements)
    }

    fn should_stop(&mut self) -> bool {
        self.0.should_stop()
    }
}
