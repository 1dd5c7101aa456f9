//! `splitbloom pull`: a filter of a server becomes a file, or one of another server.

use crate::connect::ServerArguments;
use crate::error::{Error, Outcome, WAY};
use crate::filter_file::{failed, save};
use crate::output::NewFile;
use crate::progress::bar;
use crate::shrink::fetch;
use crate::target::{other_module, OneKey, TopologyArguments};
use crate::transfer::{copy, Incoming, Outgoing};
use clap::Args;
use indicatif::ProgressBar;
use splitbloom_filter::codec::{is_chunk, FileWriter};
use std::path::{Path, PathBuf};

/// Saves a filter of a server in a file, or copies it to another server, chunk by chunk
///
/// The file, or the key on the other server, appears when the whole filter is there. What is added
/// meanwhile may be in it or not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  splitbloom pull users -o users.sbf
  splitbloom pull users -o users.sbf --shrink
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
    /// Shrinks it, as BF.SHRINK does, and leaves the key as it is: the server shrinks a copy. If it
    /// may not, or refuses, the whole filter is transferred and shrunk here
    #[arg(long)]
    shrink: bool,
    #[command(flatten)]
    topology: TopologyArguments,
    #[command(flatten)]
    server: ServerArguments,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let mut from = self.topology.open_key(&self.key, self.server.connection_info()?)?;
        let bar = bar("pulling", None);
        let done = match (&self.output, &self.to) {
            (Some(path), _) if self.shrink => {
                let filter = fetch(&mut from, &bar)?;
                save(&filter, NewFile::create(path, self.replace, &[])?).map(drop)
            }
            (Some(path), _) => self.to_file(&mut from, path, &bar),
            (None, Some(url)) => {
                let key = self.other_key.as_ref().unwrap_or(&self.key);
                let info = self.server.tls.info_of_one(url)?;
                let mut to = self.topology.open_key(key, info)?;
                if self.shrink {
                    let filter = fetch(&mut from, &bar)?;
                    let incoming = Incoming::new(&mut to, self.replace)?;
                    incoming.load_filter(&filter, &ProgressBar::hidden())
                } else {
                    copy(&mut from, &mut to, self.replace, &bar)?.finish(None)
                }
            }
            (None, None) => Err(Error::Usage("-o or --to is missing".into())),
        };
        done.map(|()| Outcome::Done)
    }

    fn to_file(&self, from: &mut OneKey, path: &Path, bar: &ProgressBar) -> Result<(), Error> {
        let kind = from.existing_kind()?;
        let mut outgoing = Outgoing::new(from, kind.into());
        // What is missing is noticed before anything is made.
        let mut next = outgoing.next_piece()?;
        if next.as_ref().is_none_or(|(_, bytes)| !is_chunk(bytes)) {
            let (key, module) = (&self.key, other_module(kind));
            return Err(Error::Contents(format!(
                "{key} is a filter of {module}, which no file holds: {WAY}"
            )));
        }
        let failed = |error| failed(path, error);
        let mut file =
            FileWriter::new(NewFile::create(path, self.replace, &[])?).map_err(failed)?;
        while let Some((_, bytes)) = next {
            file.write(&bytes).map_err(failed)?;
            bar.inc(bytes.len() as u64);
            next = outgoing.next_piece()?;
        }
        file.finish().map_err(failed)?.finish().map(drop)
    }
}
