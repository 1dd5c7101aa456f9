//! `splitbloom merge`: the union of filters in files.

use crate::error::{Error, Outcome};
use crate::filter_file::{load, save};
use crate::output::{FileId, OutputArguments};
use clap::Args;
use splitbloom_filter::filter::{Difference, Promise};
use splitbloom_filter::{Filter, SizeLimit};
use std::mem::swap;
use std::path::{Path, PathBuf};

/// Writes the union of filters in files: it finds whatever one of them finds
///
/// They must have the same error rate, expansion and seed, as `build
/// --seed` and BF.RESERVE with SEED do. Of unequal capacities, the result has the largest. The
/// number of items of a union is an estimate.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  splitbloom merge -o week.sbf monday.sbf tuesday.sbf wednesday.sbf")]
pub struct Arguments {
    /// The filters
    #[arg(required = true, num_args = 1.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the union even if its false-positive rate is above the one requested
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let file = self.output.create(self.files.iter().filter_map(|file| FileId::of(file)))?;
        let (first, others) =
            self.files.split_first().ok_or_else(|| Error::Usage("no files".into()))?;
        let mut union = lasting(first)?;
        let promise = if self.force { Promise::Waived } else { Promise::Kept };
        // One at a time, so that at most two filters are in memory.
        for path in others {
            let mut other = lasting(path)?;
            if let Some(difference) = union.difference(&[&other]) {
                let name = name_of(difference);
                return Err(Error::Contents(format!(
                    "{} and {} differ in {name}",
                    first.display(),
                    path.display()
                )));
            }
            if other.parameters().capacity > union.parameters().capacity {
                swap(&mut union, &mut other);
            }
            union
                .unite(&[&other], SizeLimit::Unlimited, u64::MAX, promise)
                .map_err(|error| Error::Contents(format!("{}: {error}", path.display())))?;
        }
        save(&union, file).map(|_| Outcome::Done)
    }
}

/// Loads a filter that may be united with others; another kind is an error.
fn lasting(path: &Path) -> Result<Filter, Error> {
    match load(path)? {
        filter if filter.may_be_united() => Ok(filter),
        _ => {
            Err(Error::Contents(format!("{}: filters of this kind have no union", path.display())))
        }
    }
}

fn name_of(difference: Difference) -> &'static str {
    match difference {
        Difference::ErrorRate => "error rate",
        Difference::Capacity => "capacity: only those above some 6 000 items (at 1 %) may",
        Difference::Expansion => "expansion",
        Difference::Seed => "seed",
    }
}
