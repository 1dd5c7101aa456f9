//! A file of the tool: the frame around the chunks of one filter.

use super::{Frame, END, MAX_CHUNK_BYTES};
use crate::must;
use crate::stream::Stream;
use xxhash_rust::xxh3::xxh3_64;

/// Magic, version and seven zeros.
const HEADER: &[u8] = b"\x89SBF\r\n\x1a\n\x01\0\0\0\0\0\0\0";

/// The chunks of a file, if it is whole, each is the next of its chain, and the filter is complete.
pub fn chunks_of_file(file: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = Stream(file.strip_prefix(HEADER)?);
    let (mut chunks, mut due, mut is_complete) = (Vec::new(), 0, false);
    loop {
        let len = rest.number(4)? as usize;
        if len == 0 {
            break;
        }
        let chunk = rest.take(len).filter(|_| len <= MAX_CHUNK_BYTES)?;
        let frame = Frame::read(chunk)?;
        must(frame.start == due && frame.next > due && frame.next <= END)?;
        due = frame.next;
        is_complete = frame.records.0.ends_with(b"\x04\0\0\0\0\0\0\0\0\0\0\0\0");
        chunks.push(chunk);
    }
    let before = &file[..file.len() - rest.0.len()];
    (due == END && is_complete && rest.0 == xxh3_64(before).to_le_bytes()).then_some(chunks)
}
