//! The lines of a file, as the tool reads them: a line ends at `\n`, a carriage return is part of
//! it, and an empty line is an empty item.

use crate::batch::Visit;
use crate::errors::of_io;
use memchr::{memchr, memchr_iter};
use pyo3::prelude::*;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A block takes well below a millisecond to read, and a few to look up.
const BLOCK_BYTES: usize = 1 << 20;

/// Visits the lines of a file, a block at a time, without the interpreter's lock. It takes the
/// memory of a block, or of the longest line.
///
/// # Errors
/// `OSError`, `MemoryError` for a line that does not fit into memory; those of the visit.
pub fn visit(py: Python<'_>, path: &Path, visitor: &mut impl Visit) -> PyResult<()> {
    let failed = |error| of_io(py, path, &error);
    let mut file = py.detach(|| File::open(path)).map_err(failed)?;
    let mut block = Block::default();
    loop {
        let is_last = !py.detach(|| block.read(&mut file)).map_err(failed)?;
        py.detach(|| {
            let number = block.number();
            visitor.visit(block.lines(is_last), number)
        })?;
        py.check_signals()?;
        if is_last {
            return Ok(());
        }
    }
}

/// What has been read and not been visited.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    /// The end of the lines that have been visited.
    visited: usize,
}

impl Block {
    /// Drops the lines that have been visited, and reads on to the end of a line at least. Returns
    /// whether there is more to read.
    fn read(&mut self, file: &mut File) -> io::Result<bool> {
        self.bytes.drain(..self.visited);
        self.visited = 0;
        loop {
            let before = self.bytes.len();
            self.bytes.try_reserve(BLOCK_BYTES).map_err(|_| io::ErrorKind::OutOfMemory)?;
            let read = file.take(BLOCK_BYTES as u64).read_to_end(&mut self.bytes)?;
            if read == 0 {
                return Ok(false);
            }
            if memchr(b'\n', &self.bytes[before..]).is_some() {
                return Ok(true);
            }
        }
    }

    /// The most lines that there are.
    fn number(&self) -> usize {
        memchr_iter(b'\n', &self.bytes).count() + 1
    }

    /// The lines that are whole, and if it `is_last` the one without an end.
    fn lines(&mut self, is_last: bool) -> impl Iterator<Item = &[u8]> {
        let (bytes, visited) = (&self.bytes[..], &mut self.visited);
        std::iter::from_fn(move || {
            let rest = &bytes[*visited..];
            match memchr(b'\n', rest) {
                Some(end) => {
                    *visited += end + 1;
                    Some(&rest[..end])
                }
                None if is_last && !rest.is_empty() => {
                    *visited += rest.len();
                    Some(rest)
                }
                None => None,
            }
        })
    }
}
