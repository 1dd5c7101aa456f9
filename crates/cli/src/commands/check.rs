//! `splitbloom check`: looks items up.

use crate::error::{Error, Outcome};
use crate::feed::{self, among_threads, Block};
use crate::input::{Framing, InputArguments};
use crate::output::is_filter;
use crate::target::{self, TargetArguments};
use clap::Args;
use splitbloom_client::{Family, PartitionedFilter};
use std::io::{stdout, BufWriter, Write};
use std::path::Path;

/// Prints the items that are in a filter, or those that are not
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  splitbloom check seen urls.txt > seen.txt
  cat urls.txt | splitbloom check seen --missing | xargs -d '\\n' -n 1 fetch
  splitbloom check seen urls.txt --missing --count

Exit code 0: every item is in the filter; 1: some are not. Of the items that were never added, the
share of the error rate is reported as present.")]
pub struct Arguments {
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    input: InputArguments,
    /// Prints the items that are not in the filter
    #[arg(long)]
    missing: bool,
    /// Prints how many there are instead
    #[arg(long)]
    count: bool,
    /// Only a counting filter will do
    #[arg(long)]
    cf: bool,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let assumed = self.cf.then_some(Family::Counting);
        let opened = self.target.open().and_then(|filter| target::existing(filter, assumed));
        let (filter, family, wording) = opened.map_err(|error| self.of_file(error))?;
        let reading = self.target.spread.reading("checking", &self.input)?;
        let (framing, layout) = (reading.framing, reading.layout());
        let send = move |filter: PartitionedFilter, block: &Block| {
            let sent = filter.pack_exists(family, wording, layout, &block.bytes);
            move || sent.receive()
        };
        let filters = among_threads(self.target.open_all(filter)?);
        let mut out = BufWriter::new(stdout().lock());
        let (mut items, mut present) = (0, 0);
        let fed = feed::run(reading, filters, send, |block, answers| {
            let answers = answers?;
            if !self.count {
                for (item, is_present) in framing.items(&block.bytes).zip(&answers) {
                    if *is_present != self.missing {
                        write_item(&mut out, framing, item)?;
                    }
                }
                out.flush()?; // somebody may be waiting for what has come so far
            }
            items += answers.len() as u64;
            present += answers.iter().filter(|is_present| **is_present).count() as u64;
            Ok(Some(items))
        });
        fed.map_err(|error| error.and(&format!("checked {items} items")))?;
        if self.count {
            let count = if self.missing { items - present } else { present };
            writeln!(out, "{count}")?;
        }
        out.flush()?;
        Ok(Outcome::of(present == items))
    }

    /// Says more about an error if KEY is the name of a filter's file.
    fn of_file(&self, error: Error) -> Error {
        let file = Path::new(&self.target.key);
        if !is_filter(file) {
            return error;
        }
        let file = file.display();
        error.and(&format!("{file} is a file: `info` describes it, `push` takes it to a server"))
    }
}

/// Writes an item as it was read.
pub fn write_item(out: &mut impl Write, framing: Framing, item: &[u8]) -> Result<(), Error> {
    out.write_all(item)?;
    if !matches!(framing, Framing::Fixed(_)) {
        out.write_all(b"\n")?;
    }
    Ok(())
}
