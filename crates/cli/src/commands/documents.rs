//! `splitbloom documents`, which packages call: the man pages and the shells' completions.

use crate::error::{Error, Outcome};
use clap::{Args, Command};
use clap_complete::{generate_to, Shell};
use std::fs;
use std::path::PathBuf;

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
    pub fn run(self, mut tool: Command) -> Result<Outcome, Error> {
        let new_folder = |name: &str| {
            let path = self.folder.join(name);
            let made = fs::create_dir_all(&path);
            made.map_err(|error| Error::file(&path, error))?;
            Ok::<_, Error>(path)
        };
        // The command `help` says no more than the option.
        let (pages, man) = (tool.clone().disable_help_subcommand(true), new_folder("man")?);
        clap_mangen::generate_to(pages, &man).map_err(|error| Error::file(&man, error))?;
        let completions = new_folder("completions")?;
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let written = generate_to(shell, &mut tool, NAME, &completions);
            written.map_err(|error| Error::file(&completions, error))?;
        }
        Ok(Outcome::Done)
    }
}
