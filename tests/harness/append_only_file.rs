//! What a server replicates, read from its append-only file.

use super::{eventually, Reply, Server};
use std::fs;
use std::io::BufReader;

/// The commands in the newest incremental file, arguments joined by spaces, without SELECT.
pub fn commands_in_append_only_file(server: &Server) -> Vec<String> {
    // A server that is still synchronizing the file writes up to two seconds later.
    let mut db = server.connect();
    eventually("all commands are in the file", || {
        let info = db.run("INFO persistence").text();
        !info.contains("aof_buffer_length:") || info.contains("aof_buffer_length:0\r\n")
    });
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
