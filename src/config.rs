//! The settings: defaults for filters that clients create without parameters, and the operator's
//! limits. docs/commands.md lists them, with their ranges.
//!
//! The defaults are RedisBloom's, except for the error rate of counting filters, which it lacks.
//! Where any name is allowed, RedisBloom's other settings are registered, too, so that its
//! configuration files are accepted. Those of valkey-bloom are registered everywhere.

mod valkey_bloom;

use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::filter::counting::{self, CountingParameters, MAX_BUCKET_SIZE};
use splitbloom_filter::filter::{Growth, Parameters, SizeLimit, MAX_EXPANSION};
use splitbloom_filter::hash::Seed;
use splitbloom_grammar::load_arguments::{
    LoadArguments, ERROR_RATE, EXPANSION, INITIAL_SIZE, MAX_EXPANSIONS, MOST_EXPANSIONS,
};
use splitbloom_grammar::number::parse_error_rate;
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::replay;
use splitbloom_server::settings::{self, Integer, Setting, Text};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The bits of the error rates.
static BLOOM_RATE: AtomicU64 = AtomicU64::new(ERROR_RATE.to_bits());
static COUNTING_RATE: AtomicU64 = AtomicU64::new(ERROR_RATE.to_bits());

static BLOOM_RATE_SETTING: Text =
    Text::new(|| rate(&BLOOM_RATE).to_string(), |text| set_rate(&BLOOM_RATE, text));
static COUNTING_RATE_SETTING: Text =
    Text::new(|| rate(&COUNTING_RATE).to_string(), |text| set_rate(&COUNTING_RATE, text));

/// Whether a lookup in a missing key is an error, or finds nothing, as in RedisBloom.
static MISSING_KEY_IS_ERROR: AtomicBool = AtomicBool::new(false);
static MISSING_KEY: Text = Text::new(
    || if missing_key_is_error() { "error" } else { "empty" }.to_owned(),
    |text| {
        let is_error = match text {
            "empty" => false,
            "error" => true,
            _ => return Err("it must be empty or error"),
        };
        MISSING_KEY_IS_ERROR.store(is_error, Relaxed);
        Ok(())
    },
);

const fn capacity(value: i64) -> Integer {
    Integer::new(value, MIN_CAPACITY as i64, MAX_CAPACITY as i64)
}

static BLOOM_CAPACITY: Integer = capacity(INITIAL_SIZE);
static BLOOM_EXPANSION: Integer = Integer::new(EXPANSION, 0, MAX_EXPANSION as i64);
static MAX_FILTER_BYTES: Integer = Integer::bytes(0, 0);
/// The limit on the bytes of packed items in one command: by default a million items of 16 bytes,
/// as many as the server takes as separate arguments.
pub static MAX_PACK_BYTES: Integer = Integer::bytes(16 << 20, 1);
/// The limit on the work of one command that merges filters: merging this much takes some tens of
/// milliseconds.
pub static MAX_MERGE_BYTES: Integer = Integer::bytes(64 << 20, 1);
/// The limit on the items in the journal of one filter: 2 MiB of hashes, so at 10^4 new items a
/// second, a follower may be away for ten seconds. At least one piece of a journal.
pub static MAX_FOLLOWED_ITEMS: Integer = Integer::new(128 << 10, 256, MAX_CAPACITY as i64);
/// The limit on the bytes of all journals: 32 filters whose followers may be as far behind as the
/// setting above allows, or 16384 that hardly change.
pub static MAX_JOURNAL_BYTES: Integer = Integer::bytes(64 << 20, 0);
/// How many seconds an idle journal is kept: a follower asks more often than once a minute, or
/// waits.
pub static JOURNAL_IDLE_TIME: Integer = Integer::new(60, 1, 365 * 24 * 60 * 60);
static COUNTING_CAPACITY: Integer = capacity(1024);
static BUCKET_SIZE: Integer = Integer::new(2, 1, MAX_BUCKET_SIZE as i64);
static MAX_ITERATIONS: Integer = Integer::new(20, 1, u16::MAX as i64);
static COUNTING_EXPANSION: Integer = Integer::new(1, 0, counting::MAX_EXPANSION as i64);
static COUNTING_MAX_EXPANSIONS: Integer = Integer::new(MAX_EXPANSIONS, 1, MOST_EXPANSIONS as i64);

