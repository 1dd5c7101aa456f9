//! Append-only files: what a server has replicated, and what one is to load.

use crate::{eventually, Options, Reply, Server};
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

/// A server that is to load the append-only file `base`, before it starts.
pub fn stopped_server_with_log(options: Options, base: &[u8]) -> Server {
    let mut server = Server::with(options.and_settings(&["appendonly yes"]));
    server.kill();
    let folder = server.folder().join("appendonlydir");
    for entry in fs::read_dir(&folder).expect("a folder") {
        fs::remove_file(entry.expect("an entry").path()).expect("the file can be removed");
    }
    fs::write(folder.join("appendonly.aof.1.base.aof"), base).expect("a file");
    let manifest = "file appendonly.aof.1.base.aof seq 1 type b\n";
    fs::write(folder.join("appendonly.aof.manifest"), manifest).expect("a file");
    server
}

/// The same, after it has loaded the file.
pub fn server_with_log(options: Options, base: &[u8]) -> Server {
    let mut server = stopped_server_with_log(options, base);
    server.start_again();
    server
}
