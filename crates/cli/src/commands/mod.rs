//! The commands, one file each.

mod build;
mod check;
mod compare;
mod doctor;
mod documents;
mod info;
mod load;
mod merge;
mod migrate;
mod pull;
mod push;
mod shrink;
mod size;
mod unload;

use crate::error::{Error, Outcome};
use crate::Tool;
use clap::{CommandFactory as _, Subcommand};

#[derive(Debug, Subcommand)]
pub enum Command {
    Size(size::Arguments),
    Load(load::Arguments),
    Check(check::Arguments),
    Unload(unload::Arguments),
    Build(build::Arguments),
    Push(push::Arguments),
    Pull(pull::Arguments),
    Info(info::Arguments),
    Compare(compare::Arguments),
    Doctor(doctor::Arguments),
    Migrate(migrate::Arguments),
    Merge(merge::Arguments),
    Shrink(shrink::Arguments),
    #[command(hide = true)]
    Documents(documents::Arguments),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Result<Outcome, Error> {
        match self {
            Self::Size(arguments) => arguments.run(),
            Self::Load(arguments) => arguments.run(),
            Self::Check(arguments) => arguments.run(),
            Self::Unload(arguments) => arguments.run(),
            Self::Build(arguments) => arguments.run(),
            Self::Push(arguments) => arguments.run(),
            Self::Pull(arguments) => arguments.run(),
            Self::Info(arguments) => arguments.run(),
            Self::Compare(arguments) => arguments.run(),
            Self::Doctor(arguments) => arguments.run(),
            Self::Migrate(arguments) => arguments.run(),
            Self::Merge(arguments) => arguments.run(),
            Self::Shrink(arguments) => arguments.run(),
            Self::Documents(arguments) => arguments.run(Tool::command()),
        }
    }
}
