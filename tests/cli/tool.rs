//! The process under test, and the folder that it works in.

use splitbloom_harness::{tool_path, Server};
use std::io::Write;
use std::ops::Range;
use std::process::{Command, Output, Stdio};
use std::{fs, thread};

/// The tool with these arguments, in an environment that names no server.
pub fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(tool_path());
    command.args(arguments);
    for name in ["REDIS_URL", "SPLITBLOOM_PASSWORD", "REDISCLI_AUTH"] {
        command.env_remove(name);
    }
    command
}

/// The tool with these arguments and that server.
pub fn tool_on(server: &Server, arguments: &[&str]) -> Command {
    let mut command = tool(arguments);
    command.env("REDIS_URL", url(server));
    command
}

pub fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port())
}

/// A folder for the files of one test.
pub struct Folder(splitbloom_harness::Folder);

impl Folder {
    pub fn new() -> Self {
        Self(splitbloom_harness::Folder::fresh())
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    /// A file of this contents. Returns its path.
    pub fn file(&self, name: &str, contents: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, contents).expect("the folder is writable");
        path
    }

    /// The names of all files in it.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder is readable");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }
}

/// Lines that are not too short.
pub fn lines(numbers: Range<u32>) -> String {
    numbers.map(|number| format!("https://example.org/{number}\n")).collect()
}

/// What a run printed, and its exit code.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// It ended with this code, and printed this.
    pub fn ends(&self, code: i32, stdout: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (code, stdout), "{self:?}");
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code().expect("an exit code"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

pub trait Runs {
    /// Runs it to its end, without input.
    fn run(&mut self) -> Run;

    /// Runs it with this input.
    fn run_with(&mut self, input: &[u8]) -> Run;

    /// Runs it; it must succeed without a word on standard error. Returns what it printed.
    fn prints(&mut self) -> String {
        let run = self.run();
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
        run.stdout
    }

    /// Runs it; it must fail with this code and one line on standard error, which is returned
    /// without the name of the tool.
    fn error(&mut self, code: i32) -> String {
        let run = self.run();
        run.ends(code, "");
        let message = run.stderr.strip_prefix("splitbloom: ");
        let message = message.and_then(|message| message.strip_suffix('\n'));
        let message = message.filter(|message| !message.contains('\n'));
        message.unwrap_or_else(|| panic!("{run:?}")).into()
    }

    /// The same; these words are in the line.
    fn error_with(&mut self, code: i32, words: &str) -> String {
        let message = self.error(code);
        assert!(message.contains(words), "{words} in {message}");
        message
    }
}

impl Runs for Command {
    fn run(&mut self) -> Run {
        self.run_with(b"")
    }

    fn run_with(&mut self, input: &[u8]) -> Run {
        self.stdin(Stdio::piped());
        self.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn().expect("the tool starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        thread::scope(|scope| {
            // A tool that fails early reads no input.
            scope.spawn(move || drop(stdin.write_all(input)));
            child.wait_with_output().expect("the tool ends").into()
        })
    }
}
