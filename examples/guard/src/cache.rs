//! The cache, and the filter of valid ids in it.
//!
//! ```text
//! ids            the filter; its last items are the marks of the server that filled it
//! ids:next       a filter that is being filled; it replaces the first by RENAME
//! ids:filling    who fills it
//! row:ID         a row, for a minute
//! absent:ID      a proof that there is no such row, for ten seconds: the database said so
//! ```

use redis::aio::MultiplexedConnection;
use redis::{cmd, pipe, AsyncConnectionConfig, RedisError, RedisResult, Script};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

const FILTER: &str = "ids";
const NEXT: &str = "ids:next";
const FILLING: &str = "ids:filling";
const ROW_SECONDS: u64 = 60;
const PROOF_SECONDS: u64 = 10;
/// Whoever fills the filter and does not go on for so long has died.
const FILLING_SECONDS: u64 = 30;
/// Few enough that no other client waits long.
const ITEMS_PER_COMMAND: usize = 1_000;
/// One would not do: at 1 %, a hundredth of all old filters have it as a false positive.
const MARKS: usize = 4;

/// Swaps the filters, if nobody else has begun to fill one since: theirs may be incomplete.
const SWAP: &str = "
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return 0 end
redis.call(ARGV[2] .. '.INSERT', KEYS[2], 'NOCREATE', 'ITEMS', unpack(ARGV, 3))
redis.call('RENAME', KEYS[2], KEYS[1])
redis.call('DEL', KEYS[3])
return 1";

/// The kind of filter.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// `BF.*`: smaller. What was deleted stays until the next rebuild.
    Bloom,
    /// `CF.*`: deletes.
    Counting,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Kind::Bloom => "BF",
            Kind::Counting => "CF",
        }
    }

    fn command(self, verb: &str) -> redis::Cmd {
        cmd(&format!("{}.{verb}", self.prefix()))
    }
}

/// What the cache knows of an id.
#[derive(Debug, PartialEq)]
pub enum Known {
    Row(String),
    /// There is no such row.
    Absent,
    /// Ask the database.
    Nothing,
    /// The same, since there is no filter: it was lost, or it is not one that this server filled.
    NoFilter,
}

/// A connection, and the marks of a filter that was filled on this run of the server. A server that
/// restarted or took over may have a filter without the last ids: it lacks these marks.
#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    marks: Arc<[String; MARKS]>,
}

/// A client of the cache.
pub struct Cache {
    client: redis::Client,
    kind: Option<Kind>,
    keeps_proofs: bool,
    patience: Duration,
    live: Mutex<Option<Live>>,
}

impl Cache {
    /// A cache with a filter of that kind in front, or none, and with proofs of absence or not. Its
    /// methods fail after `patience`: that should be longer than a healthy cache ever takes.
    ///
    /// # Errors
    /// The address is not one.
    pub fn new(
        address: &str,
        kind: Option<Kind>,
        keeps_proofs: bool,
        patience: Duration,
    ) -> RedisResult<Cache> {
        Ok(Cache {
            client: redis::Client::open(address)?,
            kind,
            keeps_proofs,
            patience,
            live: Mutex::new(None),
        })
    }

    pub fn has_filter(&self) -> bool {
        self.kind.is_some()
    }

    /// Asks for the row, the proof and the filter's answer in one round trip.
    ///
    /// # Errors
    /// The cache does not answer: ask the database.
    pub async fn look_up(&self, id: i64) -> RedisResult<Known> {
        let live = self.live().await?;
        let mut asked = pipe();
        asked.cmd("GET").arg(row(id)).cmd("EXISTS").arg(proof(id));
        if let Some(kind) = self.kind {
            let mut exists = kind.command("MEXISTS");
            exists.arg(FILTER).arg(id).arg(&*live.marks);
            asked.add_command(exists);
        }
        type Replies = (Option<String>, bool, Vec<bool>);
        let (row, is_proved, found): Replies = match self.kind {
            Some(_) => self.query(live, &asked).await?,
            None => {
                let (row, proof) = self.query(live, &asked).await?;
                (row, proof, Vec::new())
            }
        };
        Ok(match (row, is_proved, found.split_first()) {
            (Some(row), ..) => Known::Row(row),
            (_, true, _) => Known::Absent,
            (.., Some((_, marks))) if marks.contains(&false) => Known::NoFilter,
            (.., Some((false, _))) => Known::Absent,
            _ => Known::Nothing,
        })
    }

