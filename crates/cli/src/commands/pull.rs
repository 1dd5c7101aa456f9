//! `splitbloom pull`: a filter of a server becomes a file, or one of another server.

use crate::connect::{self, ServerArguments};
use crate::error::{Error, Outcome};
use crate::filter_file::NewFilter;
use crate::output::NewFile;
use crate::progress::{bar, Unit};
use crate::target::TopologyArguments;
use crate::transfer::{Incoming, Outgoing};
use clap::Args;
use std::path::PathBuf;

/// Saves a filter of a server in a file, or copies it to another server, chunk by chunk
///
/// The file, or the key on the other server, appears when the whole filter is there. What is added
/// meanwhile may be in it or not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  splitbloom pull users -o users.sbf
  splitbloom pull users --to redis://other:6379
  splitbloom pull users --to redis://other:6379 --as customers --replace")]
pub struct Arguments {
    /// The key of the filter
    key: String,
    /// The file. Only its owner can read it, because it holds the seed
    #[arg(short, long, value_name = "FILE", required_unless_present = "to")]
    output: Option<PathBuf>,
    /// The other server, as in --url; over TLS with the same certificates
    #[arg(long, value_name = "URL", conflicts_with = "output")]
    to: Option<String>,
    /// The key on the other server, if not the same
    #[arg(long = "as", value_name = "KEY", requires = "to")]
    other_key: Option<String>,
    /// Takes the place of the file, or of what that key holds
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    topology: TopologyArguments,
    #[command(flatten)]
    server: ServerArguments,
}

/// Where it goes.
enum Target {
    File(Box<NewFilter>),
    Server(Incoming),
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let info = self.server.connection_info()?;
        let mut outgoing = Outgoing::new(self.topology.open_key(&self.key, info)?)?;
        // What is missing is noticed before anything is made.
        let first = outgoing.next_chunk()?;
        let mut target = self.target()?;
        let bar = bar("pulling", Unit::Bytes, None);
        let mut next = first;
        while let Some(chunk) = next {
            match &mut target {
                Target::File(file) => file.write(&chunk)?,
                Target::Server(incoming) => incoming.load(&chunk)?,
            }
            bar.inc(chunk.len() as u64);
            next = outgoing.next_chunk()?;
        }
        match target {
            Target::File(file) => drop(file.finish()?),
            Target::Server(incoming) => incoming.finish()?,
        }
        bar.finish_and_clear();
        Ok(Outcome::Done)
    }

    fn target(&self) -> Result<Target, Error> {
        match (&self.output, &self.to) {
            (Some(path), _) => {
                let file = NewFile::create(path, self.replace, &[])?;
                NewFilter::new(file).map(|file| Target::File(Box::new(file)))
            }
            (None, Some(url)) => {
                let mut info = connect::connection_info(url)?;
                if url.starts_with("rediss:") {
                    info = self.server.tls.apply(info)?;
                }
                let key = self.other_key.as_ref().unwrap_or(&self.key);
                let key = self.topology.open_key(key, info)?;
                Incoming::new(key, self.replace).map(Target::Server)
            }
            (None, None) => Err(Error::Usage("-o or --to is missing".into())),
        }
    }
}