static SETTINGS: [(&str, &dyn Setting); 12] = [
    ("bf.error-rate", &BLOOM_RATE_SETTING),
    ("bf.initial-size", &BLOOM_CAPACITY),
    ("bf.expansion-factor", &BLOOM_EXPANSION),
    ("bf.max-filter-bytes", &MAX_FILTER_BYTES),
    ("bf.max-pack-bytes", &MAX_PACK_BYTES),
    ("bf.max-merge-bytes", &MAX_MERGE_BYTES),
    ("bf.max-followed-items", &MAX_FOLLOWED_ITEMS),
    ("bf.max-journal-bytes", &MAX_JOURNAL_BYTES),
    ("bf.journal-idle-time", &JOURNAL_IDLE_TIME),
    ("bf.missing-key", &MISSING_KEY),
    ("bf.cf.error-rate", &COUNTING_RATE_SETTING),
    ("bf.cf.initial-size", &COUNTING_CAPACITY),
];

/// Registered where a setting need not begin with the module's name.
static SETTINGS_OF_REDISBLOOM: [(&str, &dyn Setting); 4] = [
    ("bf.cf.bucket-size", &BUCKET_SIZE),
    ("bf.cf.max-iterations", &MAX_ITERATIONS),
    ("bf.cf.expansion-factor", &COUNTING_EXPANSION),
    ("bf.cf.max-expansions", &COUNTING_MAX_EXPANSIONS),
];

/// Registers all settings, with the load arguments as their defaults, and sets them from the
/// server's configuration file.
///
/// # Errors
/// The server refused a name or a value.
pub fn register(context: &Context, arguments: LoadArguments) -> Result<(), Refused> {
    BLOOM_RATE.store(arguments.error_rate.to_bits(), Relaxed);
    BLOOM_CAPACITY.set(arguments.initial_size);
    BLOOM_EXPANSION.set(arguments.expansion);
    COUNTING_MAX_EXPANSIONS.set(arguments.max_expansions);
    let of_valkey_bloom = valkey_bloom::register_counterparts(context)?;
    let of_redisbloom = SETTINGS_OF_REDISBLOOM.iter().filter(|_| settings::allows_any_prefix());
    for (name, setting) in SETTINGS.iter().chain(of_redisbloom) {
        settings::register(context, name, *setting)?;
    }
    valkey_bloom::register_without_effect(context)?;
    replay::register(context, "bf.aof-load-damaged")?;
    settings::load(context, "bf")?;
    of_valkey_bloom.report(context);
    Ok(())
}

/// Whether a lookup in a missing key is an error.
pub fn missing_key_is_error() -> bool {
    MISSING_KEY_IS_ERROR.load(Relaxed)
}

fn rate(bits: &AtomicU64) -> f64 {
    f64::from_bits(bits.load(Relaxed))
}

fn set_rate(bits: &AtomicU64, text: &str) -> Result<(), &'static str> {
    let rate = parse_error_rate(text.as_bytes())
        .map_err(|_| "the error rate must be above 0 and below 1")?;
    bits.store(rate.to_bits(), Relaxed);
    Ok(())
}

/// The parameters of a Bloom filter that an add creates, with seed `seed`.
pub fn defaults(seed: Seed) -> Parameters {
    Parameters {
        error_rate: rate(&BLOOM_RATE),
        capacity: BLOOM_CAPACITY.get().unsigned_abs(),
        growth: Growth::from_factor(u32::try_from(BLOOM_EXPANSION.get()).unwrap_or(0)),
        seed,
    }
}

/// The parameters of a counting filter that an add creates, with seed `seed`.
pub fn counting_defaults(seed: Seed) -> CountingParameters {
    CountingParameters {
        error_rate: rate(&COUNTING_RATE),
        capacity: COUNTING_CAPACITY.get().unsigned_abs(),
        // The ranges of these settings fit 16 bits.
        expansion: COUNTING_EXPANSION.get() as u16,
        bucket_size: BUCKET_SIZE.get() as u16,
        max_iterations: MAX_ITERATIONS.get() as u16,
        seed,
    }
}

/// The size limit for the commands of clients.
pub fn client_size_limit() -> SizeLimit {
    match MAX_FILTER_BYTES.get() {
        0 => SizeLimit::Unlimited,
        bytes => SizeLimit::Bytes(bytes.unsigned_abs()),
    }
}

/// The size limit for the running command. Commands from the primary or the append-only file have
/// run before and are never refused.
pub fn size_limit(context: &Context) -> SizeLimit {
    match client_size_limit() {
        SizeLimit::Bytes(_) if context.is_replay() => SizeLimit::Replay,
        limit => limit,
    }
}
