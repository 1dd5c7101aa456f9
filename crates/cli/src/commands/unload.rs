//! `splitbloom unload`: removes items from a counting filter.

use crate::error::{Error, Outcome};
use crate::feed::{self, among_threads, Block};
use crate::input::InputArguments;
use crate::target::{self, TargetArguments};
use clap::Args;
use splitbloom_client::{Family, PartitionedFilter};
use std::io::{stdout, Write};

/// Removes a copy of each item from a counting filter
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  splitbloom unload carts abandoned.txt

Remove only what was added, and only as often: removing an item that was never added may remove a
copy of another one. Exit code 1: some items had no copy.")]
pub struct Arguments {
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    input: InputArguments,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let (filter, ..) = target::existing(self.target.open()?, Some(Family::Counting))?;
        let reading = self.target.spread.reading("removing", &self.input)?;
        let layout = reading.layout();
        let send = move |filter: PartitionedFilter, block: &Block| {
            let sent = filter.pack_delete(layout, &block.bytes);
            move || sent.receive()
        };
        let filters = among_threads(self.target.open_all(filter)?);
        let (mut items, mut removed) = (0, 0);
        let fed = feed::run(reading, filters, send, |_, changes| {
            if let Some(refusal) = changes.refusal {
                items += refusal.before;
                return Err(refusal.error.into());
            }
            items += changes.items;
            removed += changes.changed;
            Ok(Some(items))
        });
        fed.map_err(|error| {
            error.and(&format!(
                "removed a copy of each of the first {items} items; of the next some may be \
                 removed as well, and removing them again would remove another copy"
            ))
        })?;
        writeln!(stdout(), "{items} items, {removed} removed")?;
        Ok(Outcome::of(removed == items))
    }
}
