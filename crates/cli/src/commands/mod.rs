//! The commands, one file each.

mod check;
mod compare;
mod info;
mod load;
mod unload;

use crate::error::{Error, Outcome};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Command {
    Info(info::Arguments),
    Load(load::Arguments),
    Check(check::Arguments),
    Unload(unload::Arguments),
    Compare(compare::Arguments),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Result<Outcome, Error> {
        match self {
            Self::Info(arguments) => arguments.run(),
            Self::Load(arguments) => arguments.run(),
            Self::Check(arguments) => arguments.run(),
            Self::Unload(arguments) => arguments.run(),
            Self::Compare(arguments) => arguments.run(),
        }
    }
}
