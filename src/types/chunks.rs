//! Filters of every type as chunks: saved, loaded, and written as commands.

use crate::server::data_type::{AofTarget, RdbSource, RdbTarget};
use splitbloom_filter::codec::{Chunk, Transfer, MAX_CHUNK_BYTES};
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::filter::SizeLimit;
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

/// Chunks are written here before the server copies them, so that saving never lacks memory: where
/// the server saves in its own process, a module cannot make SAVE or DUMP fail. The buffer costs
/// nothing before the first save, which touches as many pages as its largest chunk has.
static BUFFER: Mutex<[u8; MAX_CHUNK_BYTES]> = Mutex::new([0; MAX_CHUNK_BYTES]);

/// Saves all chunks.
pub fn save(filter: &impl Transfer, target: &mut RdbTarget) {
    let mut buffer = BUFFER.lock().unwrap_or_else(PoisonError::into_inner);
    filter.for_each_chunk(&mut buffer, |_, bytes| target.save_string(bytes));
}

/// Writes all chunks as commands that load them.
pub fn rewrite(filter: &impl Transfer, target: &mut AofTarget, command: &'static CStr) {
    let mut buffer = BUFFER.lock().unwrap_or_else(PoisonError::into_inner);
    filter.for_each_chunk(&mut buffer, |next, bytes| target.emit(command, next, bytes));
}

/// Reads chunks up to the last one.
///
/// # Errors
/// What is wrong with a chunk.
pub fn load<F: Transfer>(source: &mut RdbSource) -> Result<F, DecodeError> {
    let mut filter: Option<F> = None;
    loop {
        let string = source.load_string().ok_or(DecodeError::Length)?;
        let chunk = Chunk::parse(string.bytes())?;
        let begun = F::load_chunk(filter.as_mut(), &chunk, SizeLimit::Unlimited)?;
        filter = begun.or(filter);
        if chunk.is_last() {
            return filter.ok_or(DecodeError::Order);
        }
    }
}
