//! What the environment asks for: which parts, which sizes, how many rounds.

use splitbloom_rig::parts::Parts;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::env;
use std::path::Path;

/// The parts of the benchmark, in the order in which they run.
pub const PARTS: [&str; 8] =
    ["reserved", "growth", "memory", "steps", "windows", "sweep", "bulk", "tool"];

pub struct Settings {
    parts: Parts,
    sizes: Option<Vec<u64>>,
    rounds: Option<usize>,
    is_saved: bool,
}

impl Settings {
    pub fn from_environment() -> Outcome<Self> {
        let parts = Parts::named(&PARTS, &PARTS)?;
        let sizes = numbers("BENCH_SIZES")?;
        let rounds = numbers("BENCH_ROUNDS")?.map(|rounds| rounds[0] as usize);
        // Only runs with the defaults are saved for the documents, unless asked for.
        let is_asked = env::var("BENCH_SAVE").is_ok_and(|value| value == "yes");
        Ok(Self {
            parts,
            is_saved: is_asked || (sizes.is_none() && rounds.is_none()),
            sizes,
            rounds,
        })
    }

    pub fn runs(&self, part: &str) -> bool {
        self.parts.contain(part)
    }

    pub fn sizes(&self, default: &[u64]) -> Vec<u64> {
        self.sizes.clone().unwrap_or(default.to_vec())
    }

    pub fn rounds(&self, default: usize) -> usize {
        self.rounds.unwrap_or(default)
    }

    /// Prints a table, and saves it as `NAME-PEER`.
    pub fn show(&self, name: &str, table: &Table) -> Outcome<()> {
        let peer = peer_name().map_or(String::new(), |peer| format!("-{peer}"));
        self.show_alone(&format!("{name}{peer}"), table)
    }

    /// The same for a table without a peer: saves it as `NAME`.
    pub fn show_alone(&self, name: &str, table: &Table) -> Outcome<()> {
        println!("\n{}", table.markdown());
        match self.is_saved {
            true => table.save(name),
            false => Ok(()),
        }
    }
}

/// The file name of the module to compare with, without `.so`.
pub fn peer_name() -> Option<String> {
    let peer = env::var("PEER").ok()?;
    let stem = Path::new(&peer).file_stem()?;
    Some(stem.to_string_lossy().into_owned())
}

/// The numbers in an environment variable, if it is set.
fn numbers(name: &str) -> Outcome<Option<Vec<u64>>> {
    let Ok(text) = env::var(name) else {
        return Ok(None);
    };
    let numbers: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
    Ok(Some(numbers.map_err(|error| format!("{name}: {error}"))?))
}
