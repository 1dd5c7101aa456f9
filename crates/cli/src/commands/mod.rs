//! The commands, one file each.

mod info;

use crate::error::{Error, Outcome};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Command {
    Info(info::Arguments),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Result<Outcome, Error> {
        match self {
            Self::Info(arguments) => arguments.run(),
        }
    }
}
