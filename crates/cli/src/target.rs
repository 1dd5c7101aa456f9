//! The filter that a command works on: a key of a server or of a cluster, or many keys.

use crate::connect::ServerArguments;
use crate::error::Error;
use crate::feed::Reading;
use crate::input::InputArguments;
use crate::report::text;
use clap::Args;
use redis::{cmd, Cmd, ConnectionInfo, Value};
use splitbloom_client::{number_of, Topology, Wording};
use splitbloom_client::{Error as FilterError, Family, Keys, PartitionedFilter, Retry};
use splitbloom_filter::StoredType;
use splitbloom_partition::{Name, Partitions};
use std::ffi::OsString;
use std::time::Duration;

/// Names a filter.
#[derive(Args, Clone, Debug)]
pub struct TargetArguments {
    /// The key of the filter
    pub key: OsString,
    #[command(flatten)]
    pub spread: SpreadArguments,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// What the server is to others.
#[derive(Args, Clone, Debug, Default)]
pub struct TopologyArguments {
    /// The server is a node of a cluster: finds the owner of each key, follows redirects, and waits
    /// up to a minute for a failover
    #[arg(long)]
    pub cluster: bool,
}

/// How a filter is spread, and how many connections to it are opened.
#[derive(Args, Clone, Debug)]
pub struct SpreadArguments {
    #[command(flatten)]
    pub topology: TopologyArguments,
    /// The filter is the keys KEY:{0} to KEY:{N-1}, as BF.KEYS names them; N is a power of two
    #[arg(long, value_name = "N", value_parser = partitions)]
    pub partitions: Option<Partitions>,
    /// Connections (to each node of a cluster), each with several commands in flight
    // On two cores with the server, 10 million URLs take 1.25 s with one, and 0.85 to 0.93 s with
    // 2, 3, 4 and 8 (medians of five rounds, noisy). More help where replies take longer.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        value_parser = clap::value_parser!(u8).range(1..)
    )]
    pub connections: u8,
}

fn partitions(text: &str) -> Result<Partitions, String> {
    let count = text.parse().ok().and_then(Partitions::new);
    count.ok_or_else(|| "not a power of two from 1 to 16384".to_owned())
}

impl TargetArguments {
    /// The filter on one connection (to each node).
    pub fn open(&self) -> Result<PartitionedFilter, Error> {
        let key = self.key.as_encoded_bytes();
        let keys = match self.spread.partitions {
            None => Keys::One(key),
            Some(partitions) => {
                let name = Name::new(key).ok_or(FilterError::BraceInName)?;
                Keys::Partitioned(name, partitions)
            }
        };
        self.spread.topology.open(keys, self.server.connection_info()?)
    }

    /// The filter on as many connections as requested; the first is already open.
    pub fn open_all(&self, first: PartitionedFilter) -> Result<Vec<PartitionedFilter>, Error> {
        let more = (1..self.spread.connections).map(|_| self.open());
        std::iter::once(Ok(first)).chain(more).collect()
    }
}

impl TopologyArguments {
    /// The filter of these keys on the server of these settings.
    pub fn open(&self, keys: Keys<'_>, info: ConnectionInfo) -> Result<PartitionedFilter, Error> {
        let topology = match self.cluster {
            true => Topology::Cluster,
            false => Topology::OneServer,
        };
        let mut filter = PartitionedFilter::open(vec![info], topology, keys)?;
        if topology == Topology::OneServer {
            // A server that comes back may have lost data: the user decides whether to go on.
            filter.set_patience(Duration::ZERO);
        }
        Ok(filter)
    }

    /// A key on the server of these settings.
    pub fn open_key(&self, key: &str, info: ConnectionInfo) -> Result<OneKey, Error> {
        Ok(OneKey(self.open(Keys::One(key.as_bytes()), info)?))
    }
}

impl SpreadArguments {
    /// The number of keys.
    pub fn keys(&self) -> u16 {
        self.partitions.map_or(1, Partitions::count)
    }

    /// What the arguments name, in blocks of some commands for each key, within reason.
    pub fn reading(&self, what: &'static str, input: &InputArguments) -> Result<Reading, Error> {
        const LEAST: usize = 256 * 1024;
        const OF_EACH: usize = 64 * 1024;
        const MOST: usize = 4 * 1024 * 1024;
        let block_bytes = (usize::from(self.keys()) * OF_EACH).clamp(LEAST, MOST);
        Reading::new(Some(what), input, block_bytes)
    }
}

/// A filter of one key, for commands that are about one key.
pub struct OneKey(PartitionedFilter);

