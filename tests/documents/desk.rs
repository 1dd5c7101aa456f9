//! Where the blocks of one document are run: a server, another one, and a folder that looks like
//! the repository, with the programs and files that documents take for granted.

use super::{examples, root, Outcome};
use splitbloom_harness::{
    module_path, server_path, sketch_module_path, tool_path, write_script, Options, Server,
};
use std::cell::OnceCell;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

/// Files that readers are assumed to have.
const FILES: [(&str, &str); 2] = [("urls", "/a\n/b\n"), ("items.txt", "alice\nbob\n")];

/// A command of redis-cli that fails also fails its shell script.
const AS_IN_A_SCRIPT: &str = "-e";
const AS_ON_A_TERMINAL: &str = "--no-raw";

pub struct Desk {
    document: String,
    /// On the usual port, or called `old`.
    server: Server,
    /// On the port after that, or called `new`.
    other: OnceCell<Server>,
}

impl Desk {
    pub fn for_readers_of(document: &str) -> Desk {
        let desk = Desk {
            document: document.to_owned(),
            server: Server::with_sketches(&[]),
            other: OnceCell::new(),
        };
        fs::create_dir_all(desk.folder().join("bin")).expect("a folder");
        for entry in fs::read_dir(root()).expect("the repository") {
            let entry = entry.expect("an entry");
            symlink(entry.path(), desk.folder().join(entry.file_name())).expect("a link");
        }
        for (name, contents) in FILES {
            fs::write(desk.folder().join(name), contents).expect("a file");
        }
        let client = format!("{} $CLIENT_OPTIONS -p {}", client().display(), desk.server.port());
        desk.provide("redis-cli", &client);
        desk.provide("valkey-cli", &client);
        // Otherwise the one on the PATH is used; a wrapper would call itself for ever.
        if let Ok(python) = env::var("SPLITBLOOM_PYTHON") {
            desk.provide("python3", &python);
        }
        let url = format!("redis://127.0.0.1:{}", desk.server.port());
        let tool = format!("env REDIS_URL={url} {}", tool_path().display());
        desk.provide("splitbloom", &tool);
        // `cargo run --quiet --example NAME -- …` would compile much again, with the features of
        // one package alone. The examples are built with the tests.
        let examples = examples();
        let run =
            format!("sh -c 'name=$4; shift 5; exec \"{}/$name\" \"$@\"' cargo", examples.display());
        desk.provide("cargo", &run);
        desk
    }

