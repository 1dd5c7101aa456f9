//! Each recipe has a page with a program in Python and one in Rust, short enough to be read.

use super::{read, root};
use std::fs;
use std::path::Path;

/// Two screens.
const LINES: usize = 62;

/// What programs share.
const SHARED: [&str; 2] = ["fail_open", "rebuild"];

#[test]
fn each_recipe_shows_what_its_two_programs_print_and_they_are_short() {
    let pages = files("docs/recipes", "md");
    let pages = pages.iter().filter(|page| *page != "README");
    let pages: Vec<&String> = pages.collect();
    assert!(!pages.is_empty());
    let index = read("docs/recipes/README.md");
    for page in &pages {
        let text = read(format!("docs/recipes/{page}.md"));
        assert!(text.contains(&format!("\n$ python3 examples/recipes/{page}.py ")));
        let name = format!("recipe-{page}");
        assert!(text.contains(&format!("\n$ cargo run --quiet --example {name} ")));
        assert!(index.contains(&format!("({page}.md)")), "{page}");
    }
    for language in ["py", "rs"] {
        let programs = files("examples/recipes", language);
        assert_eq!(programs.iter().collect::<Vec<_>>(), pages);
        let programs = programs.iter().map(|program| format!("{program}.{language}"));
        let shared = SHARED.iter().map(|part| match language {
            "py" => format!("{part}/__init__.py"),
            _ => format!("{part}/mod.rs"),
        });
        for file in programs.chain(shared) {
            let lines = read(format!("examples/recipes/{file}")).lines().count();
            assert!(lines <= LINES, "{file}: {lines} lines");
        }
    }
}

/// Where a filter was lost, an add must not make one that lacks all other items.
#[test]
fn what_a_program_rebuilds_none_of_its_adds_creates() {
    let mut rebuilding = 0;
    for language in ["py", "rs"] {
        for program in files("examples/recipes", language) {
            let text = read(format!("examples/recipes/{program}.{language}"));
            rebuilding += usize::from(text.contains("rebuild("));
            for line in text.lines().filter(|_| text.contains("rebuild(")) {
                let adds = ["bf_add", "bf_madd", "BF.ADD", "BF.MADD", "BF.INSERT", "BF.PACKADD"];
                let is_add = adds.iter().any(|add| line.contains(add));
                assert!(!is_add || line.contains("NOCREATE"), "{program}.{language}: {line}");
            }
        }
    }
    assert!(rebuilding > 6);
}

/// The names of a folder's files with that extension, without it.
pub fn files(folder: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let name = Path::new(&name);
        if name.extension().is_some_and(|found| found == extension) {
            let stem = name.file_stem().unwrap_or_default();
            found.push(stem.to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}
