//! What the documents show is run: sessions and commands, Python, shell, lines of redis.conf.
//!
//! The blocks of a document are run in order and share a server, so what one block adds the next
//! one finds. A block that cannot be run has a comment before it that says why, or names the test
//! that runs it or the file that it is an excerpt of; [`Mark`] lists the three. A block that is
//! neither run nor marked fails.

mod blocks;
mod commands;
mod desk;
mod failures;
mod layout;
mod package;
mod production;
mod recipes;
mod references;
mod session;
mod stored_types;

use blocks::{Block, Mark};
use desk::Desk;
use splitbloom_rig::documents;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Fails with what differs from the document.
type Outcome = Result<(), String>;

/// A kind of block: how it is recognised, and how it is run.
struct Kind {
    recognises: fn(&Block) -> bool,
    run: fn(&Block, &Desk) -> Outcome,
}

/// The first kind that recognises a block runs it.
const KINDS: [Kind; 8] = [
    Kind {
        recognises: |block| block.mark.is_some(),
        run: |block, desk| check_mark(block, desk.document()),
    },
    Kind {
        recognises: |block| block.language == "python",
        run: |block, desk| desk.run_python(&block.text),
    },
    Kind { recognises: session::is_session, run: session::replay },
    Kind { recognises: commands::is_synopsis, run: commands::compare_with_the_server },
    Kind { recognises: commands::is_use_of_the_tool, run: commands::compare_with_the_help },
    Kind {
        recognises: |block| block.language == "sh" || block.begins_with(&["redis-cli", "python3"]),
        run: |block, desk| desk.run_shell(&block.text),
    },
    Kind {
        recognises: |block| block.begins_with(&["loadmodule"]),
        run: |block, desk| desk.start_with(&block.text),
    },
    Kind { recognises: commands::are_commands, run: commands::send },
];

#[test]
fn every_block_of_the_documents_does_what_it_shows_or_says_why_it_is_not_run() {
    let mut failures = String::new();
    for document in documents() {
        let desk = Desk::for_readers_of(&document);
        for block in blocks::of(&read(&document)) {
            if let Err(failure) = run(&block, &desk) {
                failures += &format!("{document}:{}: {failure}\n{}\n", block.line, block.text);
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn the_python_of_the_readme_can_be_typed_twice() {
    let desk = Desk::for_readers_of("README.md");
    let mut programs =
        blocks::of(&read("README.md")).into_iter().filter(|block| block.language == "python");
    let program = programs.next().expect("an example");
    for time in ["first", "second"] {
        assert_eq!(desk.run_python(&program.text), Ok(()), "the {time} time");
    }
}

#[test]
fn links_and_make_targets_in_the_documents_exist() {
    let mut broken = String::new();
    for document in documents() {
        for reference in references::broken(&document) {
            broken += &format!("{document}: {reference}\n");
        }
    }
    assert!(broken.is_empty(), "\n{broken}");
}

#[test]
fn the_tables_and_figures_of_the_documents_are_those_that_the_benchmarks_saved() {
    for document in documents::DOCUMENTS {
        let text = read(document);
        let filled = documents::filled(document).expect("tables that exist");
        let stale = text.lines().zip(filled.lines()).find(|(now, then)| now != then);
        assert_eq!(stale, None, "{document}: make report would change it");
        assert_eq!(text, filled, "{document}");
    }
}

#[test]
fn make_run_prints_the_first_commands_of_the_readme() {
    let (banner, readme) = (read("scripts/run"), read("README.md"));
    let commands = banner.lines().map(str::trim).filter(|line| line.starts_with("BF."));
    let prompted = commands.map(|command| format!("> {command}\n"));
    let unknown: Vec<_> = prompted.filter(|line| !readme.contains(line)).collect();
    assert_eq!(unknown, Vec::<String>::new());
}

fn run(block: &Block, desk: &Desk) -> Outcome {
    match KINDS.iter().find(|kind| (kind.recognises)(block)) {
        Some(kind) => (kind.run)(block, desk),
        None => Err("not run, and no <!-- not run: reason --> before it".into()),
    }
}

/// What the comment before a block says must be true.
fn check_mark(block: &Block, document: &str) -> Outcome {
    let read = |path: &str| {
        fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
    };
    match block.mark.as_ref().expect("a mark") {
        Mark::NotRun(reason) if reason.is_empty() => Err("not run, for no reason".into()),
        Mark::NotRun(_) => Ok(()),
        Mark::RunBy(path) => match read(path)?.contains(document) {
            true => Ok(()),
            false => Err(format!("{path} does not name this document")),
        },
        Mark::From(path) => match trimmed(&read(path)?).contains(&trimmed(&block.text)) {
            true => Ok(()),
            false => Err(format!("no part of {path}")),
        },
    }
}

/// An excerpt may be indented differently, and leave out empty lines.
fn trimmed(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

/// The README, how to contribute, and all of docs, as paths in the repository.
fn documents() -> Vec<String> {
    let docs = files_below(&root().join("docs")).into_iter();
    let docs = docs.map(|path| path.strip_prefix(root()).expect("below it").display().to_string());
    let mut found: Vec<String> = docs.filter(|path| path.ends_with(".md")).collect();
    found.extend(["CONTRIBUTING.md", "README.md"].map(str::to_owned));
    found.sort();
    found
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(path)).expect("a file of the repository")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the examples, which are built with the tests.
fn examples() -> PathBuf {
    let test = env::current_exe().expect("a path");
    test.ancestors().nth(2).expect("the folder of the profile").join("examples")
}
