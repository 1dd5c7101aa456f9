//! `splitbloom info`: describes a filter.

use crate::connect::ServerArguments;
use crate::error::{Error, Outcome};
use crate::report;
use clap::Args;
use redis::{Connection, Value};
use std::io::{stdout, Write};

/// Describes a filter of a server
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  splitbloom info users --url redis://127.0.0.1:6379")]
pub struct Arguments {
    /// The key of the filter
    key: String,
    /// Prints JSON, with the names that BF.INFO and CF.INFO have
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArguments,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let reply = of_key(&mut self.server.connect()?, self.key.as_bytes())?;
        let report = report::from_reply(&reply);
        let text = if self.json {
            format!("{report:#}\n")
        } else {
            report::for_people(&report)
        };
        stdout().write_all(text.as_bytes())?;
        Ok(Outcome::Done)
    }
}

/// What the server says of the filter, whichever kind it is.
fn of_key(server: &mut Connection, key: &[u8]) -> Result<Value, Error> {
    let kind: String = redis::cmd("TYPE").arg(key).query(server)?;
    let name = match kind.as_str() {
        "MBbloomCF" => "CF.INFO",
        _ => "BF.INFO", // which refuses what is none, in words that fit
    };
    Ok(redis::cmd(name).arg(key).arg("FULL").query(server)?)
}
