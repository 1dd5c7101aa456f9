//! The two families of filters, and the names under which servers keep their values.

use super::origin::{OfOrigin, Origin, OURS};
use super::stored::{Family, Stored};
use splitbloom_filter::foreign::{cuckoo, redisbloom, valkey};
use splitbloom_filter::hash::Seed;
use splitbloom_filter::{DecodeError, Filter, Kind, SizeLimit, StoredType};
use splitbloom_server::context::Context;
use splitbloom_server::data_type::{self, NativeType, RdbSource};
use splitbloom_server::entry::Refused;
use std::ffi::CStr;
use std::ops::RangeInclusive;

/// The filters of BF.*: Bloom filters, with a window or without.
pub struct BloomFilters;
/// The filters of CF.*, which count copies and delete them.
pub struct CountingFilters;

pub type BloomFilter = Stored<BloomFilters>;
pub type CountingFilter = Stored<CountingFilters>;

static BLOOM: [NativeType<BloomFilter>; 2] = [native::<RedisBloom>(), native::<ValkeyBloom>()];
static COUNTING: [NativeType<CountingFilter>; 1] = [native::<RedisBloomCuckoo>()];

/// The type of values that we or `O` saved.
const fn native<O: Origin>() -> NativeType<Stored<O::Family>> {
    NativeType::new::<OfOrigin<O>>(O::TYPE.name(), OURS as i32)
}

/// Registers the types of both families.
///
/// # Errors
/// The server already has a type of one of these names.
pub fn register(context: &Context) -> Result<(), Refused> {
    data_type::register::<BloomFilter>(context)?;
    data_type::register::<CountingFilter>(context)
}

impl Family for BloomFilters {
    const LOAD_CHUNK: &'static CStr = c"BF.LOADCHUNK";
    const LOAD_CHUNK_EVENT: &'static CStr = c"bf.loadchunk";
    const CLEAR_EVENT: &'static CStr = c"bf.clear";
    const BEGIN: fn(&[u8], Seed, SizeLimit) -> Result<Filter, DecodeError> =
        Filter::begin_redisbloom;

    fn natives() -> &'static [NativeType<BloomFilter>] {
        &BLOOM
    }

    fn takes(kind: Kind) -> bool {
        kind != Kind::Counting
    }
}

impl Family for CountingFilters {
    const LOAD_CHUNK: &'static CStr = c"CF.LOADCHUNK";
    const LOAD_CHUNK_EVENT: &'static CStr = c"cf.loadchunk";
    const CLEAR_EVENT: &'static CStr = c"cf.clear";
    const BEGIN: fn(&[u8], Seed, SizeLimit) -> Result<Filter, DecodeError> = Filter::begin_cuckoo;

    fn natives() -> &'static [NativeType<CountingFilter>] {
        &COUNTING
    }

    fn takes(kind: Kind) -> bool {
        kind == Kind::Counting
    }
}

/// RedisBloom's Bloom filters. Their type has the same name as ours.
struct RedisBloom;

impl Origin for RedisBloom {
    type Family = BloomFilters;
    const TYPE: StoredType = StoredType::Bloom;
    const WRITER: &'static str = "RedisBloom";
    const VERSIONS: RangeInclusive<u32> = redisbloom::VERSIONS;
    const WAY_OUT: &'static str = OUT_OF_REDISBLOOM;
    const LOAD: fn(u32, &mut RdbSource) -> Result<Filter, DecodeError> = Filter::load_redisbloom;
}

/// valkey-bloom's filters. A value loaded under their type's name keeps it, as the server cannot
/// change it. It is a filter like any other, and is saved as our chunks. Commands create no value
/// of this type.
struct ValkeyBloom;

impl Origin for ValkeyBloom {
    type Family = BloomFilters;
    const TYPE: StoredType = StoredType::ValkeyBloom;
    const WRITER: &'static str = "valkey-bloom";
    const VERSIONS: RangeInclusive<u32> = valkey::VERSION as u32..=valkey::VERSION as u32;
    const WAY_OUT: &'static str = "Update splitbloom, or add the items to new filters";
    const LOAD: fn(u32, &mut RdbSource) -> Result<Filter, DecodeError> = Filter::load_valkey;
}

/// RedisBloom's cuckoo filters. Their type has the same name as that of our counting filters.
struct RedisBloomCuckoo;

impl Origin for RedisBloomCuckoo {
    type Family = CountingFilters;
    const TYPE: StoredType = StoredType::Counting;
    const WRITER: &'static str = "RedisBloom";
    const VERSIONS: RangeInclusive<u32> = cuckoo::VERSIONS;
    const WAY_OUT: &'static str = OUT_OF_REDISBLOOM;
    const LOAD: fn(u32, &mut RdbSource) -> Result<Filter, DecodeError> = Filter::load_cuckoo;
}

/// The advice for a value of a newer RedisBloom.
const OUT_OF_REDISBLOOM: &str =
    "Load the file into a server with that RedisBloom, and move its filters with SCANDUMP and \
     LOADCHUNK, or update splitbloom";
