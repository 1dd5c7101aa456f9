//! Filters of every type as chunks: saved, loaded, and written as commands.

use splitbloom_filter::codec::{chunks, load_chunk, Chunk, MAX_CHUNK_BYTES};
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::{Filter, Kind, SizeLimit};
use splitbloom_server::data_type::{AofTarget, FieldSink, Fields, RdbSource, RdbTarget};
use std::ffi::CStr;
use std::sync::{Mutex, TryLockError};
use std::thread::yield_now;

/// Buffers for chunks until the server copies them. They are static, so that saving never lacks
/// memory: where the server saves in its own process, a module cannot make SAVE or DUMP fail. A
/// buffer takes no memory before its first save; then it takes the pages of its largest chunk.
///
/// Each save takes a free buffer, so that no save waits for another: a saving thread may be writing
/// to a slow disk or replica, or waiting for the thread that runs commands. A process has one
/// thread for commands, and a server that saves on another (Valkey from 9.2) has one of those at a
/// time. Two buffers are spare, also for a child that was forked during a save: there, the buffer
/// of a thread that the child lacks stays taken.
static BUFFERS: [Mutex<[u8; MAX_CHUNK_BYTES]>; 4] = [const { Mutex::new([0; MAX_CHUNK_BYTES]) }; 4];

/// Saves all chunks of `filter`.
pub fn save(filter: &Filter, target: &mut RdbTarget) {
    with_buffer(|buffer| {
        chunks(filter).for_each(|chunk| target.string(chunk.write_into(buffer)));
    });
}

/// Writes all chunks as commands that load them.
pub fn rewrite(filter: &Filter, target: &mut AofTarget, command: &'static CStr) {
    with_buffer(|buffer| {
        for chunk in chunks(filter) {
            target.emit(command, chunk.next(), chunk.write_into(buffer));
        }
    });
}

/// Calls `write` with a buffer that no other thread uses. Waits if all are taken.
fn with_buffer(write: impl FnOnce(&mut [u8; MAX_CHUNK_BYTES])) {
    loop {
        for buffer in &BUFFERS {
            match buffer.try_lock() {
                Ok(mut buffer) => return write(&mut buffer),
                // A panic leaves nothing behind that the next save does not overwrite.
                Err(TryLockError::Poisoned(buffer)) => return write(&mut buffer.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        yield_now();
    }
}

/// Loads a filter from its chunks, up to the last one. Refuses a kind that `takes` does not accept.
///
/// # Errors
/// What is wrong with a chunk.
pub fn load(source: &mut RdbSource, takes: fn(Kind) -> bool) -> Result<Filter, DecodeError> {
    let mut filter: Option<Filter> = None;
    loop {
        let string = source.string().ok_or(DecodeError::Length)?;
        let chunk = Chunk::parse(string.as_ref())?;
        if filter.is_none() && !chunk.begins().is_some_and(takes) {
            return Err(DecodeError::Order);
        }
        let begun = load_chunk(filter.as_mut(), &chunk, SizeLimit::Unlimited)?;
        filter = begun.or(filter);
        if chunk.is_last() {
            return filter.ok_or(DecodeError::Order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn saves_on_several_threads_do_not_wait_for_each_other() {
        let together = Barrier::new(BUFFERS.len());
        let save = |number: u8| {
            with_buffer(|buffer| {
                buffer.fill(number);
                together.wait(); // for ever, if any of them waits for a buffer
                assert!(buffer.iter().all(|byte| *byte == number));
            });
        };
        thread::scope(|scope| {
            for number in 0..BUFFERS.len() as u8 {
                scope.spawn(move || save(number));
            }
        });
    }

    #[test]
    fn a_panic_in_a_save_gives_its_buffer_back() {
        for _ in 0..2 * BUFFERS.len() {
            let save = || with_buffer(|_| panic!("on purpose"));
            assert!(thread::spawn(save).join().is_err());
        }
        with_buffer(|buffer| buffer.fill(1));
    }
}
