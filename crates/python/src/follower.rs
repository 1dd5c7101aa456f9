//! A copy of a server's filter that follows it: the follower of the client crate.

use crate::batch::Failure;
use crate::errors::NotReadyError;
use crate::items::Item;
use crate::lookups::{self, Find};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use redis::{Client, ConnectionInfo, IntoConnectionInfo, TlsCertificates};
use splitbloom_client::{Follower as Copy, Keys, Topology};
use splitbloom_partition::{Name, Partitions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How often a thread that waits for a copy lets the interpreter handle signals.
const TURN: Duration = Duration::from_millis(50);

/// A copy of the Bloom filter `key` of a server, in this process, which follows it.
///
/// A thread of its own fetches the filter from the server at `url` (redis://, with user, password,
/// host and port as redis-py has them, rediss:// over TLS, or unix:///path), and applies what is
/// new there, which takes milliseconds. Lookups need no network. With `cluster` the server is a
/// node of one; with `partitions` the filter has that many keys. `ca_cert` is a file of authorities
/// to trust over TLS, instead of those of this machine.
///
/// As long as there is no copy (before the first fetch, and while the key is missing) lookups raise
/// NotReadyError, or answer `default` if it is True or False.
#[pyclass(module = "splitbloom", frozen)]
pub struct Follower {
    copy: Copy,
    /// As Python prints it.
    key: String,
    default: Option<bool>,
    is_closed: AtomicBool,
}

impl Follower {
    fn copy(&self) -> Result<&Copy, Failure> {
        match self.is_closed.load(Relaxed) {
            true => Err(Failure::NotReady("the follower is closed")),
            false => Ok(&self.copy),
        }
    }
}

impl Find for Follower {
    fn find<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        answers: &mut Vec<bool>,
    ) -> Result<(), Failure> {
        let items: Vec<&[u8]> = items.collect();
        match (self.copy()?.contains_many(&items), self.default) {
            (Some(found), _) => answers.extend(found),
            (None, Some(default)) => answers.extend(items.iter().map(|_| default)),
            (None, None) => return Err(Failure::NotReady(NO_COPY)),
        }
        Ok(())
    }
}

const NO_SCHEME: &str = "not the URL of a server: it begins with redis://, rediss:// or unix://, \
                         as redis://localhost";
const NO_COPY: &str = "there is no copy of the filter (yet)";

