//! The settings: defaults for filters that clients create without parameters, and the operator's
//! limit.
//!
//! | setting | load argument | default | range |
//! |---|---|---|---|
//! | `bf.error-rate` | `ERROR_RATE` | 0.01 | above 0, below 1 |
//! | `bf.initial-size` | `INITIAL_SIZE` | 100 | 1 … 2^40 |
//! | `bf.expansion-factor` | `EXPANSION` | 2 | 0 (does not grow) … 32768 |
//! | `bf.max-filter-bytes` | – | 0 (no limit) | bytes of one filter, all counted |
//! | `bf.max-pack-bytes` | – | 16 MiB | 1 …, bytes of items in one argument |
//! | `bf.max-merge-bytes` | – | 64 MiB | 1 …, work of one BF.MERGE, in bytes |
//! | `bf.aof-load-damaged` | – | no | whether to load a file of which a command is refused |
//!
//! The defaults are those of RedisBloom. Redis 8 also knows the settings as `bf-error-rate` and so
//! on: see [`settings`]. Those of counting filters are in [`counting`].

pub mod counting;

use crate::server::context::Context;
use crate::server::replay::{loads_damaged_files, set_loads_damaged_files};
use crate::server::settings::{self, Integer, Switch, Text};
use crate::server::Refused;
use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::filter::{Growth, Parameters, SizeLimit, MAX_EXPANSION};
use splitbloom_filter::hash::Seed;
use splitbloom_grammar::load_arguments::{LoadArguments, ERROR_RATE, EXPANSION, INITIAL_SIZE};
use splitbloom_grammar::number::parse_error_rate;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

static ERROR_RATE_BITS: AtomicU64 = AtomicU64::new(ERROR_RATE.to_bits());
static CAPACITY: AtomicI64 = AtomicI64::new(INITIAL_SIZE);
static EXPANSION_FACTOR: AtomicI64 = AtomicI64::new(EXPANSION);
static MAX_FILTER_BYTES: AtomicI64 = AtomicI64::new(0);
static MAX_PACK_BYTES: AtomicI64 = AtomicI64::new(PACK_BYTES);
static MAX_MERGE_BYTES: AtomicI64 = AtomicI64::new(MERGE_BYTES);

/// The default of the most bytes of items in one argument: a million of 16 bytes, as many as the
/// server takes in arguments of their own.
const PACK_BYTES: i64 = 16 << 20;
/// The default of the most work of one BF.MERGE: what takes some tens of milliseconds.
const MERGE_BYTES: i64 = 64 << 20;

/// The error rate of a filter created without one.
pub fn error_rate() -> f64 {
    f64::from_bits(ERROR_RATE_BITS.load(Ordering::Relaxed))
}

/// The growth of a filter created without one.
pub fn growth() -> Growth {
    Growth::from_factor(u32::try_from(EXPANSION_FACTOR.load(Ordering::Relaxed)).unwrap_or(0))
}

/// The parameters of a filter that an add creates.
pub fn defaults(seed: Seed) -> Parameters {
    Parameters {
        error_rate: error_rate(),
        capacity: CAPACITY.load(Ordering::Relaxed).unsigned_abs(),
        growth: growth(),
        seed,
    }
}

/// The size limit for the running command. Commands from the primary or the append-only file have
/// run before and are never refused.
pub fn size_limit(context: &Context) -> SizeLimit {
    match MAX_FILTER_BYTES.load(Ordering::Relaxed) {
        0 => SizeLimit::Unlimited,
        _ if context.is_replay() => SizeLimit::Replay,
        bytes => SizeLimit::Bytes(bytes.unsigned_abs()),
    }
}

/// The most bytes of packed items that the running command may have. Commands from the primary or
/// the append-only file have run before and are never refused.
pub fn max_pack_bytes(context: &Context) -> u64 {
    match MAX_PACK_BYTES.load(Ordering::Relaxed) {
        _ if context.is_replay() => u64::MAX,
        bytes => bytes.unsigned_abs(),
    }
}

/// The most work that merging filters may be for the running command, in bytes, with the same
/// exception.
pub fn max_merge_bytes(context: &Context) -> u64 {
    match MAX_MERGE_BYTES.load(Ordering::Relaxed) {
        _ if context.is_replay() => u64::MAX,
        bytes => bytes.unsigned_abs(),
    }
}

fn set_error_rate(bits: &AtomicU64, text: &str) -> Result<(), &'static str> {
    let rate = parse_error_rate(text.as_bytes())
        .map_err(|_| "the error rate must be above 0 and below 1")?;
    bits.store(rate.to_bits(), Ordering::Relaxed);
    Ok(())
}

/// Registers all settings, with the load arguments as their defaults, and sets them from the
/// server's configuration file.
///
/// # Errors
/// The server refused a name or a value.
pub fn register(context: &Context, arguments: LoadArguments) -> Result<(), Refused> {
    // Settings live as long as the process: a module with a data type cannot be unloaded.
    let rate: &'static Text = Box::leak(Box::new(Text::new(
        arguments.error_rate.to_string(),
        || error_rate().to_string(),
        |text| set_error_rate(&ERROR_RATE_BITS, text),
    )));
    let size: &'static Integer = Box::leak(Box::new(Integer {
        default: arguments.initial_size,
        min: MIN_CAPACITY as i64,
        max: MAX_CAPACITY as i64,
        is_memory: false,
        get: || CAPACITY.load(Ordering::Relaxed),
        set: |size| CAPACITY.store(size, Ordering::Relaxed),
    }));
    let factor: &'static Integer = Box::leak(Box::new(Integer {
        default: arguments.expansion,
        min: 0,
        max: i64::from(MAX_EXPANSION),
        is_memory: false,
        get: || EXPANSION_FACTOR.load(Ordering::Relaxed),
        set: |factor| EXPANSION_FACTOR.store(factor, Ordering::Relaxed),
    }));
    static LIMIT: Integer = Integer {
        default: 0,
        min: 0,
        max: i64::MAX,
        is_memory: true,
        get: || MAX_FILTER_BYTES.load(Ordering::Relaxed),
        set: |value| MAX_FILTER_BYTES.store(value, Ordering::Relaxed),
    };
    static PACK_LIMIT: Integer = Integer {
        default: PACK_BYTES,
        min: 1,
        max: i64::MAX,
        is_memory: true,
        get: || MAX_PACK_BYTES.load(Ordering::Relaxed),
        set: |value| MAX_PACK_BYTES.store(value, Ordering::Relaxed),
    };
    static MERGE_LIMIT: Integer = Integer {
        default: MERGE_BYTES,
        min: 1,
        max: i64::MAX,
        is_memory: true,
        get: || MAX_MERGE_BYTES.load(Ordering::Relaxed),
        set: |value| MAX_MERGE_BYTES.store(value, Ordering::Relaxed),
    };
    static LOAD_DAMAGED: Switch = Switch {
        default: false,
        get: loads_damaged_files,
        set: set_loads_damaged_files,
    };
    settings::register_text(context, "bf.error-rate", rate)?;
    settings::register_integer(context, "bf.initial-size", size)?;
    settings::register_integer(context, "bf.expansion-factor", factor)?;
    settings::register_integer(context, "bf.max-filter-bytes", &LIMIT)?;
    settings::register_integer(context, "bf.max-pack-bytes", &PACK_LIMIT)?;
    settings::register_integer(context, "bf.max-merge-bytes", &MERGE_LIMIT)?;
    settings::register_switch(context, "bf.aof-load-damaged", &LOAD_DAMAGED)?;
    counting::register(context, arguments)?;
    settings::load(context)
}
