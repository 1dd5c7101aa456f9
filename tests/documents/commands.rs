//! Commands without their replies: those that a document gives to type, and synopses, of the
//! server's commands and of the tool's.

use super::blocks::Block;
use super::desk::Desk;
use super::Outcome;
use splitbloom_harness::Reply;
use std::collections::BTreeSet;

/// Whether every line is a command, to be recognised by a first word in capitals.
pub fn are_commands(block: &Block) -> bool {
    let is_name = |word: &str| {
        word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'.')
    };
    let mut lines = block.text.lines();
    lines.all(|line| line.split(' ').next().is_some_and(is_name))
}

/// Sends them; none may return an error.
pub fn send(block: &Block, desk: &Desk) -> Outcome {
    for line in block.text.lines() {
        let reply = desk.type_in_client(line, false);
        if reply.contains("(error)") || reply.is_empty() {
            return Err(format!("{line} returns {reply}"));
        }
    }
    Ok(())
}

/// Whether it says how the command of its section is written.
pub fn is_synopsis(block: &Block) -> bool {
    block.begins_with(&[&block.heading])
}

/// The words of a synopsis must be those that the server documents.
pub fn compare_with_the_server(block: &Block, desk: &Desk) -> Outcome {
    let name = block.heading.to_lowercase();
    let mut db = desk.server().connect();
    let docs = db.line(&format!("COMMAND DOCS {name}"));
    let mut known = BTreeSet::new();
    tokens(&docs.field(&name).field("arguments"), &mut known);
    let is_letter = |letter: char| letter.is_ascii_uppercase();
    let written = block.text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let written = written.filter(|word| word.len() > 1 && word.chars().all(is_letter));
    // The name of the command is no argument of it.
    let written: BTreeSet<String> = written.skip(2).map(str::to_owned).collect();
    match written == known {
        true => Ok(()),
        false => Err(format!("the server documents {known:?}")),
    }
}

/// The words in a description of arguments, however deep.
fn tokens(arguments: &Reply, found: &mut BTreeSet<String>) {
    for argument in arguments.elements() {
        for (name, value) in argument.pairs() {
            match name.as_str() {
                "token" => drop(found.insert(value.text())),
                "arguments" => tokens(&value, found),
                _ => {}
            }
        }
    }
}

/// Whether it says how a command of the tool is written.
pub fn is_use_of_the_tool(block: &Block) -> bool {
    block.begins_with(&["splitbloom"])
}

/// The tool must have the command, and its help all options.
pub fn compare_with_the_help(block: &Block, desk: &Desk) -> Outcome {
    let mut words =
        block.text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let command = words.nth(1).unwrap_or_default();
    let help = desk.type_in_shell(&format!("splitbloom {command} --help"))?;
    match words.find(|word| word.starts_with("--") && !help.contains(word)) {
        None => Ok(()),
        Some(unknown) => Err(format!("splitbloom {command} has no {unknown}")),
    }
}
