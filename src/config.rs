//! The settings: what a filter gets that a client says nothing about, and the limit an operator sets.
//!
//! | setting | load argument | default | range |
//! |---|---|---|---|
//! | `bf.error-rate` | `ERROR_RATE` | 0.01 | above 0, below 1 |
//! | `bf.initial-size` | `INITIAL_SIZE` | 100 | 1 … 2^40 |
//! | `bf.expansion-factor` | `EXPANSION` | 2 | 0 (does not grow) … 32768 |
//! | `bf.max-filter-bytes` | – | 0 (no limit) | bytes of bits of one filter |
//!
//! The defaults are those of RedisBloom. Where the server allows it, the first three are also known as `bf-error-rate`,
//! `bf-initial-size` and `bf-expansion-factor`.

use crate::commands::numbers::{parse_error_rate, parse_integer};
use crate::filter::hash::Seed;
use crate::filter::scalable::{Growth, Parameters, SizeLimit, MAX_EXPANSION};
use crate::filter::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use crate::redis::command::Refused;
use crate::redis::context::Context;
use crate::redis::settings::{self, Integer, Name, Text};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::RwLock;

const ERROR_RATE: f64 = 0.01;
const INITIAL_SIZE: i64 = 100;
const EXPANSION: i64 = 2;

static ERROR_RATE_BITS: AtomicU64 = AtomicU64::new(ERROR_RATE.to_bits());
static CAPACITY: AtomicI64 = AtomicI64::new(INITIAL_SIZE);
static EXPANSION_FACTOR: AtomicI64 = AtomicI64::new(EXPANSION);
static MAX_FILTER_BYTES: AtomicI64 = AtomicI64::new(0);

static DEFAULTS: RwLock<Option<LoadArguments>> = RwLock::new(None);
/// Whether the server has set all settings after loading the module.
static ARE_LOADED: AtomicBool = AtomicBool::new(false);

/// The error rate of a filter whose client names none.
pub fn error_rate() -> f64 {
    f64::from_bits(ERROR_RATE_BITS.load(Ordering::Relaxed))
}

/// The growth of a filter whose client says nothing of it.
pub fn growth() -> Growth {
    Growth::from_factor(u32::try_from(EXPANSION_FACTOR.load(Ordering::Relaxed)).unwrap_or(0))
}

/// What a filter gets that an add makes.
pub fn defaults(seed: Seed) -> Parameters {
    Parameters {
        error_rate: error_rate(),
        capacity: CAPACITY.load(Ordering::Relaxed).unsigned_abs(),
        growth: growth(),
        seed,
    }
}

/// The limit for what the running command makes larger. What comes from the primary or the append-only file has happened
/// already and is never refused.
pub fn size_limit(context: &Context) -> SizeLimit {
    match MAX_FILTER_BYTES.load(Ordering::Relaxed) {
        0 => SizeLimit::Unlimited,
        _ if context.is_replay() => SizeLimit::Unlimited,
        bytes => SizeLimit::Bytes(bytes.unsigned_abs()),
    }
}

/// The defaults that the load arguments leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadArguments {
    pub error_rate: f64,
    pub initial_size: i64,
    pub expansion: i64,
}

impl LoadArguments {
    /// Reads `ERROR_RATE e INITIAL_SIZE n EXPANSION n`, in any order and case.
    ///
    /// # Errors
    /// What is wrong, for the server's log.
    pub fn parse(words: &[&[u8]]) -> Result<Self, String> {
        let mut read = Self {
            error_rate: ERROR_RATE,
            initial_size: INITIAL_SIZE,
            expansion: EXPANSION,
        };
        for pair in words.chunks(2) {
            let name = String::from_utf8_lossy(pair[0]).to_uppercase();
            let bad = || format!("the load argument {name} needs a good value");
            let value = pair.get(1).ok_or_else(bad)?;
            let integer = |most: u64, least: u64| {
                let value = parse_integer(value).and_then(|v| u64::try_from(v).ok());
                value
                    .filter(|v| (least..=most).contains(v))
                    .map(|v| v as i64)
                    .ok_or_else(bad)
            };
            match name.as_str() {
                "ERROR_RATE" => read.error_rate = parse_error_rate(value).map_err(|_| bad())?,
                "INITIAL_SIZE" => read.initial_size = integer(MAX_CAPACITY, MIN_CAPACITY)?,
                "EXPANSION" => read.expansion = integer(u64::from(MAX_EXPANSION), 0)?,
                _ => return Err(format!("unknown load argument {name}")),
            }
        }
        Ok(read)
    }
}

