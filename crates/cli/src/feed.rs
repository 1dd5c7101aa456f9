//! Items through several connections.
//!
//! ```text
//!               ┌──► worker ──┐
//!   reader ─────┼──► worker ──┼────► answers, in the order of the blocks
//!     ▲         └──► worker ──┘              │
//!     └─────────── buffers ◄─────────────────┘
//! ```
//!
//! The reader cuts the input into blocks. Each worker has connections of its own, with one block
//! under way on each, and the caller's thread takes the answers. There is a fixed number of
//! buffers, so workers that wait stop the reader sooner or later. The threads end when their
//! receiver is dropped; one that waits for standard input ends with the process.

mod worker;

use crate::error::Error;
use crate::input::{Framing, InputArguments, Source};
use crate::interrupt::hold_signals;
use crate::progress;
use crate::target::SpreadArguments;
use indicatif::ProgressBar;
use splitbloom_client::Layout;
use std::collections::BTreeMap;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use worker::{among_threads, Worker};
use xxhash_rust::xxh3::Xxh3;

/// What to read.
pub struct Reading {
    pub sources: Vec<Source>,
    pub framing: Framing,
    /// About the bytes of a block.
    pub block_bytes: usize,
    /// Where to begin.
    pub from: Mark,
    /// Whether the digest in a mark is needed.
    pub with_digests: bool,
    /// Counts the bytes read, before unpacking, and shows the items done.
    pub bar: ProgressBar,
}

/// What the arguments say to read.
///
/// # Errors
/// One of the inputs cannot be read, or contains no items.
pub fn reading(
    what: &'static str,
    input: &InputArguments,
    spread: &SpreadArguments,
) -> Result<Reading, Error> {
    let sources = input.sources()?;
    let bar = progress::of_sources(what, &sources);
    Ok(Reading::new(sources, input.framing(), spread.block_bytes(), bar))
}

impl Reading {
    /// From the beginning, without digests.
    pub fn new(
        sources: Vec<Source>,
        framing: Framing,
        block_bytes: usize,
        bar: ProgressBar,
    ) -> Self {
        let (from, with_digests) = (Mark::default(), false);
        Self { sources, framing, block_bytes, from, with_digests, bar }
    }
}

/// A place between two items of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Which of the sources.
    pub source: usize,
    /// Bytes of it, unpacked.
    pub offset: u64,
    /// XXH3 of these bytes, or 0 without `with_digests`.
    pub digest: u64,
}

/// Some items of the input.
pub struct Block {
    pub bytes: Vec<u8>,
    /// Where they end.
    pub end: Mark,
}

enum Event<T> {
    Answered(Block, T),
    Failed(Error),
    End,
}

/// How the items of such an input are packed for the server.
pub fn layout(framing: Framing) -> Layout {
    match framing {
        Framing::Lines | Framing::Text => Layout::Lines,
        Framing::Fixed(width) => Layout::Fixed(width),
    }
}

/// Sends each block of the input on one of the connections, and gives the answers to `take` in the
/// order of the blocks; it returns how many items are done. `send` and `receive` are called in turn
/// for each connection; blocks may be sent on others in between.
///
/// # Errors
/// The first error of the reader, or of `take`; or an interruption. Blocks before it have been
/// taken; those after it may have been sent.
pub fn run<C, S, T>(
    reading: Reading,
    connections: Vec<C>,
    send: impl Fn(C, &Block) -> S + Clone + Send + 'static,
    receive: fn(S) -> (C, T),
    take: impl FnMut(&Block, T) -> Result<u64, Error>,
) -> Result<(), Error>
where
    C: Send + 'static,
    S: 'static,
    T: Send + 'static,
{
    let bar = reading.bar.clone();
    let (used, buffers) = channel();
    // One on each connection, one to be sent next, and one to read into.
    for _ in 0..connections.len() + 2 {
        let _ = used.send(Vec::new());
    }
    let (to_workers, blocks) = channel();
    let blocks = Arc::new(Mutex::new(blocks));
    let (events, happened) = channel();
    let interrupted = events.clone();
    let _on_interrupt = hold_signals().on_interrupt(move |signal| {
        let error = Error::Interrupted(signal, "interrupted".into());
        let _ = interrupted.send((0, Event::Failed(error))); // this may be at its end
    });
    for connections in among_threads(connections) {
        let worker = Worker {
            blocks: Arc::clone(&blocks),
            events: events.clone(),
            send: send.clone(),
            receive,
        };
        thread::spawn(move || worker.work(connections));
    }
    thread::spawn(move || {
        let mut number = 0;
        let read = read(reading, &buffers, |block| {
            number += 1;
            to_workers.send((number - 1, block)).is_ok()
        });
        let last = read.map_or_else(Event::Failed, |()| Event::End);
        let _ = events.send((number, last)); // nobody listens after an error
    });

    let taken = in_order(happened, &used, &bar, take);
    bar.finish_and_clear();
    taken
}

/// Takes the answers in the order of the blocks, whose buffers are `used` then.
fn in_order<T>(
    happened: Receiver<(u64, Event<T>)>,
    used: &Sender<Vec<u8>>,
    bar: &ProgressBar,
    mut take: impl FnMut(&Block, T) -> Result<u64, Error>,
) -> Result<(), Error> {
    let mut early = BTreeMap::new();
    let mut next = 0_u64;
    for (number, event) in happened {
        let is_interruption = matches!(event, Event::Failed(Error::Interrupted(..)));
        // That does not wait for its turn.
        early.insert(if is_interruption { next } else { number }, event);
        while let Some(event) = early.remove(&next) {
            match event {
                Event::Answered(block, answer) => {
                    progress::show_items(bar, take(&block, answer)?);
                    let _ = used.send(block.bytes); // the reader may have ended
                }
                Event::Failed(error) => return Err(error),
                Event::End => return Ok(()),
            }
            next += 1;
        }
    }
    // Only a panic, which ends the process, ends a thread without an event.
    Err(Error::Contents("internal error".into()))
}

/// Gives the blocks to `give`, until it returns false.
fn read(
    reading: Reading,
    buffers: &Receiver<Vec<u8>>,
    mut give: impl FnMut(Block) -> bool,
) -> Result<(), Error> {
    let from = reading.from;
    let mut spare = None;
    for (number, source) in reading.sources.iter().enumerate().skip(from.source) {
        let mut input = source.open(reading.framing, &reading.bar)?;
        let mut digest = Xxh3::new();
        let mut offset = 0;
        if number == from.source {
            offset = input.skip(from.offset, |bytes| digest.update(bytes))?;
            if offset != from.offset || (offset > 0 && digest.digest() != from.digest) {
                let name = source.name();
                return Err(Error::Contents(format!(
                    "{name} has changed since the checkpoint was written: delete that to begin anew"
                )));
            }
        }
        loop {
            let Some(mut bytes) = spare.take().or_else(|| buffers.recv().ok()) else {
                return Ok(());
            };
            if !input.next_block(reading.framing, reading.block_bytes, &mut bytes)? {
                spare = Some(bytes);
                break;
            }
            if reading.with_digests {
                digest.update(&bytes);
            }
            offset += bytes.len() as u64;
            let end = Mark {
                source: number,
                offset,
                digest: match reading.with_digests {
                    true => digest.digest(),
                    false => 0,
                },
            };
            let block = Block { bytes, end };
            if !give(block) {
                return Ok(());
            }
        }
    }
    Ok(())
}
