//! Filters of all shapes, moved each way: all answers stay the same, and what is added afterwards
//! is there as well.

use crate::harness::{
    add_items, eventually, missing_items, module_path, peer, Connection, Family, Options, Random,
    Server,
};
use crate::number;
use crate::shapes::Shape;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

/// A server with filters of the module that they come from.
struct Origin {
    server: Server,
    shapes: Vec<Shape>,
}

impl Origin {
    fn new() -> Option<Origin> {
        let server = Server::with(peer()?.and_settings(&[
            "appendonly yes",
            "appendfsync no",
            "auto-aof-rewrite-percentage 0",
        ]));
        let mut shapes = Shape::all(&mut Random::seeded(number("SEED", 1)));
        let mut db = server.connect();
        for shape in &mut shapes {
            shape.write(&mut db);
        }
        let items: u64 = shapes.iter().map(|shape| shape.items).sum();
        eprintln!("written: {} filters, {items} items", shapes.len());
        Some(Origin { server, shapes })
    }

    fn assert_moved(&self, to: &Server, way: &str) {
        let mut db = to.connect();
        for shape in &self.shapes {
            shape.assert_moved(&mut db, way);
        }
        for shape in &self.shapes {
            lives_on(&mut db, shape, way);
        }
        db.run("DEBUG RELOAD");
        for shape in &self.shapes {
            shape.assert_lives(&mut db, way);
        }
        eprintln!("{way}: {} filters", self.shapes.len());
    }
}

/// Items that are added after the move; those that a full filter refuses are not its own.
fn lives_on(db: &mut Connection, shape: &Shape, way: &str) {
    const NEW: std::ops::Range<u64> = 10_000_000..10_000_500;
    let key = &shape.key;
    if shape.family == Family::Counting {
        for number in NEW {
            let added = shape.family.adding(key);
            let added = added.into_iter().chain([crate::harness::item(number)]);
            if db.call(added).to_string() != "[:1]" {
                return; // full
            }
        }
        assert_eq!(shape.family.missing_items(db, key, NEW), 0, "{way}, {key}");
    } else if !db.run(&format!("BF.INFO {key} EXPANSION")).to_string().contains('_') {
        add_items(db, key, NEW);
        assert_eq!(missing_items(db, key, NEW), 0, "{way}, {key}");
    }
    shape.assert_lives(db, way);
}

/// A server of ours that begins with files from another server's folder.
fn server_with_files(from: &Server, names: &[&str], lines: &[&str]) -> Server {
    let mut server = Server::with(Options::settings(lines));
    server.kill();
    for name in names {
        let (from, to) = (from.folder().join(name), server.folder().join(name));
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
    server.start_again();
    server
}

/// They are written once, and moved from there, as that takes longer than all moves.
#[test]
fn filters_of_all_shapes_move_each_way() {
    let Some(origin) = Origin::new() else { return };
    by_file_of_commands(&origin);
    by_rewritten_file(&origin, "no");
    by_rewritten_file(&origin, "yes");
    by_rdb_file(&origin);
    by_dump_and_restore(&origin);
    by_the_tool(&origin);
    by_replica(&origin, "yes");
    by_replica(&origin, "no");
}

/// Commands make filters of ours, with other false positives.
fn by_file_of_commands(origin: &Origin) {
    let lines = ["appendonly yes", "appendfsync no"];
    let server = server_with_files(&origin.server, &["appendonlydir"], &lines);
    let mut db = server.connect();
    for shape in &origin.shapes {
        shape.assert_lives(&mut db, "append-only file of commands");
    }
    eprintln!("append-only file of commands: {} filters", origin.shapes.len());
}

fn by_rewritten_file(origin: &Origin, preamble: &str) {
    let mut db = origin.server.connect();
    db.run(&format!("CONFIG SET aof-use-rdb-preamble {preamble}"));
    db.run("BGREWRITEAOF");
    eventually("the rewrite ends", || {
        db.info("persistence", "aof_rewrite_in_progress") == "0"
            && db.info("persistence", "aof_rewrite_scheduled") == "0"
    });
    let lines = ["appendonly yes", "appendfsync no"];
    let server = server_with_files(&origin.server, &["appendonlydir"], &lines);
    let way = format!("rewritten append-only file, RDB preamble {preamble}");
    origin.assert_moved(&server, &way);
}

fn by_rdb_file(origin: &Origin) {
    origin.server.connect().run("SAVE");
    let server = server_with_files(&origin.server, &["dump.rdb"], &[]);
    origin.assert_moved(&server, "RDB file");
}

fn by_dump_and_restore(origin: &Origin) {
    let server = Server::start();
    let (mut from, mut to) = (origin.server.connect(), server.connect());
    for Shape { key, .. } in &origin.shapes {
        let payload = from.call(["DUMP", key]).bytes().to_vec();
        let reply = to.call([b"RESTORE", key.as_bytes(), b"0", &payload]);
        assert_eq!(reply.to_string(), "+OK", "{key}");
    }
    origin.assert_moved(&server, "DUMP and RESTORE");
}

/// By SCANDUMP and LOADCHUNK.
fn by_the_tool(origin: &Origin) {
    let server = Server::start();
    let url = |server: &Server| format!("redis://127.0.0.1:{}", server.port());
    let migrate = |words: &[&str]| {
        let beside = || module_path().with_file_name("splitbloom");
        let tool = env::var_os("SPLITBLOOM_TOOL").map_or_else(beside, PathBuf::from);
        let mut command = Command::new(tool);
        command.arg("migrate").args([url(&origin.server), url(&server)]);
        let output = command.args(words).output().expect("the tool");
        assert!(output.status.success(), "{output:?}");
    };
    migrate(&[]);
    migrate(&["--check"]);
    origin.assert_moved(&server, "the tool");
}

fn by_replica(origin: &Origin, diskless: &str) {
    let mut db = origin.server.connect();
    db.run(&format!("CONFIG SET repl-diskless-sync {diskless}"));
    let replica = origin.server.replica(&[]);
    replica.connect().run("REPLICAOF NO ONE");
    origin.assert_moved(&replica, &format!("replica, diskless {diskless}"));
}
