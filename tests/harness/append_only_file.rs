//! What a server replicates, read from its append-only file.

use super::{Reply, Server};
use std::fs;
use std::io::BufReader;

/// The commands in the newest incremental file, arguments joined by spaces, without SELECT.
pub fn commands_in_append_only_file(server: &Server) -> Vec<String> {
    let folder = server.folder().join("appendonlydir");
    let entries = fs::read_dir(&folder).expect("an append-only file");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".incr.aof"));
    paths.sort();
    let newest = fs::read(paths.last().expect("an incremental file")).expect("a readable file");

    let mut source = BufReader::new(newest.as_slice());
    let mut commands = Vec::new();
    while let Ok(command) = Reply::read(&mut source) {
        let words: Vec<String> = command.elements().iter().map(Reply::text).collect();
        commands.push(words.join(" "));
    }
    commands.retain(|command| !command.starts_with("SELECT "));
    commands
}