    /// Whether the filter, if there is to be one, is not there or was not filled on this run.
    ///
    /// # Errors
    /// The cache does not answer.
    pub async fn has_lost_filter(&self) -> RedisResult<bool> {
        let Some(kind) = self.kind else {
            return Ok(false);
        };
        let mut live = self.live().await?;
        let mut exists = kind.command("MEXISTS");
        exists.arg(FILTER).arg(&*live.marks);
        let marks = exists.query_async::<Vec<bool>>(&mut live.connection).await;
        Ok(self.seen(marks).await?.contains(&false))
    }

    /// Keeps what the database said.
    ///
    /// # Errors
    /// The cache does not answer.
    pub async fn remember(&self, id: i64, name: Option<&str>) -> RedisResult<()> {
        let mut set = cmd("SET");
        match name {
            Some(name) => set.arg(row(id)).arg(name).arg("EX").arg(ROW_SECONDS),
            None if self.keeps_proofs => set.arg(proof(id)).arg("").arg("EX").arg(PROOF_SECONDS),
            None => return Ok(()),
        };
        let mut live = self.live().await?;
        let set = set.query_async(&mut live.connection).await;
        self.seen(set).await
    }

    /// Tells the filter of rows that were committed, and of what they hold. First the next filter,
    /// then the present one: a RENAME in between must not pass an id by. Without the filters (they
    /// are not there, or lost) there is nothing to tell.
    ///
    /// # Errors
    /// The cache does not answer, or a filter takes no more: the rows must be announced again.
    pub async fn announce(&self, ids: &[i64]) -> RedisResult<()> {
        let Some(kind) = self.kind else { return Ok(()) };
        let mut live = self.live().await?;
        for key in [NEXT, FILTER] {
            let mut insert = kind.command("INSERT");
            insert.arg(key).arg("NOCREATE").arg("ITEMS").arg(ids);
            let told = insert.query_async::<redis::Value>(&mut live.connection).await;
            match self.seen(told).await {
                Err(error) if is_missing(&error) => {}
                told => drop(told?),
            }
        }
        let mut forget = cmd("DEL");
        forget.arg(ids.iter().map(|id| proof(*id)).collect::<Vec<_>>());
        let forgotten = forget.query_async(&mut live.connection).await;
        self.seen(forgotten).await
    }

    /// Forgets a row whose deletion was committed. A counting filter takes it out, but not of a
    /// filter that is being filled: it may not be there yet, and CF.DEL would take out another.
    ///
    /// # Errors
    /// The cache does not answer. The row stays for a minute.
    pub async fn forget(&self, id: i64) -> RedisResult<()> {
        let mut live = self.live().await?;
        let mut forget = pipe();
        forget.cmd("DEL").arg(row(id)).ignore();
        let forgotten = forget.query_async::<()>(&mut live.connection).await;
        self.seen(forgotten).await?;
        if self.kind == Some(Kind::Counting) {
            let mut delete = cmd("CF.DEL");
            delete.arg(FILTER).arg(id);
            let deleted = delete.query_async::<redis::Value>(&mut live.connection).await;
            match self.seen(deleted).await {
                Err(error) if is_missing(&error) => {}
                deleted => drop(deleted?),
            }
        }
        Ok(())
    }

