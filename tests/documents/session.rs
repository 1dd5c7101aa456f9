//! Sessions: commands, each after a prompt, and what is printed after them. They are typed again.

use super::blocks::Block;
use super::desk::Desk;
use super::Outcome;

/// Values that differ from run to run, with the seed or the server's allocator.
const VARYING: [&str; 6] =
    ["Size", "Expected false positive rate", "Estimated items", "Fill", "Set bits", "Guard"];

/// A command that is typed in a session, and where.
enum Typed<'a> {
    InShell(&'a str),
    InClient(&'a str),
}

impl Typed<'_> {
    fn read(line: &str) -> Option<Typed<'_>> {
        let in_client = ["> ", "127.0.0.1:6379> "];
        let in_client = in_client.iter().find_map(|prompt| line.strip_prefix(prompt));
        let in_shell = line.strip_prefix("$ ");
        (in_client.map(Typed::InClient)).or(in_shell.map(Typed::InShell))
    }
}

pub fn is_session(block: &Block) -> bool {
    block.text.lines().next().is_some_and(|line| Typed::read(line).is_some())
}

pub fn replay(block: &Block, desk: &Desk) -> Outcome {
    let speaks_resp3 = block.before.ends_with("In RESP3:");
    let mut replayed = String::new();
    for line in block.text.lines() {
        let printed = match Typed::read(line) {
            Some(Typed::InShell(command)) => desk.type_in_shell(command)?,
            Some(Typed::InClient(command)) => desk.type_in_client(command, speaks_resp3),
            None => continue,
        };
        replayed += &format!("{line}\n{printed}");
    }
    let written = without_varying_values(&block.text);
    match without_varying_values(&replayed) == written {
        true => Ok(()),
        false => Err(format!("it goes like this:\n{replayed}\nand is written like this:")),
    }
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
