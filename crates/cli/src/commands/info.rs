//! `splitbloom info`: describes a filter.

use crate::connect::ServerArguments;
use crate::error::{Error, Outcome, WAY};
use crate::filter_file::load;
use crate::target::{other_module, TopologyArguments};
use crate::{describe, report};
use clap::Args;
use redis::Value as Reply;
use serde_json::Value;
use splitbloom_client::Family;
use std::io::{stdout, Write};
use std::path::Path;

/// Describes a filter of a server, or of a file
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  splitbloom info users --url redis://127.0.0.1:6379
  splitbloom info users.sbf --json")]
pub struct Arguments {
    /// A file, if there is one of this name; otherwise a key
    #[arg(value_name = "KEY|FILE")]
    name: String,
    /// Prints JSON, with the names that BF.INFO and CF.INFO have
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    topology: TopologyArguments,
    #[command(flatten)]
    server: ServerArguments,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let file = Path::new(&self.name);
        let report = match file.is_file() {
            true => describe::describe(&load(file)?),
            false => self.of_key().map_err(|error| match error {
                // The name may be that of a file, with a mistake in it.
                Error::Contents(_) => error.and("nor is there a file of this name"),
                other => other,
            })?,
        };
        let text = match self.json {
            true => format!("{report:#}\n"),
            false => report::for_people(&report),
        };
        stdout().write_all(text.as_bytes())?;
        Ok(Outcome::Done)
    }

    /// What the server says of the filter, whichever kind it is.
    fn of_key(&self) -> Result<Value, Error> {
        let mut key = self.topology.open_key(&self.name, self.server.connection_info()?)?;
        let kind = key.existing_kind()?;
        let name = Family::from(kind).command("INFO");
        let reply = match key.ask_for(&name, &["FULL"]) {
            // Only splitbloom knows FULL. Any other refusal recurs at the next command.
            Err(Error::Refused(_)) => {
                let reply = key.ask_for(&name, &[])?;
                eprintln!("splitbloom: note: the server has {}: {WAY}", other_module(kind));
                reply
            }
            reply => reply?,
        };
        Ok(report::from_reply(&by_name(reply)))
    }
}

/// Names and values; valkey-bloom sends them as a flat array.
fn by_name(reply: Reply) -> Reply {
    let Reply::Array(flat) = reply else {
        return reply;
    };
    let pairs = flat.chunks_exact(2);
    Reply::Map(pairs.map(|pair| (pair[0].clone(), pair[1].clone())).collect())
}
