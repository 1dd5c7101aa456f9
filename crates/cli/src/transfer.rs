//! Copies filters from and to servers, chunk by chunk.
//!
//! A filter gets its key only when it is complete: until then it has a temporary key in the same
//! slot, which expires if the load is abandoned. Each step is a transaction, so that no key lacks
//! an expiry that should have one, whenever this process ends.

use crate::error::Error;
use crate::target::OneKey;
use indicatif::ProgressBar;
use redis::{cmd, from_redis_value, Value};
use splitbloom_client::{number_of, Family, Retry};
use splitbloom_filter::codec::{encode_chunk, is_chunk, Chunk};
use splitbloom_filter::{Filter, Kind, StoredType};
use splitbloom_partition::temporary_key;

/// How many seconds a filter stays after its load has been abandoned: an hour.
const ABANDONED_SECONDS: u32 = 3_600;

/// Copies a filter to another server, whole but still without its key; the bar counts its bytes. A
/// filter from valkey-bloom, which has no SCANDUMP, is copied at once.
///
/// # Errors
/// The filter of another module has changed meanwhile: nothing in its chunks would tell.
pub fn copy<'a>(
    from: &mut OneKey,
    to: &'a mut OneKey,
    replace: bool,
    bar: &ProgressBar,
) -> Result<Incoming<'a>, Error> {
    let kind = from.existing_kind()?;
    let family = Family::from(kind);
    let mut outgoing = Outgoing::new(from, family);
    let mut next = match kind {
        StoredType::ValkeyBloom => None,
        StoredType::Bloom | StoredType::Counting => outgoing.next_piece()?,
    };
    let has_pieces = next.is_some();
    let is_of_another = next.as_ref().is_none_or(|(_, bytes)| !is_chunk(bytes));
    let mut incoming = Incoming::new(to, replace)?;
    while let Some((iterator, bytes)) = next {
        incoming.load(family, iterator, &bytes)?;
        bar.inc(bytes.len() as u64);
        next = outgoing.next_piece()?;
    }
    drop(outgoing);
    match kind {
        _ if has_pieces => {}
        // RedisBloom returns no piece of an empty cuckoo filter.
        StoredType::Counting => incoming.reserve(&from.ask_for("CF.INFO", &[])?)?,
        StoredType::Bloom | StoredType::ValkeyBloom => incoming.restore(from, bar)?,
    }
    if is_of_another && from.items(family)? != incoming.items(family)? {
        let text =
            "the filter has changed while it was copied: copy it again once nothing is added";
        return Err(Error::Contents(text.into()));
    }
    Ok(incoming)
}

/// What SCANDUMP returned: the iterator that LOADCHUNK takes, and a chunk of ours or a piece of
/// RedisBloom's.
type Piece = (i64, Vec<u8>);

/// A filter on its way out of a server.
pub struct Outgoing<'a> {
    from: &'a mut OneKey,
    family: Family,
    iterator: i64,
    /// Whether the last piece was a chunk of ours that does not end the filter.
    is_open: bool,
    /// The key of a shrunk copy in the same slot, which is sent in place of the filter.
    copy: Option<Vec<u8>>,
}

impl<'a> Outgoing<'a> {
    /// Begins the transfer.
    pub fn new(from: &'a mut OneKey, family: Family) -> Self {
        Self { from, family, iterator: 0, is_open: false, copy: None }
    }

    /// Has its server make a shrunk copy of a Bloom filter, which is sent. It shares the memory of
    /// the filter until it shrinks, which takes at most half of that again. It expires if it is
    /// abandoned.
    ///
    /// # Errors
    /// The server's refusal: it is a replica, the user may not, or it would exceed a limit.
    pub fn shrunk(from: &'a mut OneKey) -> Result<Self, Error> {
        let copy = &temporary_key(from.key());
        let mut shrunk = Self::new(from, Family::Bloom);
        shrunk.copy = Some(copy.clone());
        let commands = |key: &[u8]| vec![cmd("COPY").arg(key).arg(copy).take(), expire(copy)];
        shrunk.from.transact(Retry::No, commands)?;
        // Alone, since in a transaction a large filter would be folded at once. If nothing came of
        // it (null), the copy is sent as it is.
        shrunk.from.ask(Retry::No, |_| cmd("BF.SHRINK").arg(copy).take())?;
        Ok(shrunk)
    }

