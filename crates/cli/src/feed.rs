//! Items through several connections, or through several threads.
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
use indicatif::ProgressBar;
use splitbloom_client::Layout;
use std::collections::BTreeMap;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
pub use worker::among_threads;
use worker::Worker;
use xxhash_rust::xxh3::Xxh3;

/// What to read.
pub struct Reading {
    pub sources: Vec<Source>,
    pub framing: Framing,
    /// About the bytes of a block.
    pub block_bytes: usize,
    /// Where to begin, if the marks of the blocks are to have digests.
    pub from: Option<Mark>,
    /// Counts the bytes read, before unpacking, and shows the items done.
    pub bar: ProgressBar,
}

impl Reading {
    /// Everything that the arguments name, without digests. The bar begins with the word `what`;
    /// without it, the bar is hidden.
    ///
    /// # Errors
    /// One of the inputs cannot be read, or contains no items.
    pub fn new(
        what: Option<&'static str>,
        input: &InputArguments,
        block_bytes: usize,
    ) -> Result<Self, Error> {
        let sources = input.sources()?;
        let bar = what.map(|what| progress::of_sources(what, &sources));
        let bar = bar.unwrap_or_else(ProgressBar::hidden);
        Ok(Self { sources, framing: input.framing(), block_bytes, from: None, bar })
    }

    /// How the items are packed for the server.
    pub fn layout(&self) -> Layout {
        match self.framing {
            Framing::Lines | Framing::Text => Layout::Lines,
            Framing::Fixed(width) => Layout::Fixed(width),
        }
    }
}

/// A place between two items of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Which of the sources.
    pub source: usize,
    /// Bytes of it, unpacked.
    pub offset: u64,
    /// XXH3 of these bytes, or 0 if no digests are needed.
    pub digest: u64,
}

/// Some items of the input.
pub struct Block {
    pub bytes: Vec<u8>,
    /// Where they end.
    pub end: Mark,
}

/// A block with its answer, or the end of all.
type Event<T> = Result<Option<(Block, T)>, Error>;

/// Sends each block of the input on one of the connections, which are divided among threads, and
/// passes the answers to `take` in the order of the blocks; `take` returns how many items are done,
/// which the bar shows. `send` returns a function that receives the answer and gives the connection
/// back; before it is called, blocks may be sent on other connections.
///
/// # Errors
/// The first error of the reader, or of `take`; or an interruption. Blocks before it have been
/// taken; those after it may have been sent.
pub fn run<C, R, T>(
    reading: Reading,
    threads: Vec<Vec<C>>,
    send: impl Fn(C, &Block) -> R + Clone + Send + 'static,
    take: impl FnMut(&Block, T) -> Result<Option<u64>, Error>,
) -> Result<(), Error>
where
    C: Send + 'static,
    R: FnOnce() -> (C, T) + 'static,
    T: Send + 'static,
{
    let bar = reading.bar.clone();
    let (used, buffers) = channel();
    // One on each connection, one to be sent next, and one to read into.
    for _ in 0..threads.iter().map(Vec::len).sum::<usize>() + 2 {
        let _ = used.send(Vec::new());
    }
    let (to_workers, blocks) = channel();
    let blocks = Arc::new(Mutex::new(blocks));
    let (events, happened) = channel();
    let interrupted = events.clone();
    let _on_interrupt = hold_signals().on_interrupt(move |signal| {
        let error = Error::Interrupted(signal, "interrupted".into());
        let _ = interrupted.send((0, Err(error))); // this may be at its end
    });
    for connections in threads {
        let (blocks, events, send) = (Arc::clone(&blocks), events.clone(), send.clone());
        thread::spawn(move || Worker { blocks, events, send }.work(connections));
    }
    thread::spawn(move || {
        let mut count = 0;
        let read = read(reading, &buffers, &to_workers, &mut count);
        let _ = events.send((count, read.map(|()| None))); // nobody listens after an error
    });

    let taken = in_order(happened, &used, &bar, take);
    bar.finish_and_clear();
    taken
}

/// Passes the answers to `take` in the order of the blocks, and their buffers to `used`.
fn in_order<T>(
    happened: Receiver<(u64, Event<T>)>,
    used: &Sender<Vec<u8>>,
    bar: &ProgressBar,
    mut take: impl FnMut(&Block, T) -> Result<Option<u64>, Error>,
) -> Result<(), Error> {
    let mut early = BTreeMap::new();
    let mut next = 0_u64;
    for (number, event) in happened {
        let is_interruption = matches!(event, Err(Error::Interrupted(..)));
        // An interruption does not wait for its turn.
        early.insert(if is_interruption { next } else { number }, event);
        while let Some(event) = early.remove(&next) {
            let Some((block, answer)) = event? else {
                return Ok(());
            };
            progress::show_items(bar, take(&block, answer)?);
            let _ = used.send(block.bytes); // the reader may have ended
            next += 1;
        }
    }
    // Only a panic, which ends the process, ends a thread without an event.
    Err(Error::Contents("internal error".into()))
}

/// Sends the blocks to the workers, and counts them.
fn read(
    reading: Reading,
    buffers: &Receiver<Vec<u8>>,
    to_workers: &Sender<(u64, Block)>,
    count: &mut u64,
) -> Result<(), Error> {
    let Reading { framing, block_bytes, .. } = reading;
    let from = reading.from.unwrap_or_default();
    let Ok(mut bytes) = buffers.recv() else {
        return Ok(());
    };
    for (number, source) in reading.sources.iter().enumerate().skip(from.source) {
        let refused = |error| source.refused(error);
        let mut input = source.open(framing, &reading.bar)?;
        let mut digest = Xxh3::new();
        let mut end = Mark { source: number, ..Mark::default() };
        if number == from.source {
            let skipped = input.skip(from.offset, |bytes| digest.update(bytes));
            end.offset = skipped.map_err(refused)?;
            if end.offset != from.offset || (end.offset > 0 && digest.digest() != from.digest) {
                return Err(changed(source));
            }
        }
        while input.next_block(framing, block_bytes, &mut bytes).map_err(refused)? {
            end.offset += bytes.len() as u64;
            if reading.from.is_some() {
                digest.update(&bytes);
                end.digest = digest.digest();
            }
            let sent = to_workers.send((*count, Block { bytes, end }));
            *count += 1;
            let (Ok(()), Ok(buffer)) = (sent, buffers.recv()) else {
                return Ok(()); // nobody waits for more
            };
            bytes = buffer;
        }
    }
    Ok(())
}

fn changed(source: &Source) -> Error {
    let name = source.name();
    Error::Contents(format!(
        "{name} has changed since the checkpoint was written: delete that to begin anew"
    ))
}
