//! `splitbloom compare`: looks up the same items on two servers.

use super::check::write_item;
use crate::connect::{ServerArguments, TlsArguments};
use crate::error::{Error, Outcome};
use crate::feed::{self, among_threads, Block, Reading};
use crate::input::InputArguments;
use crate::target::{self, SpreadArguments, TargetArguments};
use clap::Args;
use splitbloom_client::{Family, PartitionedFilter, Wording};
use std::ffi::OsString;
use std::io::{stdout, BufWriter, Write};

/// Compares what two servers say of the same items
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  splitbloom compare redis://old:6379 redis://new:6379 seen urls.txt

Prints the items that are only in the first filter after '< ', those that are only in the second
after '> ', and at the end how many each has. Either server may have RedisBloom. Exit code 0: no
differences; 1: some.")]
pub struct Arguments {
    /// The first server, as in --url of the other commands
    #[arg(value_name = "URL1")]
    first: String,
    /// The second server
    #[arg(value_name = "URL2")]
    second: String,
    /// The key of the filter on both
    key: OsString,
    #[command(flatten)]
    input: InputArguments,
    /// Prints only how many items each has
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    spread: SpreadArguments,
    #[command(flatten)]
    tls: TlsArguments,
}

/// A filter of one of the servers: a connection for each block under way, and its commands.
pub struct Side {
    pub filters: Vec<PartitionedFilter>,
    pub family: Family,
    pub wording: Wording,
}

/// A connection to each of the servers.
type Pair = (PartitionedFilter, PartitionedFilter);

/// How many items there are.
#[derive(Default)]
pub struct Tally {
    items: u64,
    present: [u64; 2],
    /// In this filter and not in the other.
    pub only: [u64; 2],
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let reading = self.spread.reading("comparing", &self.input)?;
        let framing = reading.framing;
        let sides = (self.side(&self.first)?, self.side(&self.second)?);
        let mut out = BufWriter::new(stdout().lock());
        let tally = tally(reading, sides, |differences| {
            for (item, is_in_first) in differences.iter().filter(|_| !self.count) {
                out.write_all(if *is_in_first { b"< " } else { b"> " })?;
                write_item(&mut out, framing, item)?;
            }
            Ok(out.flush()?)
        })?;
        tally.write(&mut out)?;
        Ok(Outcome::of(tally.only == [0, 0]))
    }

    /// The filter on a server. An error of the connection names the server.
    fn side(&self, url: &str) -> Result<Side, Error> {
        let (key, spread) = (self.key.clone(), self.spread.clone());
        let server = ServerArguments { url: url.into(), tls: self.tls.clone() };
        let target = TargetArguments { key, spread, server };
        let server = target.server.connection_info()?.addr().to_string();
        let open = || {
            let (filter, family, wording) = target::existing(target.open()?, None)?;
            Ok(Side { filters: target.open_all(filter)?, family, wording })
        };
        open().map_err(|error: Error| {
            let text = format!("{server}: {error}");
            error.saying(text)
        })
    }
}

/// Looks up all items on both sides. Calls `observe` with the items that only one side has, each
/// with whether that is the first side.
pub fn tally(
    reading: Reading,
    (first, second): (Side, Side),
    mut observe: impl FnMut(&[(&[u8], bool)]) -> Result<(), Error>,
) -> Result<Tally, Error> {
    let (framing, layout) = (reading.framing, reading.layout());
    let kinds = [(first.family, first.wording), (second.family, second.wording)];
    let pairs = first.filters.into_iter().zip(second.filters).collect();
    // Both servers look the items of a block up at the same time.
    let send = move |(first, second): Pair, block: &Block| {
        let ask = |filter: PartitionedFilter, (family, wording)| {
            filter.pack_exists(family, wording, layout, &block.bytes)
        };
        let (first, second) = (ask(first, kinds[0]), ask(second, kinds[1]));
        move || {
            let ((first, here), (second, there)) = (first.receive(), second.receive());
            ((first, second), (here, there))
        }
    };
    let mut tally = Tally::default();
    let fed = feed::run(reading, among_threads(pairs), send, |block, (first, second)| {
        let answers = first?.into_iter().zip(second?);
        let mut differences = Vec::new();
        for (item, (first, second)) in framing.items(&block.bytes).zip(answers) {
            tally.count(first, second);
            if first != second {
                differences.push((item, first));
            }
        }
        observe(&differences)?;
        Ok(Some(tally.items))
    });
    let items = tally.items;
    fed.map_err(|error| error.and(&format!("compared {items} items")))?;
    Ok(tally)
}

impl Tally {
    fn count(&mut self, first: bool, second: bool) {
        self.items += 1;
        self.present[0] += u64::from(first);
        self.present[1] += u64::from(second);
        self.only[0] += u64::from(first && !second);
        self.only[1] += u64::from(second && !first);
    }

    fn write(&self, out: &mut impl Write) -> Result<(), Error> {
        let Self { items, present, only } = self;
        writeln!(out, "{items} items")?;
        for (side, name) in ["first", "second"].iter().enumerate() {
            let (present, only) = (present[side], only[side]);
            writeln!(out, "{name}: {present} present, {only} of them only there")?;
        }
        Ok(out.flush()?)
    }
}
