//! The ways in which values come over from another server's module, into a server with both of
//! ours.

use splitbloom_harness::Server;
use std::fs;

/// Moves all that `origin` has in each way that brings what its module saved, and hands each server
/// that has it to `check`, with the name of the way.
pub fn by_what_is_saved(origin: &Server, check: &mut dyn FnMut(&Server, &str)) {
    by_rewritten_file(origin, "no", check);
    by_rewritten_file(origin, "yes", check);
    by_rdb_file(origin, check);
    by_dump_and_restore(origin, check);
    by_replica(origin, "yes", check);
    by_replica(origin, "no", check);
}

/// Moves by an append-only file of commands. They make values of ours: a filter has other false
/// positives, and a top-k other random numbers.
pub fn by_file_of_commands(origin: &Server) -> Server {
    let server = Server::with_sketches(&["appendonly yes", "appendfsync no"]);
    with_files(server, origin, &["appendonlydir"])
}

fn by_rewritten_file(origin: &Server, preamble: &str, check: &mut dyn FnMut(&Server, &str)) {
    let mut db = origin.connect();
    db.run(&format!("CONFIG SET aof-use-rdb-preamble {preamble}"));
    db.rewrite_append_only_file();
    check(
        &by_file_of_commands(origin),
        &format!("rewritten append-only file, RDB preamble {preamble}"),
    );
}

fn by_rdb_file(origin: &Server, check: &mut dyn FnMut(&Server, &str)) {
    origin.connect().run("SAVE");
    check(&with_files(Server::with_sketches(&[]), origin, &["dump.rdb"]), "RDB file");
}

fn by_dump_and_restore(origin: &Server, check: &mut dyn FnMut(&Server, &str)) {
    let server = Server::with_sketches(&[]);
    copy_all(origin, &server);
    check(&server, "DUMP and RESTORE");
}

/// Copies every value by DUMP and RESTORE.
pub fn copy_all(from: &Server, to: &Server) {
    let (mut from, mut to) = (from.connect(), to.connect());
    for key in from.run("KEYS *").elements() {
        let key = key.bytes();
        let payload = from.call([b"DUMP", key]).bytes().to_vec();
        let reply = to.call([b"RESTORE", key, b"0", &payload]);
        assert_eq!(reply.to_string(), "+OK", "{}", String::from_utf8_lossy(key));
    }
}

fn by_replica(origin: &Server, diskless: &str, check: &mut dyn FnMut(&Server, &str)) {
    let mut db = origin.connect();
    db.run(&format!("CONFIG SET repl-diskless-sync {diskless}"));
    let replica = Server::with_sketches(&[&format!("replicaof 127.0.0.1 {}", origin.port())]);
    origin.wait_for(&replica);
    replica.connect().run("REPLICAOF NO ONE");
    check(&replica, &format!("replica, diskless {diskless}"));
}

/// The server `to`, started again with files from another server's folder.
pub fn with_files(mut to: Server, from: &Server, names: &[&str]) -> Server {
    to.kill();
    for name in names {
        let (from, to) = (from.folder().join(name), to.folder().join(name));
        if from.is_dir() {
            let _ = fs::remove_dir_all(&to);
            fs::create_dir_all(&to).expect("a folder");
            for file in fs::read_dir(from).expect("a folder") {
                let file = file.expect("a file").path();
                fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("a copy");
            }
        } else {
            fs::copy(from, to).expect("a copy");
        }
    }
    to.start_again();
    to
}
