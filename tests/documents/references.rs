//! What documents refer to exists: files, headings of documents, targets of the Makefile,
//! benchmarks.

use crate::{read, root};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::fs;
use std::path::Path;

/// Each reference of the document that leads nowhere.
pub fn broken(document: &str) -> Vec<String> {
    let (text, makefile) = (read(document), read("Makefile"));
    let mut broken = Vec::new();
    let mut is_in_block = false;
    for event in Parser::new(&text) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. })
                if !leads_somewhere(document, &dest_url) =>
            {
                broken.push(dest_url.into_string());
            }
            Event::Start(Tag::CodeBlock(_)) => is_in_block = true,
            Event::End(TagEnd::CodeBlock) => is_in_block = false,
            Event::Text(_) if !is_in_block => {}
            Event::Code(words) | Event::Text(words) => {
                let targets = words.lines().filter_map(make_target);
                let is_unknown = |target: &&str| !makefile.contains(&format!("\n{target}:"));
                let unknown = targets.filter(is_unknown);
                broken.extend(unknown.map(|target| format!("make {target}")));
                broken.extend(
                    words
                        .split_whitespace()
                        .filter(|word| names_no_benchmark(word))
                        .map(str::to_owned),
                );
            }
            _ => {}
        }
    }
    broken
}

/// Whether it is a `PARTS=` of `make bench` that is not there.
fn names_no_benchmark(word: &str) -> bool {
    let Some(part) = word.strip_prefix("PARTS=") else { return false };
    let benchmark = part.split('/').next().unwrap_or_default();
    let is_elsewhere = ["", "python", "recipes", "fpr", "bits"].contains(&part);
    let in_rust = root().join("benches").join(benchmark).join("main.rs");
    let in_python = root().join(format!("crates/python/benches/{part}.py"));
    !is_elsewhere && !in_rust.is_file() && !in_python.is_file()
}

/// The target of a line that is typed, or stands in backticks.
fn make_target(line: &str) -> Option<&str> {
    let target = line.strip_prefix("make ")?.split(' ').next()?;
    target
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        .then_some(target)
}

fn leads_somewhere(document: &str, link: &str) -> bool {
    if link.contains("://") {
        return true;
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let file = match path {
        "" => root().join(document),
        path => root().join(document).parent().unwrap_or(root()).join(path),
    };
    file.exists() && (heading.is_empty() || headings(&file).iter().any(|known| known == heading))
}

/// The names under which the headings of a document can be reached. One that a heading before it
/// has taken gets a number.
fn headings(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let (mut names, mut open) = (Vec::<String>::new(), None::<String>);
    for event in Parser::new(&text) {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { .. }), _) => open = Some(String::new()),
            (Event::Text(words) | Event::Code(words), Some(heading)) => *heading += &words,
            (Event::End(TagEnd::Heading(_)), Some(heading)) => {
                let name = name(heading);
                let numbered = (1..).map(|number| format!("{name}-{number}"));
                let mut free = [name.clone()].into_iter().chain(numbered);
                names.extend(free.find(|name| !names.contains(name)));
                open = None;
            }
            _ => {}
        }
    }
    names
}

fn name(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    let name: String = heading.to_lowercase().chars().filter(kept).collect();
    name.replace(' ', "-")
}