impl OneKey {
    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.0.keys()[0]
    }

    /// The reply to a command on the key, or on others of its slot.
    ///
    /// # Errors
    /// The server's refusal, or no reply.
    pub fn ask(&mut self, retry: Retry, make: impl Fn(&[u8]) -> Cmd) -> Result<Value, Error> {
        let mut replies = self.0.ask_each(retry, make);
        Ok(replies.remove(0)?)
    }

    /// The replies to the commands of a transaction on the key, or on others of its slot.
    ///
    /// # Errors
    /// The first refusal, or no reply.
    pub fn transact(
        &mut self,
        retry: Retry,
        make: impl Fn(&[u8]) -> Vec<Cmd>,
    ) -> Result<Vec<Value>, Error> {
        let mut replies = self.0.transact_each(retry, make);
        Ok(replies.remove(0)?)
    }

    /// The next commands are about another key of the same server.
    pub fn turn_to(&mut self, key: &[u8]) {
        self.0.turn_to(Keys::One(key));
    }

    /// The type of its value; `None` if the key is missing.
    ///
    /// # Errors
    /// The key holds no filter.
    pub fn kind(&mut self) -> Result<Option<StoredType>, Error> {
        kind_in(&self.ask_for("TYPE", &[])?)
    }

    /// What TYPE says of it: `none` if the key is missing.
    pub fn type_name(&mut self) -> Result<String, Error> {
        Ok(text(&self.ask_for("TYPE", &[])?))
    }

    /// The reply to the command `name`, which only reads the key, with these `words` after it.
    pub fn ask_for(&mut self, name: &str, words: &[&str]) -> Result<Value, Error> {
        self.ask(Retry::Yes, |key| cmd(name).arg(key).arg(words).take())
    }

    /// Returns the number of items inserted into the filter, if the server reports it.
    pub fn items(&mut self, family: Family) -> Result<Option<u64>, Error> {
        let key = self.key().to_vec();
        self.items_of(family, &key)
    }

    /// The same of another key of its slot.
    pub fn items_of(&mut self, family: Family, key: &[u8]) -> Result<Option<u64>, Error> {
        let info = self.ask(Retry::Yes, |_| cmd(&family.command("INFO")).arg(key).take())?;
        Ok(number_of(&info, "Number of items inserted"))
    }

    /// Its value for RESTORE.
    pub fn dump(&mut self) -> Result<Vec<u8>, Error> {
        match self.ask_for("DUMP", &[])? {
            Value::BulkString(dump) => Ok(dump),
            _ => Err(no_such_key(self.key())),
        }
    }

    /// Milliseconds until the key expires; `None` if it does not.
    pub fn milliseconds_to_live(&mut self) -> Result<Option<u64>, Error> {
        match self.ask_for("PTTL", &[])? {
            Value::Int(-2) => Err(no_such_key(self.key())),
            Value::Int(time) => Ok(u64::try_from(time).ok()),
            _ => Ok(None),
        }
    }

    /// The type of its filter.
    ///
    /// # Errors
    /// There is no such key, or it holds something else.
    pub fn existing_kind(&mut self) -> Result<StoredType, Error> {
        let kind = match self.kind() {
            Err(Error::Refused(text)) if text.contains("NOPERM") => Some(StoredType::Bloom),
            kind => kind?,
        };
        kind.ok_or_else(|| no_such_key(self.key()))
    }
}

/// The kind of a filter; `None` if no partition of it exists. If the user may not ask the server,
/// it is `assumed`.
///
/// # Errors
/// A key holds something else, the partitions are of two kinds, some are missing, or there are more
/// of them.
pub fn family(
    filter: &mut PartitionedFilter,
    assumed: Option<Family>,
) -> Result<Option<Family>, Error> {
    let mut found = None;
    for reply in filter.ask_each(Retry::Yes, |key| cmd("TYPE").arg(key).take()) {
        let family = match reply {
            Err(FilterError::Refused(text)) if text.starts_with("NOPERM") => {
                found = assumed.or(Some(Family::Bloom));
                break;
            }
            reply => kind_in(&reply?)?.map(Family::from),
        };
        if found.is_some() && family.is_some() && found != family {
            let text = "some partitions are Bloom filters and some counting filters";
            return Err(Error::Contents(text.into()));
        }
        found = found.or(family);
    }
    if (found, assumed) == (Some(Family::Bloom), Some(Family::Counting)) {
        return Err(Error::Contents("the key holds a Bloom filter, no counting filter".into()));
    }
    if found.is_some() && filter.is_partitioned() {
        filter.check()?;
    }
    Ok(found)
}

/// A filter that must exist, its kind, and how its server looks items up.
pub fn existing(
    mut filter: PartitionedFilter,
    assumed: Option<Family>,
) -> Result<(PartitionedFilter, Family, Wording), Error> {
    let family = family(&mut filter, assumed)?;
    let family = family.ok_or_else(|| no_such_key(&filter.keys()[0]))?;
    let name = family.command("PACKEXISTS");
    let replies = filter.ask_each(Retry::Yes, |_| cmd("COMMAND").arg("INFO").arg(&name).take());
    let is_known = |reply| match reply {
        Ok(Value::Array(commands)) => commands.iter().any(|command| *command != Value::Nil),
        _ => false,
    };
    let wording = match replies.into_iter().all(is_known) {
        true => Wording::Packed,
        false => Wording::Separate, // RedisBloom, or a user who may not ask
    };
    Ok((filter, family, wording))
}

fn no_such_key(key: &[u8]) -> Error {
    Error::Contents(format!("there is no such key: {}", String::from_utf8_lossy(key)))
}

/// The module of a server whose filters of this type are not splitbloom's.
pub fn other_module(kind: StoredType) -> &'static str {
    match kind {
        StoredType::ValkeyBloom => "valkey-bloom",
        StoredType::Bloom | StoredType::Counting => "RedisBloom",
    }
}

/// The type in a reply to TYPE; `None` if the key is missing.
fn kind_in(reply: &Value) -> Result<Option<StoredType>, Error> {
    let name = text(reply);
    if name == "none" {
        return Ok(None);
    }
    let other = || Error::Contents(format!("the key holds no filter: {name}"));
    StoredType::named(&name).map(Some).ok_or_else(other)
}