/// Whether a value counts. Having loaded the module, the server sets each setting, under each of its names, to what the
/// configuration file says or else to its default: there the default under one name must not undo what the file says under the
/// other.
fn counts(is_default: impl FnOnce(LoadArguments) -> bool) -> bool {
    let defaults = DEFAULTS.read().ok().and_then(|defaults| *defaults);
    ARE_LOADED.load(Ordering::Relaxed) || !defaults.is_some_and(is_default)
}

fn set_error_rate(text: &str) -> Result<(), &'static str> {
    let rate = parse_error_rate(text.as_bytes())
        .map_err(|_| "the error rate must be above 0 and below 1")?;
    if counts(|defaults| defaults.error_rate == rate) {
        ERROR_RATE_BITS.store(rate.to_bits(), Ordering::Relaxed);
    }
    Ok(())
}

fn set_initial_size(size: i64) {
    if counts(|defaults| defaults.initial_size == size) {
        CAPACITY.store(size, Ordering::Relaxed);
    }
}

fn set_expansion(factor: i64) {
    if counts(|defaults| defaults.expansion == factor) {
        EXPANSION_FACTOR.store(factor, Ordering::Relaxed);
    }
}

/// Registers all settings, with the load arguments as their defaults, and sets them from the server's configuration file.
///
/// # Errors
/// A name or a value was refused.
pub fn register(context: &Context, arguments: LoadArguments) -> Result<(), Refused> {
    ERROR_RATE_BITS.store(arguments.error_rate.to_bits(), Ordering::Relaxed);
    CAPACITY.store(arguments.initial_size, Ordering::Relaxed);
    EXPANSION_FACTOR.store(arguments.expansion, Ordering::Relaxed);
    if let Ok(mut defaults) = DEFAULTS.write() {
        *defaults = Some(arguments);
    }
    // Settings live as long as the process: a module with a type of its own cannot be unloaded.
    let rate: &'static Text = Box::leak(Box::new(Text::new(
        arguments.error_rate.to_string(),
        || error_rate().to_string(),
        set_error_rate,
    )));
    let size: &'static Integer = Box::leak(Box::new(Integer {
        default: arguments.initial_size,
        least: MIN_CAPACITY as i64,
        most: MAX_CAPACITY as i64,
        is_memory: false,
        get: || CAPACITY.load(Ordering::Relaxed),
        set: set_initial_size,
    }));
    let factor: &'static Integer = Box::leak(Box::new(Integer {
        default: arguments.expansion,
        least: 0,
        most: i64::from(MAX_EXPANSION),
        is_memory: false,
        get: || EXPANSION_FACTOR.load(Ordering::Relaxed),
        set: set_expansion,
    }));
    static LIMIT: Integer = Integer {
        default: 0,
        least: 0,
        most: i64::MAX,
        is_memory: true,
        get: || MAX_FILTER_BYTES.load(Ordering::Relaxed),
        set: |value| MAX_FILTER_BYTES.store(value, Ordering::Relaxed),
    };
    settings::register_text(context, Name::Prefixed("error-rate"), rate)?;
    settings::register_integer(context, Name::Prefixed("initial-size"), size)?;
    settings::register_integer(context, Name::Prefixed("expansion-factor"), factor)?;
    settings::register_integer(context, Name::Prefixed("max-filter-bytes"), &LIMIT)?;
    if settings::allows_plain_names() {
        settings::register_text(context, Name::Plain("bf-error-rate"), rate)?;
        settings::register_integer(context, Name::Plain("bf-initial-size"), size)?;
        settings::register_integer(context, Name::Plain("bf-expansion-factor"), factor)?;
    }
    settings::load(context)?;
    ARE_LOADED.store(true, Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_arguments_come_in_any_order_and_case() {
        let read = LoadArguments::parse(&[b"expansion", b"4", b"Error_Rate", b"0.001"]).unwrap();
        assert_eq!(
            (read.error_rate, read.initial_size, read.expansion),
            (0.001, 100, 4)
        );
    }

    #[test]
    fn bad_load_arguments_are_named() {
        for words in [
            &[b"ERROR_RATE".as_slice(), b"1"][..],
            &[b"ERROR_RATE"],
            &[b"INITIAL_SIZE", b"0"],
            &[b"EXPANSION", b"32769"],
            &[b"EXPANSION", b"-1"],
            &[b"CF_MAX_EXPANSIONS", b"1"],
        ] {
            let name = String::from_utf8_lossy(words[0]).into_owned();
            assert!(LoadArguments::parse(words).unwrap_err().contains(&name));
        }
    }
}
