//! Settings from the environment: sizes and rounds.

use splitbloom_rig::Outcome;
use std::env;

/// In the L2 cache; in the last-level cache; far beyond both; and so large that page tables miss
/// the caches too.
const SIZES: &str = "1,16,256,2048";
/// Odd, so that the median is a measured value; enough that four rounds may be disturbed.
const ROUNDS: &str = "9";

pub struct Settings {
    /// Size of the filters' bits, in MiB.
    pub megabytes: Vec<u64>,
    pub rounds: usize,
    /// Whether the results may be saved for the documents.
    pub are_default: bool,
}

impl Settings {
    pub fn from_environment() -> Outcome<Self> {
        let named = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let (sizes, rounds) = (named("CORE_SIZES"), named("CORE_ROUNDS"));
        let are_default = sizes.is_none() && rounds.is_none();
        let sizes = sizes.unwrap_or_else(|| SIZES.to_string());
        let megabytes: Result<Vec<u64>, _> = sizes.split(',').map(|n| n.trim().parse()).collect();
        let settings = Self {
            megabytes: megabytes.map_err(|error| format!("CORE_SIZES={sizes}: {error}"))?,
            rounds: rounds.unwrap_or_else(|| ROUNDS.to_string()).parse()?,
            are_default,
        };
        // Below 1 MB a slice of new items is too short to time; sbbf-rs addresses 2^32 blocks, or
        // 128 GB.
        if settings.rounds == 0 || settings.megabytes.iter().any(|n| !(1..=65_536).contains(n)) {
            return Err("CORE_ROUNDS must be at least 1, CORE_SIZES from 1 to 65536".into());
        }
        Ok(settings)
    }
}