    /// The next piece; nothing after the last one.
    ///
    /// # Errors
    /// Also if the filter is not whole: SCANDUMP ends early where another filter has the key by
    /// now, or the filter was emptied or shrunk.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Error> {
        let (name, iterator) = (self.family.command("SCANDUMP"), self.iterator);
        let scan = |key: &[u8]| cmd(&name).arg(key).arg(iterator).take();
        let reply = match &self.copy {
            None => self.from.ask(Retry::Yes, scan)?,
            Some(copy) => {
                let commands = |_: &[u8]| vec![scan(copy), expire(copy)];
                let replies = self.from.transact(Retry::Yes, commands)?;
                replies.into_iter().next().unwrap_or(Value::Nil)
            }
        };
        let no_chunk = |_| Error::Contents("SCANDUMP returned no chunk".into());
        let (iterator, bytes): (i64, Vec<u8>) = from_redis_value(reply).map_err(no_chunk)?;
        if iterator == 0 && self.is_open {
            let text = "the filter was replaced, emptied or shrunk while it was copied, or is \
                        itself being loaded";
            return Err(Error::Contents(text.into()));
        }
        self.iterator = iterator;
        self.is_open = is_chunk(&bytes) && !Chunk::parse(&bytes).is_ok_and(|it| it.ends_whole());
        Ok(Some((iterator, bytes)).filter(|_| iterator != 0))
    }
}

impl Drop for Outgoing<'_> {
    fn drop(&mut self) {
        if let Some(copy) = &self.copy {
            unlink(self.from, copy);
        }
    }
}

/// A filter on its way into a server.
pub struct Incoming<'a> {
    to: &'a mut OneKey,
    temporary: Vec<u8>,
    /// What a file contains.
    family: Option<Family>,
    replace: bool,
    is_done: bool,
}

impl<'a> Incoming<'a> {
    /// Begins the transfer. With `replace` the filter takes the place of what the key holds;
    /// otherwise the key must be missing.
    pub fn new(to: &'a mut OneKey, replace: bool) -> Result<Self, Error> {
        let exists = to.ask(Retry::Yes, |key| cmd("EXISTS").arg(key).take())?;
        if exists != Value::Int(0) && !replace {
            return Err(key_exists(to.key()));
        }
        Ok(Self { temporary: temporary_key(to.key()), to, family: None, replace, is_done: false })
    }

    /// Loads the next chunk of a file.
    pub fn load_chunk(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let chunk = Chunk::parse(bytes)
            .map_err(|error| Error::Contents(format!("a damaged chunk: {error}")))?;
        let family = *self.family.get_or_insert(match chunk.begins() {
            Some(Kind::Counting) => Family::Counting,
            _ => Family::Bloom,
        });
        // The iterator goes to the server as SCANDUMP returned it.
        self.load(family, chunk.next as i64, bytes)
    }

    /// Loads a whole filter, and gives it its key.
    pub fn load_filter(mut self, filter: &Filter, bar: &ProgressBar) -> Result<(), Error> {
        let mut iterator = 0;
        let no_memory = |_| Error::Contents("not enough memory".into());
        while let Some(chunk) = encode_chunk(filter, iterator).map_err(no_memory)? {
            self.load_chunk(&chunk.bytes)?;
            bar.inc(chunk.bytes.len() as u64);
            iterator = chunk.next;
        }
        self.finish(None)
    }

