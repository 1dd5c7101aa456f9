//! The names of the filters' types, which documents and scripts repeat: whoever looks for filters
//! must look for all of them.

use super::blocks;
use super::desk::Desk;
use super::{documents, files_below, read, root};
use splitbloom_filter::StoredType;
use splitbloom_harness::samples::OF_VALKEY_BLOOM;
use std::fs;

#[test]
fn what_names_one_type_of_filters_names_all() {
    let names = StoredType::ALL.map(StoredType::name);
    let documents = documents().into_iter().map(|path| root().join(path));
    let folders = ["packaging", "examples"].into_iter();
    let files = folders.flat_map(|folder| files_below(&root().join(folder)));
    let (mut incomplete, mut complete) = (Vec::new(), 0);
    for path in documents.chain(files) {
        let Ok(text) = fs::read_to_string(&path) else {
            continue; // a picture
        };
        match names.iter().filter(|name| text.contains(*name)).count() {
            0 => {}
            all if all == names.len() => complete += 1,
            _ => incomplete.push(path),
        }
    }
    assert!(incomplete.is_empty(), "{incomplete:?}");
    assert!(complete >= 5, "{complete}");
}

#[test]
fn the_script_that_removes_the_filters_leaves_none() {
    let desk = Desk::for_readers_of("docs/install.md");
    let mut db = desk.server().connect();
    db.run_all(["BF.ADD bloom a", "CF.ADD counting a", "SET text a"]);
    OF_VALKEY_BLOOM[0].under("came").restore(&mut db);
    let blocks = blocks::of(&read("docs/install.md"));
    let script = blocks.iter().find(|block| block.text.contains("UNLINK"));
    let script = &script.expect("the script").text;
    desk.run_shell(script).expect("it succeeds");
    assert_eq!(db.ask("KEYS *"), "[$text]");
}
