//! The tool `splitbloom`; see the library beside it.

use std::{env, panic, process};

/// The exit code of a program in Rust that panics.
const PANICKED: i32 = 101;

fn main() -> process::ExitCode {
    // A panic in any thread ends the process: the others would wait for that thread.
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        report(panic);
        process::exit(PANICKED);
    }));
    splitbloom_cli::run(env::args_os())
}
