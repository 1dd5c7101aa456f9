//! Filters made as small as BF.SHRINK makes them, on this machine.

use crate::error::{in_one_line, Error};
use crate::filter_file::load_next;
use crate::target::OneKey;
use crate::transfer::{Outgoing, ShrunkCopy};
use indicatif::ProgressBar;
use splitbloom_client::Family;
use splitbloom_filter::codec::{is_chunk, Chunk};
use splitbloom_filter::{Filter, Kind};

/// Shrinks a filter to the smallest size that holds its items, and `capacity` of them.
///
/// # Errors
/// It is of a kind that has no smaller size, or has more items than that.
pub fn shrink(filter: &mut Filter, capacity: Option<u64>) -> Result<(), Error> {
    if !filter.may_be_united() {
        return Err(cannot_shrink());
    }
    if capacity.is_some_and(|capacity| capacity < filter.items()) {
        let text = format!("the filter has {} items, more than that capacity", filter.items());
        return Err(Error::Contents(text));
    }
    let shrunk = filter.shrink(capacity.unwrap_or(0), u64::MAX);
    shrunk.map(drop).map_err(|error| Error::Contents(error.to_string()))
}

/// The filter of a key, shrunk; the bar counts the bytes that the server sends.
///
/// The server shrinks a copy, so that only what is in the filter is transferred. If it refuses, the
/// whole filter is transferred and shrunk here, and a note says why.
pub fn fetch(from: &mut OneKey, bar: &ProgressBar) -> Result<Filter, Error> {
    if Family::from(from.existing_kind()?) != Family::Bloom {
        return Err(cannot_shrink());
    }
    let mut filter = match ShrunkCopy::new(from) {
        Ok(copy) => {
            let filter = receive(Outgoing::of_copy(from, &copy), bar);
            copy.delete(from);
            filter?
        }
        Err(Error::Refused(text)) if text.ends_with(CANNOT_SHRINK) => return Err(cannot_shrink()),
        Err(Error::Refused(text)) => {
            let text = in_one_line(&text);
            eprintln!("splitbloom: note: {text}: the whole filter is transferred");
            receive(Outgoing::new(from, Family::Bloom), bar)?
        }
        Err(error) => return Err(error),
    };
    shrink(&mut filter, None)?;
    Ok(filter)
}

fn receive(mut outgoing: Outgoing<'_>, bar: &ProgressBar) -> Result<Filter, Error> {
    let mut filter = None;
    while let Some(piece) = outgoing.next_piece()? {
        // What has no smaller size is noticed before the rest of it is transferred.
        let is_other = |chunk: Chunk<'_>| chunk.begins().is_some_and(|kind| kind != Kind::Bloom);
        if !is_chunk(&piece.bytes) || Chunk::parse(&piece.bytes).is_ok_and(is_other) {
            return Err(cannot_shrink());
        }
        let damaged = |error| Error::Contents(format!("a damaged chunk: {error}"));
        load_next(&mut filter, &piece.bytes).map_err(damaged)?;
        bar.inc(piece.bytes.len() as u64);
    }
    filter.ok_or_else(|| Error::Contents("SCANDUMP returned no chunk".into()))
}

/// As BF.SHRINK says it.
const CANNOT_SHRINK: &str = "filters of this kind cannot be shrunk";

fn cannot_shrink() -> Error {
    Error::Contents(CANNOT_SHRINK.into())
}
