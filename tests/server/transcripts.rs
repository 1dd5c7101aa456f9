//! The sessions with redis-cli that docs/commands.md and the README show, typed again.

use crate::harness::Server;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Fields whose values differ from run to run, with the seed or the server's allocator.
const VARYING: [&str; 6] = [
    "Size",
    "Expected false positive rate",
    "Estimated items",
    "Fill",
    "Set bits",
    "Guard",
];

/// One session: commands, each after a prompt, and what is printed after them.
struct Session {
    speaks_resp3: bool,
    text: String,
}

#[test]
fn the_sessions_in_the_list_of_commands_go_as_written() {
    // All of them are one session, from an empty server.
    play("docs/commands.md", "> ", &Server::start());
}

#[test]
fn the_session_in_the_readme_goes_as_written() {
    play("README.md", "127.0.0.1:6379> ", &Server::start());
}

fn play(page: &str, prompt: &str, server: &Server) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join(page)).unwrap();
    let sessions = sessions(&page, prompt);
    assert!(!sessions.is_empty());
    for session in sessions {
        let mut replayed = String::new();
        for line in session.text.lines() {
            if let Some(command) = line.strip_prefix(prompt) {
                let reply = ask(server, command, session.speaks_resp3);
                replayed += &format!("{line}\n{reply}");
            }
        }
        let written = without_varying_values(&session.text);
        assert_eq!(without_varying_values(&replayed), written);
    }
}

/// The blocks of the page that begin with a prompt.
fn sessions(page: &str, prompt: &str) -> Vec<Session> {
    let mut sessions = Vec::new();
    let (mut before, mut open) = ("", None::<Session>);
    for line in page.lines() {
        match &mut open {
            Some(_) if line == "```" => sessions.extend(open.take()),
            Some(session) if session.text.is_empty() && !line.starts_with(prompt) => {}
            Some(session) => session.text += &format!("{line}\n"),
            None if line.starts_with("```") => {
                let speaks_resp3 = before.ends_with("In RESP3:");
                open = Some(Session {
                    speaks_resp3,
                    text: String::new(),
                });
            }
            None => {}
        }
        if !line.is_empty() {
            before = line;
        }
    }
    sessions.retain(|session| !session.text.is_empty());
    sessions
}

/// What the server's own client prints for the command, as on a terminal.
fn ask(server: &Server, command: &str, speaks_resp3: bool) -> String {
    let mut cli = Command::new(cli());
    cli.args(["--no-raw", "-p", &server.port().to_string()]);
    cli.args(speaks_resp3.then_some("-3"));
    let cli = cli.args(command.split(' ')).output().unwrap();
    let mut reply = String::from_utf8(cli.stdout).unwrap();
    while reply.ends_with("\n\n") {
        reply.pop();
    }
    reply
}

/// The client that comes with the server.
fn cli() -> PathBuf {
    let server = PathBuf::from(env::var_os("SPLITBLOOM_SERVER").unwrap());
    let name = server.file_name().and_then(|name| name.to_str()).unwrap();
    server.with_file_name(name.replace("-server", "-cli"))
}

/// The text with a question mark in place of each value that differs from run to run: behind its
/// name, or, where names and values take turns, in the line after it.
fn without_varying_values(text: &str) -> String {
    let mut kept = String::new();
    let mut is_value = false;
    for line in text.lines() {
        let name = VARYING.iter().find(|name| line.contains(*name));
        let end = match name {
            _ if is_value => line.find(')').map(|end| end + 1),
            Some(_) => line.find("=>"),
            None => None,
        };
        is_value = name.is_some() && end.is_none();
        match end {
            Some(end) => kept += &format!("{} ?\n", line[..end].trim_start()),
            None => kept += &format!("{}\n", with_shortest_digits(line.trim_end())),
        }
    }
    kept
}

/// The line with the double that it ends with, if there is one, in the digits that Rust prints:
/// some servers print more of them.
fn with_shortest_digits(line: &str) -> String {
    match line.split_once("(double) ") {
        Some((name, value)) => format!("{name}{:?}", value.parse::<f64>()),
        None => line.to_string(),
    }
}
