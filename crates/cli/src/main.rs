//! The tool `splitbloom`; the library has all of it.

use std::{env, panic, process};

/// The version, with the commit if `scripts/version --build` named one to the compiler. It is read
/// here, not in the library, so that a commit rebuilds only this file.
const VERSION: &str = match option_env!("SPLITBLOOM_BUILD") {
    Some(build) => build,
    None => env!("CARGO_PKG_VERSION"),
};

/// The exit code of a program in Rust that panics.
const PANICKED: i32 = 101;

fn main() -> process::ExitCode {
    // A panic in any thread ends the process: the others would wait for that thread.
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        report(panic);
        process::exit(PANICKED);
    }));
    splitbloom_cli::run(VERSION, env::args_os())
}
