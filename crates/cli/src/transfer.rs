//! Copies filters from and to servers, chunk by chunk.
//!
//! A filter gets its key only when it is complete: until then it has a temporary key in the same
//! slot, which expires if the load is abandoned.

use crate::error::Error;
use crate::target::OneKey;
use redis::{cmd, Value};
use splitbloom_client::{Family, Retry};
use splitbloom_filter::codec::Chunk;
use splitbloom_filter::CountingFilter;
use splitbloom_partition::slot_of;
use std::hash::{BuildHasher as _, RandomState};

/// How long a filter stays whose load has been abandoned, in seconds: an hour.
const ABANDONED_SECONDS: u32 = 3_600;

/// A filter on its way out of a server.
pub struct Outgoing {
    from: OneKey,
    family: Family,
    iterator: i64,
}

impl Outgoing {
    pub fn new(mut from: OneKey) -> Result<Self, Error> {
        let family = from.family()?;
        Ok(Self {
            from,
            family,
            iterator: 0,
        })
    }

    /// The next chunk; nothing after the last one.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let (name, iterator) = (self.family.command("SCANDUMP"), self.iterator);
        let reply = self
            .from
            .ask(Retry::Yes, |key| cmd(&name).arg(key).arg(iterator).take())?;
        let no_chunk = || Error::Contents("SCANDUMP returned no chunk".into());
        let Value::Array(parts) = reply else {
            return Err(no_chunk());
        };
        match <[Value; 2]>::try_from(parts) {
            Ok([Value::Int(0), _]) => Ok(None),
            Ok([Value::Int(next), Value::BulkString(bytes)]) => {
                self.iterator = next;
                Ok(Some(bytes))
            }
            _ => Err(no_chunk()),
        }
    }
}

/// A filter on its way into a server.
pub struct Incoming {
    to: OneKey,
    temporary: Vec<u8>,
    family: Option<Family>,
    replace: bool,
    is_done: bool,
}

impl Incoming {
    /// Begins it. With `replace` it takes the place of what the key holds, otherwise the key must
    /// be missing.
    pub fn new(mut to: OneKey, replace: bool) -> Result<Self, Error> {
        let exists = to.ask(Retry::Yes, |key| cmd("EXISTS").arg(key).take())?;
        if exists != Value::Int(0) && !replace {
            return Err(key_exists(to.key()));
        }
        Ok(Self {
            temporary: temporary_key(to.key()),
            to,
            family: None,
            replace,
            is_done: false,
        })
    }

    /// Loads the next chunk.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let chunk = Chunk::parse(bytes)
            .map_err(|error| Error::Contents(format!("a damaged chunk: {error}")))?;
        let family = *self.family.get_or_insert(family_of(&chunk));
        let (name, temporary) = (family.command("LOADCHUNK"), &self.temporary);
        // It would not be due a second time.
        let loaded = self.to.ask(Retry::No, |_| {
            cmd(&name).arg(temporary).arg(chunk.next).arg(bytes).take()
        })?;
        self.to.ask(Retry::Yes, |_| {
            let expire = &mut cmd("EXPIRE");
            expire.arg(temporary).arg(ABANDONED_SECONDS).take()
        })?;
        match loaded {
            Value::Okay => Ok(()),
            other => Err(Error::Refused(format!("LOADCHUNK returned {other:?}"))),
        }
    }

    /// Gives it its key, after its last chunk.
    pub fn finish(mut self) -> Result<(), Error> {
        let (temporary, to) = (&self.temporary, &mut self.to);
        to.ask(Retry::Yes, |_| cmd("PERSIST").arg(temporary).take())?;
        let rename = if self.replace { "RENAME" } else { "RENAMENX" };
        let renamed = to.ask(Retry::No, |key| cmd(rename).arg(temporary).arg(key).take())?;
        if renamed == Value::Int(0) {
            return Err(key_exists(self.to.key()));
        }
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.is_done && self.family.is_some() {
            let temporary = &self.temporary;
            // If the server is gone, the key expires.
            let unlink = |_: &[u8]| cmd("UNLINK").arg(temporary).take();
            let _ = self.to.ask(Retry::No, unlink);
        }
    }
}

/// The family of the filter that begins with a chunk.
fn family_of(chunk: &Chunk<'_>) -> Family {
    match chunk.begins::<CountingFilter>() {
        true => Family::Counting,
        false => Family::Bloom,
    }
}

fn key_exists(key: &[u8]) -> Error {
    let key = String::from_utf8_lossy(key);
    Error::Contents(format!("{key} exists already: --replace takes its place"))
}

/// A key that nobody has, in the slot of this one. One in 16384 is, so that is a matter of
/// milliseconds, and only if no hash tag puts all of them there.
fn temporary_key(key: &[u8]) -> Vec<u8> {
    let first = RandomState::new().hash_one(std::process::id());
    let candidate = |number: u64| {
        let suffix = format!(":loading:{number:016x}");
        [key, suffix.as_bytes()].concat()
    };
    let mut number = first;
    while slot_of(&candidate(number)) != slot_of(key) {
        number = number.wrapping_add(1);
    }
    candidate(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_key_is_in_the_slot_of_its_key() {
        for key in [
            "users",
            "{users}:1",
            "a{b}c{d}",
            "a{b",
            "a}b",
            "{}a",
            "}{",
            "",
        ] {
            let temporary = temporary_key(key.as_bytes());
            assert!(temporary.starts_with(key.as_bytes()) && temporary.len() > key.len());
            assert_eq!(slot_of(&temporary), slot_of(key.as_bytes()), "{key}");
        }
    }
}
