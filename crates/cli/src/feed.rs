//! Items through several connections.
//!
//! ```text
//!               ┌──► worker ──┐
//!   reader ─────┼──► worker ──┼────► answers, in the order of the blocks
//!     ▲         └──► worker ──┘              │
//!     └─────────── buffers ◄─────────────────┘
//! ```
//!
//! The reader cuts the input into blocks, each worker sends one block at a time on connections of
//! its own, and the caller's thread takes the answers. There is a fixed number of buffers, so a
//! worker that waits stops the reader sooner or later. The threads end when nobody takes what they
//! make; one that waits for standard input ends with the process.

use crate::error::Error;
use crate::input::{Framing, InputArguments, Source};
use crate::progress;
use crate::target::SpreadArguments;
use indicatif::ProgressBar;
use splitbloom_client::Layout;
use std::collections::BTreeMap;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use xxhash_rust::xxh3::Xxh3;

/// What to read.
pub struct Reading<F> {
    pub sources: Vec<Source>,
    pub framing: Framing,
    /// About the bytes of a block.
    pub block_bytes: usize,
    /// Where to begin.
    pub from: Mark,
    /// Is told how many bytes have been read, before unpacking.
    pub observe: F,
}

/// What the arguments say to read from a place on, and a bar that shows how much has been read.
pub fn reading(
    what: &'static str,
    input: &InputArguments,
    spread: &SpreadArguments,
    from: Mark,
) -> (
    Reading<impl FnMut(u64) + Clone + Send + 'static>,
    ProgressBar,
) {
    let sources = input.sources();
    let bar = progress::of_sources(what, &sources);
    let observed = bar.clone();
    let reading = Reading {
        sources,
        framing: input.framing(),
        block_bytes: spread.block_bytes(),
        from,
        observe: move |bytes| observed.inc(bytes),
    };
    (reading, bar)
}

/// A place between two items of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Which of the sources.
    pub source: usize,
    /// Bytes of it, unpacked.
    pub offset: u64,
    /// XXH3 of these bytes.
    pub digest: u64,
}

/// Some items of the input.
pub struct Block {
    pub bytes: Vec<u8>,
    /// How many.
    pub items: u64,
    /// Where they end.
    pub end: Mark,
}

enum Event<T> {
    Answered(Block, T),
    Failed(Error),
    End,
}

impl From<Framing> for Layout {
    fn from(framing: Framing) -> Self {
        match framing {
            Framing::Lines => Self::Lines,
            Framing::Fixed(width) => Self::Fixed(width),
        }
    }
}

/// Sends each block of the input to one of the workers, and gives their answers to `take` in the
/// order of the blocks.
///
/// # Errors
/// The first error of the reader, or of `take`. Blocks before it have been taken; those after it may
/// have been sent.
pub fn run<T: Send + 'static>(
    reading: Reading<impl FnMut(u64) + Clone + Send + 'static>,
    workers: Vec<impl FnMut(&Block) -> T + Send + 'static>,
    mut take: impl FnMut(&Block, T) -> Result<(), Error>,
) -> Result<(), Error> {
    let (used, buffers) = channel();
    // One for each worker, one for each that waits for one of them, and one to read into.
    for _ in 0..workers.len() * 2 + 1 {
        let _ = used.send(Vec::new());
    }
    let (to_workers, blocks) = channel();
    let blocks = Arc::new(Mutex::new(blocks));
    let (events, happened) = channel();
    for worker in workers {
        let (blocks, events) = (Arc::clone(&blocks), events.clone());
        thread::spawn(move || work(worker, &blocks, &events));
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

    let mut early = BTreeMap::new();
    let mut next = 0_u64;
    for (number, event) in happened {
        early.insert(number, event);
        while let Some(event) = early.remove(&next) {
            match event {
                Event::Answered(block, answer) => {
                    take(&block, answer)?;
                    let _ = used.send(block.bytes); // the reader may have ended
                }
                Event::Failed(error) => return Err(error),
                Event::End => return Ok(()),
            }
            next += 1;
        }
    }
    // Only a panic, which has been printed, ends a thread without an event.
    Err(Error::Contents("internal error".into()))
}

fn work<T>(
    mut worker: impl FnMut(&Block) -> T,
    blocks: &Mutex<Receiver<(u64, Block)>>,
    events: &Sender<(u64, Event<T>)>,
) {
    loop {
        let next = blocks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, block)) = next else { return };
        let answer = worker(&block);
        if events
            .send((number, Event::Answered(block, answer)))
            .is_err()
        {
            return;
        }
    }
}

/// Gives the blocks to `give`, until it returns false.
fn read(
    reading: Reading<impl FnMut(u64) + Clone + Send + 'static>,
    buffers: &Receiver<Vec<u8>>,
    mut give: impl FnMut(Block) -> bool,
) -> Result<(), Error> {
    let layout = Layout::from(reading.framing);
    let from = reading.from;
    let mut spare = None;
    for (number, source) in reading.sources.iter().enumerate().skip(from.source) {
        let mut input = source.open(reading.observe.clone())?;
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
            digest.update(&bytes);
            offset += bytes.len() as u64;
            let block = Block {
                items: layout.count(&bytes) as u64,
                bytes,
                end: Mark {
                    source: number,
                    offset,
                    digest: digest.digest(),
                },
            };
            if !give(block) {
                return Ok(());
            }
        }
    }
    Ok(())
}
