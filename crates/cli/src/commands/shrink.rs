//! `splitbloom shrink`: a filter of a file becomes as small as its items allow.

use crate::error::{Error, Outcome};
use crate::filter_file::{load, save};
use crate::output::{FileId, OutputArguments};
use crate::parse;
use crate::shrink::shrink;
use clap::Args;
use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use std::io::{stdout, Write as _};
use std::path::PathBuf;

/// Writes a Bloom filter in the smallest size that holds its items at its error rate
///
/// The result is the filter that would have been built or reserved so, as BF.SHRINK makes it. If
/// the filter has no smaller size, it is written as it is.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  splitbloom shrink users.sbf -o small.sbf --capacity 2M")]
pub struct Arguments {
    /// The filter
    file: PathBuf,
    /// Items to leave room for, if not only those that it has
    #[arg(long, value_name = "N", value_parser = parse::items)]
    capacity: Option<u64>,
    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let file = self.output.create(FileId::of(&self.file))?;
        let filter = load(&self.file)?;
        let before = filter.capacity();
        let capacity = self.capacity.map(|items| items.clamp(MIN_CAPACITY, MAX_CAPACITY));
        let filter = shrink(filter, capacity)?;
        let bytes = save(&filter, file)?;
        let (name, now) = (self.output.path().display(), filter.capacity());
        writeln!(stdout(), "{name}: capacity {now} instead of {before}, {bytes} bytes")?;
        Ok(Outcome::Done)
    }
}