    /// Loads the next piece.
    pub fn load(&mut self, family: Family, iterator: i64, bytes: &[u8]) -> Result<(), Error> {
        let (name, temporary) = (family.command("LOADCHUNK"), &self.temporary);
        // Not retried: the same piece would not be due a second time.
        let replies = self.to.transact(Retry::No, |_| {
            let load = cmd(&name).arg(temporary).arg(iterator).arg(bytes).take();
            vec![load, expire(temporary)]
        })?;
        match replies.first() {
            Some(Value::Okay) => Ok(()),
            other => Err(Error::Refused(format!("LOADCHUNK returned {other:?}"))),
        }
    }

    /// Loads the whole value of a key at once; the bar counts its bytes.
    pub fn restore(&mut self, from: &mut OneKey, bar: &ProgressBar) -> Result<(), Error> {
        let (temporary, milliseconds) = (&self.temporary, u64::from(ABANDONED_SECONDS) * 1000);
        let dump = &from.dump()?;
        let restore = || cmd("RESTORE").arg(temporary).arg(milliseconds).arg(dump).take();
        self.to.ask(Retry::No, |_| restore())?;
        bar.inc(dump.len() as u64);
        Ok(())
    }

    /// Creates it with the parameters of an empty cuckoo filter, which has no pieces.
    pub fn reserve(&mut self, info: &Value) -> Result<(), Error> {
        let field = |name| {
            let missing = || Error::Contents(format!("CF.INFO returned no {name}"));
            number_of(info, name).ok_or_else(missing)
        };
        let slots = field("Bucket size")?;
        let mut reserve = cmd("CF.RESERVE");
        let capacity = field("Number of buckets")?.saturating_mul(slots);
        reserve.arg(&self.temporary).arg(capacity);
        reserve.arg("BUCKETSIZE").arg(slots);
        reserve.arg("MAXITERATIONS").arg(field("Max iterations")?);
        reserve.arg("EXPANSION").arg(field("Expansion rate")?);
        let temporary = &self.temporary;
        let commands = |_: &[u8]| vec![reserve.clone(), expire(temporary)];
        self.to.transact(Retry::No, commands).map(drop)
    }

    /// How many items have been loaded so far, if the server reports it.
    pub fn items(&mut self, family: Family) -> Result<Option<u64>, Error> {
        self.to.items_of(family, &self.temporary)
    }

    /// Gives the filter its key, after its last chunk; it expires after `milliseconds`, if given.
    pub fn finish(mut self, milliseconds: Option<u64>) -> Result<(), Error> {
        let temporary = &self.temporary;
        let rename = if self.replace { "RENAME" } else { "RENAMENX" };
        let replies = self.to.transact(Retry::No, |key| {
            let stay = match milliseconds {
                None => cmd("PERSIST").arg(temporary).take(),
                Some(time) => cmd("PEXPIRE").arg(temporary).arg(time).take(),
            };
            let rename = cmd(rename).arg(temporary).arg(key).take();
            // If another client has taken the key, the temporary one is still there.
            vec![stay, rename, expire(temporary)]
        })?;
        if replies.get(1) == Some(&Value::Int(0)) {
            return Err(key_exists(self.to.key()));
        }
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            unlink(self.to, &self.temporary);
        }
    }
}

/// Deletes a temporary key. If the server is gone, the key expires.
fn unlink(of: &mut OneKey, temporary: &[u8]) {
    let _ = of.ask(Retry::No, |_| cmd("UNLINK").arg(temporary).take());
}

/// Lets a temporary key expire if the load is abandoned.
fn expire(temporary: &[u8]) -> redis::Cmd {
    cmd("EXPIRE").arg(temporary).arg(ABANDONED_SECONDS).take()
}

fn key_exists(key: &[u8]) -> Error {
    let key = String::from_utf8_lossy(key);
    Error::Contents(format!("{key} exists already: --replace takes its place"))
}
