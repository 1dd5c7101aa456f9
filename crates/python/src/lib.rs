//! The Python package splitbloom: the filters of a server in a Python process.
//!
//! ```text
//!   filter, counting   the two classes          base     what they have in common
//!   items    what Python objects are as items   batch    many of them, a group at a time
//!   lines    the lines of a file                columns  NumPy and Arrow arrays, read in place
//!   file     files as the tool writes them      errors   exceptions
//!   lookups  the results of many                follower a copy of a server's filter
//!   reader   files, read so that Ctrl-C is heard
//! ```
//!
//! What talks to servers is Python (`python/splitbloom/_transfer.py`), through whichever connection
//! the caller has.
//!
//! # Locks
//! A filter is behind a lock of its own: many threads look up at a time, one adds. No thread waits
//! for it while it holds the interpreter's lock, and no thread that holds it runs Python code, so
//! there is no deadlock. Batches release the interpreter's lock. A fork waits for all of these
//! locks (`ForkLock`), with the interpreter's lock.

mod base;
mod batch;
#[allow(unsafe_code, reason = "reads the memory of arrays that other libraries own")]
mod columns;
mod counting;
mod errors;
mod file;
mod filter;
mod follower;
mod items;
mod lines;
mod lookups;
mod reader;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The compiled part of splitbloom; import splitbloom.
#[pymodule(name = "_native")]
mod native {
    use super::*;

    #[pymodule_export]
    use crate::base::{Base, BloomFilter, CountingFilter};
    #[pymodule_export]
    use crate::errors::{FormatError, FullError, KeyExistsError, NotReadyError};
    #[pymodule_export]
    use crate::follower::Follower;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// An unused key in the cluster's slot of `key`.
    #[pyfunction]
    fn temporary_key<'py>(py: Python<'py>, key: &[u8]) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| splitbloom_partition::temporary_key(key)))
    }
}
