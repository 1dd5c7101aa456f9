//! Filters of all shapes, moved each way: all answers stay the same, and what is added afterwards
//! is there as well.

use crate::number;
use crate::shapes::Shape;
use crate::ways;
use splitbloom_harness::{
    add_items, missing_items, peer, tool_path, Connection, Family, Random, Server, APPEND_ONLY,
};
use std::process::Command;

/// A server with filters of the module that they come from.
struct Origin {
    server: Server,
    shapes: Vec<Shape>,
}

impl Origin {
    fn new() -> Option<Origin> {
        let server = Server::with(peer()?.and_settings(&APPEND_ONLY));
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

/// Asserts that items added after the move are present, unless a full filter refuses one.
fn lives_on(db: &mut Connection, shape: &Shape, way: &str) {
    const NEW: std::ops::Range<u64> = 10_000_000..10_000_500;
    let key = &shape.key;
    if shape.family == Family::Counting {
        for number in NEW {
            let added = shape.family.adding(key);
            let added = added.into_iter().chain([splitbloom_harness::item(number)]);
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

/// The filters are written once, and moved from there: writing takes longer than all moves.
#[test]
fn filters_of_all_shapes_move_each_way() {
    let Some(origin) = Origin::new() else { return };
    by_file_of_commands(&origin);
    ways::by_what_is_saved(&origin.server, &mut |server, way| origin.assert_moved(server, way));
    by_the_tool(&origin);
}

fn by_file_of_commands(origin: &Origin) {
    let server = ways::by_file_of_commands(&origin.server);
    let mut db = server.connect();
    for shape in &origin.shapes {
        shape.assert_lives(&mut db, "append-only file of commands");
    }
    eprintln!("append-only file of commands: {} filters", origin.shapes.len());
}

/// By SCANDUMP and LOADCHUNK.
fn by_the_tool(origin: &Origin) {
    let server = Server::start();
    let url = |server: &Server| format!("redis://127.0.0.1:{}", server.port());
    let migrate = |words: &[&str]| {
        let mut command = Command::new(tool_path());
        command.arg("migrate").args([url(&origin.server), url(&server)]);
        let output = command.args(words).output().expect("the tool");
        assert!(output.status.success(), "{output:?}");
    };
    migrate(&[]);
    migrate(&["--check"]);
    origin.assert_moved(&server, "the tool");
}
