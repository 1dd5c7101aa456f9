//! `splitbloom documents`, which packages call: the man pages and the shells' completions.

use crate::error::{Error, Outcome};
use clap::{Args, Command};
use clap_complete::{generate_to, Shell};
use std::fs;
use std::path::{Path, PathBuf};

const NAME: &str = "splitbloom";

/// Writes the man pages and the completions for shells, from what --help knows
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  splitbloom documents written && man written/man/splitbloom.1")]
pub struct Arguments {
    /// The folder, which gets the folders `man` and `completions`
    folder: PathBuf,
}

impl Arguments {
    pub fn run(self, tool: Command) -> Result<Outcome, Error> {
        let new_folder = |name: &str| {
            let path = self.folder.join(name);
            let made = fs::create_dir_all(&path);
            made.map_err(|error| Error::file(&path, error))?;
            Ok::<_, Error>(path)
        };
        write_man_pages(tool.clone(), &new_folder("man")?)?;
        write_completions(tool, &new_folder("completions")?)?;
        Ok(Outcome::Done)
    }
}

/// One page for the tool, and one for each command.
fn write_man_pages(tool: Command, folder: &Path) -> Result<(), Error> {
    // The command `help` says no more than the option.
    let tool = tool.disable_help_subcommand(true);
    clap_mangen::generate_to(tool, folder).map_err(|error| Error::file(folder, error))
}

fn write_completions(mut tool: Command, folder: &Path) -> Result<(), Error> {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let written = generate_to(shell, &mut tool, NAME, folder);
        written.map_err(|error| Error::file(folder, error))?;
    }
    Ok(())
}
