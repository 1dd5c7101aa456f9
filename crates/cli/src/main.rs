//! The tool `splitbloom`; see the library beside it.

fn main() -> std::process::ExitCode {
    splitbloom_cli::run(std::env::args_os())
}
