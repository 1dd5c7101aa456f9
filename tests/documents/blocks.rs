//! The code blocks of a document, fenced or indented, with what stands before them.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

pub struct Block {
    /// Where it begins, counted from 1.
    pub line: usize,
    /// The word after the fence; empty for an indented block.
    pub language: String,
    /// The heading of its section.
    pub heading: String,
    /// The paragraph before it.
    pub before: String,
    pub mark: Option<Mark>,
    pub text: String,
}

/// A comment before a block that is not run as it is.
#[derive(Clone)]
pub enum Mark {
    /// `<!-- not run: reason -->`
    NotRun(String),
    /// `<!-- run by PATH -->`: a test.
    RunBy(String),
    /// `<!-- from PATH -->`: the block is a part of that file, which a test runs.
    From(String),
}

impl Mark {
    fn read(comment: &str) -> Option<Mark> {
        let comment = comment.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
        let comment = comment.split_whitespace().collect::<Vec<_>>().join(" ");
        let after = |words: &str| comment.strip_prefix(words).map(|rest| rest.trim().to_owned());
        after("not run:")
            .map(Mark::NotRun)
            .or_else(|| after("run by ").map(Mark::RunBy))
            .or_else(|| after("from ").map(Mark::From))
    }
}

impl Block {
    /// Whether its first line begins with one of the words.
    pub fn begins_with(&self, words: &[&str]) -> bool {
        let first = self.text.split_whitespace().next();
        first.is_some_and(|first| words.contains(&first))
    }
}

/// What the text that is being read belongs to.
enum Place {
    Heading,
    Paragraph,
    Block,
}

/// The blocks of a document, in order.
pub fn of(document: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut heading, mut before, mut comment) = (String::new(), String::new(), String::new());
    let mut place = Place::Paragraph;
    for (event, range) in Parser::new(document).into_offset_iter() {
        match event {
            Event::Start(Tag::HtmlBlock) => comment.clear(),
            Event::Html(text) => comment += &text,
            Event::Start(Tag::CodeBlock(kind)) => {
                place = Place::Block;
                blocks.push(Block {
                    line: 1 + document[..range.start].matches('\n').count(),
                    language: language(kind),
                    heading: heading.clone(),
                    before: before.clone(),
                    mark: Mark::read(&std::mem::take(&mut comment)),
                    text: String::new(),
                });
            }
            Event::Start(tag) => {
                comment.clear(); // it is for the block right after it
                place = match tag {
                    Tag::Heading { .. } => Place::Heading,
                    Tag::Paragraph => Place::Paragraph,
                    _ => continue,
                };
                match place {
                    Place::Heading => heading.clear(),
                    _ => before.clear(),
                }
            }
            Event::Text(text) | Event::Code(text) => match place {
                Place::Heading => heading += &text,
                Place::Paragraph => before += &text,
                Place::Block => blocks.last_mut().expect("a block").text += &text,
            },
            Event::End(TagEnd::CodeBlock) => place = Place::Paragraph,
            _ => {}
        }
    }
    blocks
}

fn language(kind: CodeBlockKind) -> String {
    match kind {
        CodeBlockKind::Fenced(language) => language.to_string(),
        CodeBlockKind::Indented => String::new(),
    }
}
