//! Which parts of a benchmark are to run: `BENCH_PARTS`, set by `make bench PARTS=BENCHMARK/PART`.

use crate::Outcome;
use std::env;

/// Parts of a benchmark.
pub struct Parts(Vec<String>);

impl Parts {
    /// The parts that `BENCH_PARTS` names, separated by spaces, out of `all`; those of `default` if
    /// it names none.
    ///
    /// # Errors
    /// There is no such part: the message lists all.
    pub fn named(all: &[&str], default: &[&str]) -> Outcome<Self> {
        let text = env::var("BENCH_PARTS").unwrap_or_default();
        let mut parts: Vec<&str> = text.split_whitespace().collect();
        if let Some(part) = parts.iter().find(|part| !all.contains(part)) {
            return Err(format!("no part {part}; there are {}", all.join(" ")).into());
        }
        if parts.is_empty() {
            parts = default.to_vec();
        }
        Ok(Self(parts.into_iter().map(str::to_string).collect()))
    }

    /// Whether `part` is to run.
    pub fn contain(&self, part: &str) -> bool {
        self.0.iter().any(|named| named == part)
    }
}
