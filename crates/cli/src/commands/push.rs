//! `splitbloom push`: a filter of a file becomes one of a server.

use crate::connect::ServerArguments;
use crate::error::{Error, Outcome};
use crate::filter_file;
use crate::progress::bar;
use crate::shrink::shrink;
use crate::target::TopologyArguments;
use crate::transfer::Incoming;
use clap::Args;
use std::path::PathBuf;

/// Loads a filter from a file into a server, chunk by chunk
///
/// The key appears when the whole filter is there and its checksum is right. Chunks have at most 1
/// MiB, so other clients wait a few milliseconds at most.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  splitbloom build users.txt -o users.sbf && splitbloom push users.sbf users")]
pub struct Arguments {
    /// The file, written by build, pull, merge or shrink
    file: PathBuf,
    /// The key, which must not exist
    key: String,
    /// Takes the place of what the key holds
    #[arg(long)]
    replace: bool,
    /// Shrinks it before it is sent, as BF.SHRINK does
    #[arg(long)]
    shrink: bool,
    #[command(flatten)]
    topology: TopologyArguments,
    #[command(flatten)]
    server: ServerArguments,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let info = self.server.connection_info()?;
        let shrunk = || shrink(filter_file::load(&self.file)?, None);
        let filter = self.shrink.then(shrunk).transpose()?;
        let mut file = filter_file::open(&self.file)?;
        let mut key = self.topology.open_key(&self.key, info)?;
        let mut incoming = Incoming::new(&mut key, self.replace)?;
        let bytes = self.file.metadata().ok().filter(|_| !self.shrink);
        let bar = bar("pushing", bytes.map(|metadata| metadata.len()));
        if let Some(filter) = filter {
            return incoming.load_filter(&filter, &bar).map(|()| Outcome::Done);
        }
        let mut chunk = Vec::new();
        while file.next(&mut chunk).map_err(|error| filter_file::failed(&self.file, error))? {
            incoming.load_chunk(&chunk)?;
            bar.inc(chunk.len() as u64);
        }
        incoming.finish(None).map(|()| Outcome::Done)
    }
}