    pub fn document(&self) -> &str {
        &self.document
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    fn folder(&self) -> PathBuf {
        self.server.folder().join("desk")
    }

    /// Puts a program that runs this command on the PATH. The command itself is looked up on ours:
    /// it may have the same name.
    fn provide(&self, name: &str, command: &str) {
        let path = self.folder().join("bin").join(name);
        let ours = env::var("PATH").unwrap_or_default();
        let script = format!("#!/bin/sh\nPATH='{ours}'\nexec {command} \"$@\"\n");
        write_script(&path, &script);
    }

    /// The text with these servers in place of those that the document names.
    fn with_our_servers(&self, text: &str) -> String {
        let text = text
            .replace("//old:6379", "//127.0.0.1:6379")
            .replace("//new:6379", "//127.0.0.1:6380")
            .replace("Redis()", "Redis(port=6379)")
            .replace("Redis(protocol", "Redis(port=6379, protocol")
            .replace("6379", &self.server.port().to_string());
        if !text.contains("6380") {
            return text;
        }
        let other = self.other.get_or_init(|| Server::with_sketches(&[]));
        text.replace("6380", &other.port().to_string())
    }

    /// Runs a program. Where a `print` has a comment, that is what it must print.
    pub fn run_python(&self, program: &str) -> Outcome {
        let printed = self.output("python3", &["-c", program], AS_IN_A_SCRIPT)?;
        let printed: Vec<&str> = printed.lines().collect();
        let comments = program
            .lines()
            .filter(|line| line.trim_start().starts_with("print("))
            .filter_map(|line| line.split_once("  # "));
        let promised: Vec<&str> = comments.map(|(_, comment)| comment.trim()).collect();
        let is_kept = |(printed, promised): (&&str, &&str)| {
            // Such as: [1, 0]; [True, False] with RESP3
            let mut choices = promised.split("; ");
            choices.any(|choice| choice.split(" with ").next() == Some(printed))
        };
        let are_kept = promised.is_empty()
            || promised.len() == printed.len() && printed.iter().zip(&promised).all(is_kept);
        are_kept.then_some(()).ok_or_else(|| format!("it prints {printed:?}"))
    }

    /// Runs a script, which must succeed.
    pub fn run_shell(&self, script: &str) -> Outcome {
        let strict = ["-euo", "pipefail", "-c", script];
        self.output("bash", &strict, AS_IN_A_SCRIPT).map(|_| ())
    }

    /// What a command prints that is typed at a shell's prompt. It may fail.
    pub fn type_in_shell(&self, command: &str) -> Result<String, String> {
        let on_terminal = format!("{{ {command}\n}} 2>&1 || true");
        self.output("bash", &["-c", &on_terminal], AS_ON_A_TERMINAL)
    }

    /// What the server's client prints for a command that is typed at its prompt.
    pub fn type_in_client(&self, command: &str, speaks_resp3: bool) -> String {
        let mut client = Command::new(client());
        client.args([AS_ON_A_TERMINAL, "-p", &self.server.port().to_string()]);
        client.args(speaks_resp3.then_some("-3"));
        client.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = client.spawn().expect("the server's client");
        let mut prompt = client.stdin.take().expect("a pipe");
        prompt.write_all(command.as_bytes()).expect("it reads");
        drop(prompt);
        let output = client.wait_with_output().expect("it exits");
        let mut reply = String::from_utf8_lossy(&output.stdout).into_owned();
        while reply.ends_with("\n\n") {
            reply.pop();
        }
        reply
    }

    /// Starts a server with these lines in its configuration.
    pub fn start_with(&self, lines: &str) -> Outcome {
        let ours = [module_path(), sketch_module_path()].map(|path| path.display().to_string());
        let with_our_modules = |line: &str| {
            let words = line.split(' ').map(|word| {
                let name = word.rsplit('/').next().filter(|name| name.ends_with(".so"));
                let module = ours.iter().find(|path| name.is_some_and(|name| path.ends_with(name)));
                module.map_or(word, String::as_str)
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let server = Server::with(Options {
            settings: lines.lines().map(with_our_modules).collect(),
            without_module: true,
            ..Options::default()
        });
        let modules = server.connect().line("MODULE LIST");
        let mut names = modules.elements().iter().map(|module| module.field("name"));
        match names.any(|name| name.text() == "bf") {
            true => Ok(()),
            false => Err(format!("these modules are loaded: {modules}")),
        }
    }

    /// What a program prints that succeeds.
    fn output(&self, program: &str, arguments: &[&str], options: &str) -> Result<String, String> {
        let path = env::var("PATH").unwrap_or_default();
        let mut command = Command::new("/usr/bin/env");
        let output = command
            .arg(format!("PATH={}/bin:{path}", self.folder().display()))
            .arg(program)
            .args(arguments.iter().map(|text| self.with_our_servers(text)))
            .current_dir(self.folder())
            .env("CLIENT_OPTIONS", options)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{program}: {error}"))?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.success() {
            true => Ok(printed),
            false => Err(format!(
                "{}: {printed}{}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }
}

/// The client that comes with the server.
fn client() -> PathBuf {
    let server = server_path();
    let name = server.file_name().unwrap_or_default().to_string_lossy();
    server.with_file_name(name.replace("-server", "-cli"))
}
