//! `splitbloom load`: adds items to a filter.

mod creation;

use crate::checkpoint::{Checkpoint, Done};
use crate::error::{Error, Outcome};
use crate::feed::{self, among_threads, Block, Reading};
use crate::input::{await_standard_input, InputArguments};
use crate::target::{self, TargetArguments};
use clap::Args;
use creation::CreationArguments;
use redis::{cmd, from_redis_value};
use serde_json::json;
use splitbloom_client::{Family, PartitionedFilter, Retry};
use std::io::{stdout, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

/// Adds items to a filter
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  splitbloom load seen urls.zst --capacity 100000000 --error 0.001
  cut -f 3 access.log | splitbloom load seen
  splitbloom load seen urls.txt --checkpoint urls.done    # and again, if it was interrupted

A filter that exists is left as it is. If it was created with other parameters than those given, a
warning says so.")]
pub struct Arguments {
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    input: InputArguments,
    /// If there is no such filter, creates a counting filter
    #[arg(long)]
    cf: bool,
    /// Notes in FILE how far the load has come, and goes on from there if FILE exists. It is
    /// removed at the end
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    #[command(flatten)]
    creation: CreationArguments,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let mut filter = self.target.open()?;
        let assumed = self.cf.then_some(Family::Counting);
        let found = target::family(&mut filter, assumed)?;
        let family = found.or(assumed).unwrap_or(Family::Bloom);
        let mut reading = self.target.spread.reading("loading", &self.input)?;
        let mut checkpoint = self.checkpoint(family, &reading)?;
        let before = checkpoint.as_ref().map(Checkpoint::read).transpose()?.flatten();
        if let Some(done) = &before {
            self.has_kept(&mut filter, found, done)?;
        }
        // Nothing is created for an input that cannot be loaded.
        await_standard_input(&reading.sources, reading.framing)?;
        let exists = self.creation.apply(&mut filter, family, found.is_some())?;

        let mut done = before.unwrap_or_default();
        reading.from = checkpoint.as_ref().map(|_| done.mark);
        let layout = reading.layout();
        let is_there = Arc::new(AtomicBool::new(exists));
        let known = Arc::clone(&is_there);
        let send = move |filter: PartitionedFilter, block: &Block| {
            let filter = if known.load(Relaxed) { filter.known_to_exist() } else { filter };
            let sent = filter.pack_add(family, layout, &block.bytes);
            move || sent.receive()
        };
        let filters = among_threads(self.target.open_all(filter)?);
        let mut in_next_block = 0;
        let fed = feed::run(reading, filters, send, |block, changes| {
            if let Some(refusal) = changes.refusal {
                in_next_block = refusal.before;
                return Err(refusal.error.into());
            }
            is_there.fetch_or(changes.items > 0, Relaxed);
            done = Done {
                mark: block.end,
                items: done.items + changes.items,
                new: done.new + changes.changed,
            };
            checkpoint.as_mut().map_or(Ok(()), |file| file.note(&done))?;
            Ok(Some(done.items))
        });
        if let Err(error) = fed {
            if let Some(checkpoint) = checkpoint.as_mut().filter(|_| done.items > 0) {
                checkpoint.write(&done)?;
            }
            let items = done.items + in_next_block;
            let next = self.what_next(family, &error);
            return Err(error.and(&format!("loaded {items} items{next}")));
        }
        checkpoint.iter().try_for_each(Checkpoint::remove)?;
        let resumed =
            before.map_or(String::new(), |before| format!(" ({} of them before)", before.items));
        writeln!(stdout(), "{} items{resumed}, {} new", done.items, done.new)?;
        if done.items == 0 && !exists {
            eprintln!("splitbloom: note: without items the server creates no filter");
        }
        Ok(Outcome::Done)
    }

    /// The checkpoint, if an option names one.
    fn checkpoint(&self, family: Family, reading: &Reading) -> Result<Option<Checkpoint>, Error> {
        let Some(path) = &self.checkpoint else {
            return Ok(None);
        };
        if family == Family::Counting {
            let text =
                "--checkpoint is for Bloom filters: a load that was killed would go on with \
                        items that it has added, and a counting filter would count them twice";
            return Err(Error::Usage(text.into()));
        }
        let info = self.target.server.connection_info()?;
        let server = match self.target.spread.topology.cluster {
            true => "a cluster".into(),
            false => format!("{}/{}", info.addr(), info.redis_settings().db()),
        };
        let filter = json!({
            "server": server,
            "key": self.target.key.as_encoded_bytes().escape_ascii().to_string(),
            "partitions": self.target.spread.keys(),
        });
        Checkpoint::new(path, filter, &reading.sources, reading.framing).map(Some)
    }

    /// Checks that the filter still has what was loaded before. A server that restarted without
    /// its latest data has fewer items, unless the filter forgets.
    fn has_kept(
        &self,
        filter: &mut PartitionedFilter,
        found: Option<Family>,
        done: &Done,
    ) -> Result<(), Error> {
        let mut items = 0;
        // Of a missing filter, BF.CARD may be an error.
        if found.is_some() {
            for card in filter.ask_each(Retry::Yes, |key| cmd("BF.CARD").arg(key).take()) {
                items = from_redis_value::<u64>(card?).unwrap_or(0).saturating_add(items);
            }
            if items >= done.new || creation::forgets(filter)? {
                return Ok(());
            }
        }
        let path = self.checkpoint.clone().unwrap_or_default();
        Err(Error::Contents(format!(
            "the filter has {items} items, fewer than the {} that were new to it when {} was \
             written; delete that to begin anew",
            done.new,
            path.display()
        )))
    }

    /// What to do after an error, unless the same command would end with the same error.
    fn what_next(&self, family: Family, error: &Error) -> &'static str {
        match (family, &self.checkpoint) {
            (Family::Counting, _) => {
                "; of the next some may be as well, and loading them again would count them twice"
            }
            (Family::Bloom, Some(_)) => "; the same command goes on from there",
            _ if error.is_lasting() => "",
            (Family::Bloom, None) => "; run it again: adding an item twice is harmless",
        }
    }
}
