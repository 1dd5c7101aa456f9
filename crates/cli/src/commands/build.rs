//! `splitbloom build`: a filter from files of items, without a server.

use crate::bulk;
use crate::error::{Error, Outcome};
use crate::feed::Reading;
use crate::filter_file::save;
use crate::input::{InputArguments, Source};
use crate::output::OutputArguments;
use crate::parse;
use clap::Args;
use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::filter::MAX_EXPANSION;
use splitbloom_filter::{AddError, Filter, Growth, Parameters, Seed, SizeLimit};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{stdout, Write as _};
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// Builds a filter from files of items, on all cores, without a server
///
/// Pushed to a server, it is the filter that BF.RESERVE with the same parameters and seed, and
/// BF.MADD with the items in the order of the files, make: with the same answers and the same
/// digest.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  splitbloom build urls.txt.gz -o urls.sbf --error 0.001
  zcat log.gz | cut -f1 | splitbloom build -o ids.sbf --capacity 1000000")]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    output: OutputArguments,
    /// The error rate
    #[arg(long, default_value_t = 0.01, value_parser = parse::error_rate)]
    error: f64,
    /// Items to make room for. Without it the items are counted first, which standard input does
    /// not allow
    #[arg(long, value_name = "N", value_parser = parse::items)]
    capacity: Option<u64>,
    /// The expansion to report. Whatever it is, the filter grows page by page when it is full
    #[arg(
        long,
        default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_EXPANSION))
    )]
    expansion: u32,
    /// The filter does not grow, and must be large enough
    #[arg(long, conflicts_with = "expansion")]
    nonscaling: bool,
    /// Sixteen hexadecimal digits that decide where bits lie, for filters that are to be merged or
    /// compared. Whoever knows them can choose items that collide; by default they are random
    #[arg(long, value_name = "HEX16", value_parser = parse::seed)]
    seed: Option<Seed>,
    /// Threads; by default one for each core
    #[arg(long)]
    threads: Option<NonZeroUsize>,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let file = self.output.create(self.input.sources()?.iter().filter_map(Source::id))?;
        let threads = self.threads.or_else(|| available_parallelism().ok());
        let threads = threads.map_or(1, NonZeroUsize::get);
        let capacity = match self.capacity {
            Some(capacity) => capacity,
            None => self.count(threads)?,
        };
        let parameters = Parameters {
            error_rate: self.error,
            capacity,
            growth: match self.nonscaling {
                true => Growth::Fixed,
                false => Growth::Times(self.expansion),
            },
            seed: self.seed.unwrap_or_else(random_seed),
        };
        let no_memory = |error: AddError| Error::Contents(error.to_string());
        let filter = Filter::new(parameters, SizeLimit::Unlimited).map_err(no_memory)?;
        let (filter, items) = bulk::build(filter, self.reading("building")?, threads)?;
        let bytes = save(&filter, file)?;
        let (name, new) = (self.output.path().display(), filter.items());
        writeln!(stdout(), "{name}: {items} items, {new} of them new, {bytes} bytes")?;
        Ok(Outcome::Done)
    }

    fn reading(&self, what: &'static str) -> Result<Reading, Error> {
        Reading::new(Some(what), &self.input, bulk::BLOCK_BYTES)
    }

    /// How many items there are.
    fn count(&self, threads: usize) -> Result<u64, Error> {
        let reading = self.reading("counting")?;
        for source in &reading.sources {
            if source.regular()?.is_none() {
                return Err(Error::Usage(format!(
                    "{} can be read only once: say how many items there are with --capacity",
                    source.name()
                )));
            }
        }
        let items = bulk::count(reading, threads)?;
        Ok(items.clamp(MIN_CAPACITY, MAX_CAPACITY))
    }
}

/// Hard to guess: from the randomness that the standard library gets from the system.
fn random_seed() -> Seed {
    Seed(RandomState::new().hash_one(std::process::id()))
}
