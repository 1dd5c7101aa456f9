//! Bloom filters of valkey-bloom, whose type has another name. A value that comes under that name
//! keeps it, as the server has no way to give it another: it is a filter like any other, and what
//! is saved of it are our chunks. Commands create no value of this type.

use super::bloom::{StoredFilter, OURS};
use super::refusals::Origin;
use crate::server::context::Context;
use crate::server::data_type::{self, methods, Load, RdbSource};
use crate::server::Refused;
use redis_module::native_types::RedisType;
use splitbloom_filter::foreign::valkey::VERSION;
use splitbloom_filter::{Filter, StoredType};

const NAME: &str = StoredType::ValkeyBloom.name();

/// The type, registered in addition to that of new filters.
pub static VALKEY_TYPE: RedisType = RedisType::new(
    NAME,
    OURS as i32,
    methods::<StoredFilter, FromValkeyBloom>(),
);

const ORIGIN: Origin = Origin {
    name: NAME,
    writer: "valkey-bloom",
    versions: VERSION as u32..=VERSION as u32,
    ours: OURS,
    way_out: "Update splitbloom, or add the items to new filters",
};

/// Registers the type.
///
/// # Errors
/// The server already has a type of this name.
pub fn register(context: &Context) -> Result<(), Refused> {
    data_type::register(context, NAME, &VALKEY_TYPE)
}

/// Values of valkey-bloom's type.
struct FromValkeyBloom;

impl Load<StoredFilter> for FromValkeyBloom {
    fn load(source: &mut RdbSource, version: i32) -> Option<StoredFilter> {
        StoredFilter::load(source, version, &ORIGIN, Filter::load_valkey)
    }
}
