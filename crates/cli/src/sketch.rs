//! Sketches on servers. They have no chunks, so they are copied at once, by DUMP and RESTORE.

use crate::error::Error;
use crate::target::OneKey;
use crate::transfer::Incoming;
use indicatif::ProgressBar;
use redis::Value;
use splitbloom_client::number_of;
use splitbloom_sketch::{cms, tdigest, topk};

/// A kind of sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sketch {
    CountMin,
    TopK,
    TDigest,
}

impl Sketch {
    /// The types of all sketches, as TYPE returns them: RedisBloom's, and those with a window.
    pub const TYPES: [(&'static str, Self); 5] = [
        (cms::TYPE_NAME, Self::CountMin),
        (cms::WINDOW_TYPE_NAME, Self::CountMin),
        (topk::TYPE_NAME, Self::TopK),
        (topk::WINDOW_TYPE_NAME, Self::TopK),
        (tdigest::TYPE_NAME, Self::TDigest),
    ];

    /// The kind of the type `name`; `None` if its values are not sketches.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::TYPES.into_iter().find(|(other, _)| *other == name);
        found.map(|(_, sketch)| sketch)
    }

    /// Returns what must be equal in two copies of a sketch, whichever modules serve them: how much
    /// it has counted, or its list.
    pub fn contents(self, of: &mut OneKey) -> Result<Value, Error> {
        let number = |reply: Value, field| match number_of(&reply, field) {
            Some(number) => Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX))),
            None => Err(Error::Contents(format!("the server returned no {field}"))),
        };
        match self {
            Self::CountMin => number(of.ask_for("CMS.INFO", &[])?, "count"),
            Self::TDigest => number(of.ask_for("TDIGEST.INFO", &[])?, "Observations"),
            Self::TopK => of.ask_for("TOPK.LIST", &["WITHCOUNT"]),
        }
    }
}

/// Copies a sketch to another server, whole but still without its key.
pub fn copy<'a>(
    from: &mut OneKey,
    to: &'a mut OneKey,
    replace: bool,
    bar: &ProgressBar,
) -> Result<Incoming<'a>, Error> {
    let mut incoming = Incoming::new(to, replace)?;
    incoming.restore(from, bar).map_err(|error| match error {
        // The server's reply to an unknown type, and to an unknown version.
        Error::Refused(text) if text.contains("Bad data format") => Error::Refused(format!(
            "{text} (sketches need libsplitsketch.so on the new server, or RedisBloom)"
        )),
        other => other,
    })?;
    Ok(incoming)
}
