//! Python objects as items: the bytes that redis-py would send for them.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyInt, PyMemoryView, PyString};

/// An item. It keeps the object alive whose bytes it has, so it needs no copy of `str` and `bytes`,
/// which never change. (An ASCII `str` is stored as UTF-8; any other caches its UTF-8.)
pub enum Item {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl Item {
    /// The item that an object is.
    ///
    /// # Errors
    /// `TypeError` for other types than the message names; `UnicodeEncodeError` for a string with
    /// half of a surrogate pair; `ValueError` for an integer of more digits than Python prints.
    pub fn of(object: Bound<'_, PyAny>) -> PyResult<Self> {
        let object = match object.cast_into::<PyString>() {
            Ok(text) => return PyBackedStr::try_from(text).map(Self::Text),
            Err(other) => other.into_inner(),
        };
        let object = match object.cast_into::<PyBytes>() {
            Ok(bytes) => return Ok(Self::Bytes(bytes.into())),
            Err(other) => other.into_inner(),
        };
        // Not a subclass: `True` and members of an `IntEnum` print as something else.
        if object.cast_exact::<PyInt>().is_ok() {
            return PyBackedStr::try_from(object.repr()?).map(Self::Text);
        }
        if let Ok(bytes) = object.cast::<PyByteArray>() {
            return Ok(Self::Bytes(bytes.clone().into()));
        }
        if object.cast::<PyMemoryView>().is_ok() {
            let bytes = object.call_method0("tobytes")?;
            return Ok(Self::Bytes(bytes.cast_into::<PyBytes>()?.into()));
        }
        let kind = object.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "an item is a str, bytes, bytearray, memoryview or int, not {kind}"
        )))
    }

    /// The name of a key: text or bytes, because an integer would be another key in redis-py.
    ///
    /// # Errors
    /// `TypeError` for other types; `UnicodeEncodeError` as [`Item::of`].
    pub fn of_key(key: Bound<'_, PyAny>) -> PyResult<Self> {
        match key.is_instance_of::<PyString>() || key.is_instance_of::<PyBytes>() {
            true => Self::of(key),
            false => {
                let kind = key.get_type().name()?;
                Err(PyTypeError::new_err(format!("a key is a str or bytes, not {kind}")))
            }
        }
    }
}

impl AsRef<[u8]> for Item {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}
