//! Filters made as small as BF.SHRINK makes them, on this machine.

use crate::error::{in_one_line, Error};
use crate::target::OneKey;
use crate::transfer::Outgoing;
use indicatif::ProgressBar;
use splitbloom_client::Family;
use splitbloom_filter::codec::{is_chunk, load_chunk, Chunk};
use splitbloom_filter::{DecodeError, Filter, Kind, SizeLimit};

/// A filter shrunk to the smallest size that holds its items, and `capacity` of them.
///
/// # Errors
/// It is of a kind that has no smaller size, or has more items than that.
pub fn shrink(mut filter: Filter, capacity: Option<u64>) -> Result<Filter, Error> {
    if !filter.may_be_united() {
        return Err(cannot_shrink());
    }
    if capacity.is_some_and(|capacity| capacity < filter.items()) {
        let text = format!("the filter has {} items, more than that capacity", filter.items());
        return Err(Error::Contents(text));
    }
    let shrunk = filter.shrink(capacity.unwrap_or(0), u64::MAX);
    shrunk.map_err(|error| Error::Contents(error.to_string()))?;
    Ok(filter)
}

/// The filter of a key, shrunk; the bar counts the bytes that the server sends.
///
/// The server shrinks a copy, so that only what is in the filter is transferred. If it refuses, the
/// whole filter is transferred and shrunk here, and a note says why.
pub fn fetch(from: &mut OneKey, bar: &ProgressBar) -> Result<Filter, Error> {
    if Family::from(from.existing_kind()?) != Family::Bloom {
        return Err(cannot_shrink());
    }
    let received = match Outgoing::shrunk(from) {
        Ok(copy) => Some(receive(copy, bar)?),
        Err(Error::Refused(text)) if text.ends_with(CANNOT_SHRINK) => return Err(cannot_shrink()),
        Err(Error::Refused(text)) => {
            let text = in_one_line(&text);
            eprintln!("splitbloom: note: {text}: the whole filter is transferred");
            None
        }
        Err(error) => return Err(error),
    };
    let filter = match received {
        Some(filter) => filter,
        None => receive(Outgoing::new(from, Family::Bloom), bar)?,
    };
    shrink(filter, None)
}

fn receive(mut outgoing: Outgoing<'_>, bar: &ProgressBar) -> Result<Filter, Error> {
    let damaged = |error: DecodeError| Error::Contents(format!("a damaged chunk: {error}"));
    let mut filter = None;
    while let Some((_, bytes)) = outgoing.next_piece()? {
        if !is_chunk(&bytes) {
            return Err(cannot_shrink());
        }
        let chunk = Chunk::parse(&bytes).map_err(damaged)?;
        // Noticed before the rest of it is transferred.
        if chunk.begins().is_some_and(|kind| kind != Kind::Bloom) {
            return Err(cannot_shrink());
        }
        let begun = load_chunk(filter.as_mut(), &chunk, SizeLimit::Unlimited).map_err(damaged)?;
        filter = begun.or(filter);
        bar.inc(bytes.len() as u64);
    }
    filter.ok_or_else(|| Error::Contents("SCANDUMP returned no chunk".into()))
}

/// As BF.SHRINK says it.
const CANNOT_SHRINK: &str = "filters of this kind cannot be shrunk";

fn cannot_shrink() -> Error {
    Error::Contents(CANNOT_SHRINK.into())
}
