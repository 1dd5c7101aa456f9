//! The tool `splitbloom`: works with filters in files, on servers and on clusters.
//!
//! ```text
//!   commands     one file for each command: its arguments, its help, what it does
//!   connect      the server that a command talks to
//!   target       a filter on a server, or spread over a cluster
//!   transfer     filters out of a server and into one, chunk by chunk
//!   filter_file  filters out of files and into them
//!   sketch       sketches, which move as a whole
//!   shrink       filters made smaller, here or by the server that sends them
//!   output       files that are written
//!   input        items from files: lines or fixed widths, packed or not
//!   feed         items through several connections or threads, answers in their order
//!   checkpoint   how far a load has come, in a file
//!   bulk         a filter from many items, on all cores
//!   sizing       what the kinds of filters take
//!   progress     a bar on a terminal, silence elsewhere
//!   doctor       what a server says of itself, and what to think of it
//!   describe     a filter in the words of BF.INFO
//!   report       that for people, or as JSON
//!   parse        words of the command line
//!   interrupt    Ctrl-C
//!   error        what may go wrong, and the exit code of each
//! ```
//!
//! It is a client like any other, and knows the filters through `splitbloom_filter`.

pub mod bulk;
pub mod checkpoint;
pub mod commands;
pub mod connect;
pub mod describe;
pub mod doctor;
pub mod error;
pub mod feed;
pub mod filter_file;
pub mod input;
pub mod interrupt;
pub mod output;
pub mod parse;
pub mod progress;
pub mod report;
pub mod shrink;
pub mod sizing;
pub mod sketch;
pub mod target;
pub mod transfer;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use commands::Command;
use error::{Error, Outcome};
use std::ffi::OsString;
use std::process::ExitCode;

/// Bloom filters and counting filters of the module splitbloom: sized, built, loaded, checked,
/// moved and described.
#[derive(Debug, Parser)]
#[command(name = "splitbloom", version, after_help = EXIT_CODES)]
pub struct Tool {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the answer is no: items are missing, two filters differ, a filter was not copied, or `doctor`
     has advice
  2  wrong usage, or `doctor` has found something wrong
  3  no connection to the server, or the login was refused
  4  the server refused a command
  5  a file could not be read or written
  6  what a file or a key contains is not what the command needs";

/// Runs the tool with these arguments, the first of which is its name. An error is one line on
/// standard error.
pub fn run(version: &'static str, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let matches = Tool::command().version(version).try_get_matches_from(arguments);
    let tool = match matches.and_then(|matches| Tool::from_arg_matches(&matches)) {
        Ok(tool) => tool,
        // Help and version come as errors as well. A closed pipe is no failure.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    match tool.command.run() {
        Ok(Outcome::Done) | Err(Error::NobodyReads) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Ok(Outcome::Wrong) => ExitCode::from(2),
        Err(error) => {
            eprintln!("splitbloom: {error}");
            if let Error::Interrupted(signal, _) = error {
                interrupt::end_by(signal);
            }
            ExitCode::from(error.exit_code())
        }
    }
}