#[pymethods]
impl Follower {
    #[new]
    #[pyo3(signature = (
        url, key, *, default = None, cluster = false, partitions = None, ca_cert = None
    ))]
    fn new(
        url: &str,
        key: Bound<'_, PyAny>,
        default: Option<bool>,
        cluster: bool,
        partitions: Option<u64>,
        ca_cert: Option<PathBuf>,
    ) -> PyResult<Self> {
        let printed = key.repr()?.to_string();
        let key = Item::of_key(key)?;
        let keys = match partitions {
            None => Keys::One(key.as_ref()),
            Some(number) => {
                let partitions = Partitions::new(number);
                let name = Name::new(key.as_ref());
                let (Some(name), Some(partitions)) = (name, partitions) else {
                    let text = "partitions must be a power of two from 1 to 16384, and the key \
                                must not contain {";
                    return Err(PyValueError::new_err(text));
                };
                Keys::Partitioned(name, partitions)
            }
        };
        let topology = if cluster { Topology::Cluster } else { Topology::OneServer };
        let copy = Copy::start(vec![server(url, ca_cert)?], topology, keys)?;
        Ok(Self { copy, key: printed, default, is_closed: AtomicBool::new(false) })
    }

    /// Whether the item is (probably) in the filter.
    fn __contains__(&self, item: Bound<'_, PyAny>) -> PyResult<bool> {
        let item = Item::of(item)?;
        let found = self.copy()?.contains(item.as_ref());
        found.or(self.default).ok_or_else(|| NotReadyError::new_err(NO_COPY))
    }

    /// Looks many items up; returns for each whether it is (probably) in the filter.
    ///
    /// The result is an array for an array of NumPy, and otherwise a list.
    fn contains<'py>(&self, items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        lookups::contains(self, items)
    }

    /// Looks the lines of a file up, without their ends; with `text`, as a filter does.
    #[pyo3(signature = (path, *, text = false))]
    fn contains_lines<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        text: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        lookups::contains_lines(self, py, &path, text)
    }

    /// Whether there is a copy.
    #[getter]
    fn is_ready(&self) -> PyResult<bool> {
        Ok(self.copy()?.is_ready())
    }

    /// Seconds in which something may have been added that the copy lacks; None without a copy.
    #[getter]
    fn staleness(&self) -> PyResult<Option<f64>> {
        Ok(self.copy()?.staleness().map(|age| age.as_secs_f64()))
    }

    /// Waits until there is a copy, at most `timeout` seconds; returns whether there is.
    #[pyo3(signature = (timeout = 60.0))]
    fn wait_until_ready(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        let left = Duration::try_from_secs_f64(timeout);
        let mut left = left.map_err(|error| PyValueError::new_err(error.to_string()))?;
        loop {
            let turn = left.min(TURN);
            let is_ready = py.detach(|| self.copy().map(|copy| copy.wait_until_ready(turn)))?;
            left -= turn;
            if is_ready || left.is_zero() {
                return Ok(is_ready);
            }
            py.check_signals()?;
        }
    }

    /// Waits in asyncio until there is a copy, at most `timeout` seconds; returns whether there is.
    #[pyo3(signature = (timeout = 60.0))]
    fn ready<'py>(slf: Bound<'py, Self>, timeout: f64) -> PyResult<Bound<'py, PyAny>> {
        let waiting = slf.py().import("splitbloom._waiting")?;
        waiting.call_method1("ready", (slf, timeout))
    }

    /// Why the copy does not follow now; None if it does.
    #[getter]
    fn error(&self) -> PyResult<Option<String>> {
        Ok(self.copy()?.status().error.map(|error| error.to_string()))
    }

    /// How often the whole filter was fetched, a partition at a time.
    #[getter]
    fn fetches(&self) -> PyResult<u64> {
        Ok(self.copy()?.status().fetches)
    }

    /// Items that came after that.
    #[getter]
    fn changes(&self) -> PyResult<u64> {
        Ok(self.copy()?.status().changes)
    }

    /// Bytes of memory that the copy takes.
    #[getter]
    fn nbytes(&self) -> PyResult<u64> {
        Ok(self.copy()?.status().bytes)
    }

    /// Ends it.
    fn close(&self, py: Python<'_>) {
        self.is_closed.store(true, Relaxed);
        py.detach(|| self.copy.close());
    }

    fn __repr__(&self) -> String {
        let key = &self.key;
        let Ok(copy) = self.copy() else {
            return format!("<Follower of {key}: closed>");
        };
        let state = match copy.staleness() {
            Some(age) => format!("{:.3} s behind", age.as_secs_f64()),
            None => "no copy".to_owned(),
        };
        match copy.status().error {
            Some(error) => format!("<Follower of {key}: {state}, {error}>"),
            None => format!("<Follower of {key}: {state}>"),
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: Bound<'_, PyAny>,
        _error: Bound<'_, PyAny>,
        _trace: Bound<'_, PyAny>,
    ) {
        self.close(py);
    }
}

/// The server of a URL. (The message does not quote the URL, which may have a password.)
fn server(url: &str, ca_cert: Option<PathBuf>) -> PyResult<ConnectionInfo> {
    let refused = |error| PyValueError::new_err(format!("not the URL of a server: {error}"));
    let info = url.into_connection_info().map_err(|error| match url.contains("://") {
        true => refused(error),
        false => PyValueError::new_err(NO_SCHEME),
    })?;
    let Some(path) = ca_cert else {
        return Ok(info);
    };
    let root_cert = std::fs::read(&path).map_err(|error| {
        PyOSError::new_err((error.raw_os_error(), error.to_string(), path.into_os_string()))
    })?;
    let certificates = TlsCertificates { client_tls: None, root_cert: Some(root_cert) };
    let client = Client::build_with_tls(info, certificates).map_err(refused)?;
    Ok(client.get_connection_info().clone())
}
