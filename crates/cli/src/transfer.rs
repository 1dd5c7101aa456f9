//! Filters out of a server and into one, chunk by chunk.
//!
//! What goes in gets its key only when it is whole: until then it is under a key of its own, in the
//! same slot, which expires if nobody goes on.

use crate::error::Error;
use redis::{Connection, Value};
use splitbloom_filter::codec::Chunk;
use splitbloom_filter::CountingFilter;
use std::hash::{BuildHasher as _, RandomState};

/// How long a filter that nobody goes on loading stays, in seconds: an hour.
const ABANDONED_SECONDS: u32 = 3_600;

/// Which commands a filter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Bloom,
    Counting,
}

impl Family {
    /// That of the filter that begins with a chunk.
    fn of(chunk: &Chunk<'_>) -> Self {
        match chunk.begins::<CountingFilter>() {
            true => Self::Counting,
            false => Self::Bloom,
        }
    }

    /// That of a key. One that is missing or holds something else is taken for a Bloom filter, whose
    /// commands refuse it in words that fit.
    pub fn of_key(server: &mut Connection, key: &[u8]) -> Result<Self, Error> {
        let kind: String = redis::cmd("TYPE").arg(key).query(server)?;
        Ok(match kind.as_str() {
            "MBbloomCF" => Self::Counting,
            _ => Self::Bloom,
        })
    }

    /// The command with this ending.
    pub fn command(self, ending: &str) -> redis::Cmd {
        redis::cmd(&match self {
            Self::Bloom => format!("BF.{ending}"),
            Self::Counting => format!("CF.{ending}"),
        })
    }
}

/// A filter on its way out of a server.
pub struct Outgoing {
    server: Connection,
    key: Vec<u8>,
    family: Family,
    iterator: i64,
}

impl Outgoing {
    pub fn new(mut server: Connection, key: &[u8]) -> Result<Self, Error> {
        let family = Family::of_key(&mut server, key)?;
        Ok(Self {
            server,
            key: key.to_vec(),
            family,
            iterator: 0,
        })
    }

    /// The next chunk; nothing after the last one.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut dump = self.family.command("SCANDUMP");
        let dump = dump.arg(&self.key).arg(self.iterator);
        let (next, chunk): (i64, Value) = dump.query(&mut self.server)?;
        self.iterator = next;
        match chunk {
            Value::BulkString(_) if next == 0 => Ok(None),
            Value::BulkString(bytes) => Ok(Some(bytes)),
            _ => Err(Error::Contents("SCANDUMP returned no chunk".into())),
        }
    }
}

/// A filter on its way into a server.
pub struct Incoming {
    server: Connection,
    key: Vec<u8>,
    temporary: Vec<u8>,
    family: Option<Family>,
    replace: bool,
    is_done: bool,
}

impl Incoming {
    /// Begins it. With `replace` it takes the place of what the key holds, otherwise the key must be
    /// missing.
    pub fn new(mut server: Connection, key: &[u8], replace: bool) -> Result<Self, Error> {
        let exists: bool = redis::cmd("EXISTS").arg(key).query(&mut server)?;
        if exists && !replace {
            return Err(key_exists(key));
        }
        Ok(Self {
            server,
            key: key.to_vec(),
            temporary: temporary_key(key),
            family: None,
            replace,
            is_done: false,
        })
    }

    /// Loads the next chunk.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let chunk = Chunk::parse(bytes)
            .map_err(|error| Error::Contents(format!("a damaged chunk: {error}")))?;
        let family = *self.family.get_or_insert(Family::of(&chunk));
        let mut load = family.command("LOADCHUNK");
        load.arg(&self.temporary).arg(chunk.next).arg(bytes);
        let loaded = load.query(&mut self.server)?;
        let mut expire = redis::cmd("EXPIRE");
        expire.arg(&self.temporary).arg(ABANDONED_SECONDS);
        expire.exec(&mut self.server)?;
        match loaded {
            Value::Okay => Ok(()),
            other => Err(Error::Refused(format!("LOADCHUNK returned {other:?}"))),
        }
    }

    /// Gives it its key, after its last chunk.
    pub fn finish(mut self) -> Result<(), Error> {
        let rename = if self.replace { "RENAME" } else { "RENAMENX" };
        let mut persist = redis::cmd("PERSIST");
        persist.arg(&self.temporary).exec(&mut self.server)?;
        let mut rename = redis::cmd(rename);
        let rename = rename.arg(&self.temporary).arg(&self.key);
        let renamed: Value = rename.query(&mut self.server)?;
        if renamed == Value::Int(0) {
            return Err(key_exists(&self.key));
        }
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.is_done && self.family.is_some() {
            // If the server is gone, the key expires.
            let unlink = redis::cmd("UNLINK")
                .arg(&self.temporary)
                .exec(&mut self.server);
            let _ = unlink;
        }
    }
}

fn key_exists(key: &[u8]) -> Error {
    let key = String::from_utf8_lossy(key);
    Error::Contents(format!("{key} exists already: --replace takes its place"))
}

/// A key that nobody has, in the slot of this one where that can be: not if it has a closing brace
/// and no hash tag.
fn temporary_key(key: &[u8]) -> Vec<u8> {
    let number = RandomState::new().hash_one(std::process::id());
    let suffix = format!(":loading:{number:016x}");
    match has_tag(key) || key.contains(&b'}') {
        true => [key, suffix.as_bytes()].concat(),
        false => [b"{", key, b"}", suffix.as_bytes()].concat(),
    }
}

/// Whether a part of the key decides its slot: between its first opening brace and the next closing
/// one, if that is not empty.
fn has_tag(key: &[u8]) -> bool {
    let open = key.iter().position(|byte| *byte == b'{');
    let tag = open.map(|open| &key[open + 1..]);
    let len = tag.and_then(|tag| tag.iter().position(|byte| *byte == b'}'));
    len.is_some_and(|len| len > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitbloom_partition::slot_of;

    #[test]
    fn a_temporary_key_is_in_the_slot_of_its_key() {
        for key in ["users", "{users}:1", "a{b}c{d}", "a{b", "with space", ""] {
            let temporary = temporary_key(key.as_bytes());
            assert_ne!(temporary, key.as_bytes());
            // An empty tag is none.
            if !key.is_empty() {
                assert_eq!(slot_of(&temporary), slot_of(key.as_bytes()), "{key}");
            }
        }
    }
}