    /// Begins to fill a new filter, unless somebody else does.
    ///
    /// # Errors
    /// The cache does not answer.
    pub async fn begin(&self, error_rate: f64, capacity: u64) -> RedisResult<Option<Filling<'_>>> {
        let Some(kind) = self.kind else {
            return Ok(None);
        };
        let Live { mut connection, marks } = self.live().await?;
        // The standard library seeds its hashers at random.
        let token = RandomState::new().hash_one(&marks);
        let mut lock = cmd("SET");
        lock.arg(FILLING).arg(token).arg("NX").arg("EX").arg(FILLING_SECONDS);
        if lock.query_async::<Option<String>>(&mut connection).await?.is_none() {
            return Ok(None);
        }
        let mut reserve = kind.command("RESERVE");
        match kind {
            Kind::Bloom => reserve.arg(NEXT).arg(error_rate).arg(capacity),
            Kind::Counting => reserve.arg(NEXT).arg(capacity).arg("ERROR").arg(error_rate),
        };
        let mut both = pipe();
        both.cmd("UNLINK").arg(NEXT).ignore().add_command(reserve).ignore();
        both.query_async::<()>(&mut connection).await?;
        Ok(Some(Filling { cache: self, kind, connection, marks, token }))
    }

    /// A live connection, opened if there is none.
    async fn live(&self) -> RedisResult<Live> {
        let mut live = self.live.lock().await;
        if let Some(live) = &*live {
            return Ok(live.clone());
        }
        let patience = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.patience))
            .set_response_timeout(Some(self.patience));
        let opened = self.client.get_multiplexed_async_connection_with_config(&patience);
        let mut connection = opened.await?;
        let info: redis::InfoDict = cmd("INFO").arg("server").query_async(&mut connection).await?;
        let run: String = info.get("run_id").unwrap_or_default();
        let marks = std::array::from_fn(|n| format!("filled on {run}:{n}"));
        Ok(live.insert(Live { connection, marks: Arc::new(marks) }).clone())
    }

    async fn query<T: redis::FromRedisValue>(
        &self,
        mut live: Live,
        commands: &redis::Pipeline,
    ) -> RedisResult<T> {
        let replies = commands.query_async(&mut live.connection).await;
        self.seen(replies).await
    }

    /// After an error of the connection the next request opens another.
    async fn seen<T>(&self, reply: RedisResult<T>) -> RedisResult<T> {
        if let Err(error) = &reply {
            if error.is_unrecoverable_error() || error.is_timeout() || error.is_io_error() {
                *self.live.lock().await = None;
            }
        }
        reply
    }
}

/// A filter that is being filled.
pub struct Filling<'a> {
    cache: &'a Cache,
    kind: Kind,
    connection: MultiplexedConnection,
    marks: Arc<[String; MARKS]>,
    token: u64,
}

impl Filling<'_> {
    /// Adds some ids.
    ///
    /// # Errors
    /// The cache does not answer, or the filter is lost again.
    pub async fn add(&mut self, ids: &[i64]) -> RedisResult<()> {
        let mut trip = pipe();
        for ids in ids.chunks(ITEMS_PER_COMMAND) {
            let mut insert = self.kind.command("INSERT");
            insert.arg(NEXT).arg("NOCREATE").arg("ITEMS").arg(ids);
            trip.add_command(insert).ignore();
        }
        trip.cmd("EXPIRE").arg(FILLING).arg(FILLING_SECONDS).ignore();
        let added = trip.query_async(&mut self.connection).await;
        self.cache.seen(added).await
    }

    /// Adds the marks and puts the filter in the place of the old one; returns whether it did, or
    /// somebody else took over.
    ///
    /// # Errors
    /// The cache does not answer, or the filter is lost again.
    pub async fn finish(mut self) -> RedisResult<bool> {
        let swap = Script::new(SWAP);
        let mut swap = swap.key(&[FILTER, NEXT, FILLING][..]);
        swap.arg(self.token).arg(self.kind.prefix()).arg(&*self.marks);
        let swapped = swap.invoke_async(&mut self.connection).await;
        self.cache.seen(swapped).await
    }
}

fn row(id: i64) -> String {
    format!("row:{id}")
}

fn proof(id: i64) -> String {
    format!("absent:{id}")
}

/// The error of INSERT with NOCREATE, and of CF.DEL, where there is no filter.
fn is_missing(error: &RedisError) -> bool {
    error.to_string().to_lowercase().contains("not found")
}
