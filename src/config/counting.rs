//! The settings of counting filters.
//!
//! | setting | default | range |
//! |---|---|---|
//! | `cf.error-rate` | 0.01 | above 0, below 1 |
//! | `cf.initial-size` | 1024 | 1 … 2^40 |
//!
//! On servers before Redis 8, and on Valkey, a setting begins with the module's name, so there
//! these are `bf.cf-error-rate` and `bf.cf-initial-size` (see [`settings`]).
//!
//! Where any name is allowed, there are RedisBloom's others, too, so that its configuration files
//! are accepted: `cf-bucket-size`, `cf-max-iterations`, `cf-expansion-factor`, `cf-max-expansions`.
//! A filter reports the first three. They decide nothing, except that a filter with an expansion
//! factor of 0 does not grow.
//!
//! `bf.max-filter-bytes` holds for counting filters, too.

use super::set_error_rate;
use crate::server::context::Context;
use crate::server::settings::{self, Integer, Text};
use crate::server::Refused;
use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::filter::counting::{CountingParameters, MAX_BUCKET_SIZE, MAX_EXPANSION};
use splitbloom_filter::hash::Seed;
use splitbloom_grammar::load_arguments::{
    LoadArguments, ERROR_RATE, MAX_EXPANSIONS, MOST_EXPANSIONS,
};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

// RedisBloom's defaults, except for the error rate, which it does not have.
const INITIAL_SIZE: i64 = 1024;
const BUCKET_SIZE: i64 = 2;
const MAX_ITERATIONS: i64 = 20;
const EXPANSION: i64 = 1;

static ERROR_RATE_BITS: AtomicU64 = AtomicU64::new(ERROR_RATE.to_bits());
static CAPACITY: AtomicI64 = AtomicI64::new(INITIAL_SIZE);
static BUCKETS: AtomicI64 = AtomicI64::new(BUCKET_SIZE);
static ITERATIONS: AtomicI64 = AtomicI64::new(MAX_ITERATIONS);
static FACTOR: AtomicI64 = AtomicI64::new(EXPANSION);
static EXPANSIONS: AtomicI64 = AtomicI64::new(MAX_EXPANSIONS);

static CAPACITY_SETTING: Integer = Integer {
    default: INITIAL_SIZE,
    min: MIN_CAPACITY as i64,
    max: MAX_CAPACITY as i64,
    is_memory: false,
    get: || CAPACITY.load(Ordering::Relaxed),
    set: |size| CAPACITY.store(size, Ordering::Relaxed),
};

static BUCKETS_SETTING: Integer = Integer {
    default: BUCKET_SIZE,
    min: 1,
    max: MAX_BUCKET_SIZE as i64,
    is_memory: false,
    get: || BUCKETS.load(Ordering::Relaxed),
    set: |size| BUCKETS.store(size, Ordering::Relaxed),
};

static ITERATIONS_SETTING: Integer = Integer {
    default: MAX_ITERATIONS,
    min: 1,
    max: u16::MAX as i64,
    is_memory: false,
    get: || ITERATIONS.load(Ordering::Relaxed),
    set: |most| ITERATIONS.store(most, Ordering::Relaxed),
};

static FACTOR_SETTING: Integer = Integer {
    default: EXPANSION,
    min: 0,
    max: MAX_EXPANSION as i64,
    is_memory: false,
    get: || FACTOR.load(Ordering::Relaxed),
    set: |factor| FACTOR.store(factor, Ordering::Relaxed),
};

fn error_rate() -> f64 {
    f64::from_bits(ERROR_RATE_BITS.load(Ordering::Relaxed))
}

/// The parameters of a filter that an add creates.
pub fn defaults(seed: Seed) -> CountingParameters {
    // The ranges of the settings fit 16 bits.
    let small = |setting: &AtomicI64| setting.load(Ordering::Relaxed) as u16;
    CountingParameters {
        error_rate: error_rate(),
        capacity: CAPACITY.load(Ordering::Relaxed).unsigned_abs(),
        expansion: small(&FACTOR),
        bucket_size: small(&BUCKETS),
        max_iterations: small(&ITERATIONS),
        seed,
    }
}

/// Registers the settings, with the load argument as a default.
///
/// # Errors
/// The server refused a name.
pub(super) fn register(context: &Context, arguments: LoadArguments) -> Result<(), Refused> {
    // Settings live as long as the process: a module with a data type cannot be unloaded.
    let rate: &'static Text = Box::leak(Box::new(Text::new(
        ERROR_RATE.to_string(),
        || error_rate().to_string(),
        |text| set_error_rate(&ERROR_RATE_BITS, text),
    )));
    settings::register_text(context, "bf.cf.error-rate", rate)?;
    let register = |name, setting| settings::register_integer(context, name, setting);
    register("bf.cf.initial-size", &CAPACITY_SETTING)?;
    if !settings::allows_any_prefix() {
        return Ok(());
    }
    register("bf.cf.bucket-size", &BUCKETS_SETTING)?;
    register("bf.cf.max-iterations", &ITERATIONS_SETTING)?;
    register("bf.cf.expansion-factor", &FACTOR_SETTING)?;
    let expansions: &'static Integer = Box::leak(Box::new(Integer {
        default: arguments.max_expansions,
        min: 1,
        max: MOST_EXPANSIONS as i64,
        is_memory: false,
        get: || EXPANSIONS.load(Ordering::Relaxed),
        set: |most| EXPANSIONS.store(most, Ordering::Relaxed),
    }));
    register("bf.cf.max-expansions", expansions)
}
