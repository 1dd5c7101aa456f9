//! The cache, and the filter of valid ids in it.
//!
//! ```text
//! ids            the filter; its last items are the marks of the server that filled it
//! ids:next:...   a filter that is being filled, of a random name; it replaces the first by RENAME
//! ids:filling    its name: the lock of whoever fills it
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
const FILLING: &str = "ids:filling";
const ROW_SECONDS: u64 = 60;
const PROOF_SECONDS: u64 = 10;
/// Whoever fills the filter and does not go on for so long has died.
const FILLING_SECONDS: u64 = 30;
/// Few enough that no other client waits long.
const ITEMS_PER_COMMAND: usize = 1_000;
/// One would not do: at 1 %, a hundredth of all old filters have it as a false positive.
const MARKS: usize = 4;

/// Swaps the filters, unless another process has begun to fill one since.
const SWAP: &str = "
if redis.call('GET', KEYS[3]) ~= KEYS[2] then return 0 end
redis.call(ARGV[1] .. '.INSERT', KEYS[2], 'NOCREATE', 'ITEMS', unpack(ARGV, 2))
redis.call('RENAME', KEYS[2], KEYS[1])
redis.call('PERSIST', KEYS[1])
redis.call('DEL', KEYS[3])
return 1";

/// Gives up a filter that is not complete, and the lock, unless another process has it by now.
const GIVE_UP: &str = "
redis.call('UNLINK', KEYS[1])
if redis.call('GET', KEYS[2]) == KEYS[1] then redis.call('DEL', KEYS[2]) end";

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

    /// Adds ids to a filter that exists. The reply is a number only if none was refused.
    fn add(self, key: &str, ids: &[i64]) -> redis::Cmd {
        let lines: Vec<String> = ids.iter().map(i64::to_string).collect();
        let mut add = self.command("PACKADD");
        add.arg(key).arg("LINES").arg(lines.join("\n")).arg("NOCREATE").take()
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

    /// Tells the filters of rows that were committed. First the one that is being filled, then the
    /// present one: a RENAME in between must not pass an id by. Without filters (they are not
    /// there, or lost) there is nothing to tell. One that begins to be filled later has the rows.
    ///
    /// # Errors
    /// The cache does not answer, or a filter takes no more: the rows must be announced again.
    pub async fn announce(&self, ids: &[i64]) -> RedisResult<()> {
        let Some(kind) = self.kind else { return Ok(()) };
        let mut live = self.live().await?;
        let next =
            cmd("GET").arg(FILLING).query_async::<Option<String>>(&mut live.connection).await;
        for key in self.seen(next).await?.as_deref().into_iter().chain([FILTER]) {
            let told = kind.add(key, ids).query_async::<u64>(&mut live.connection).await;
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
        let next = format!("{FILTER}:next:{:016x}", RandomState::new().hash_one(&marks));
        let mut lock = cmd("SET");
        lock.arg(FILLING).arg(&next).arg("NX").arg("EX").arg(FILLING_SECONDS);
        if lock.query_async::<Option<String>>(&mut connection).await?.is_none() {
            return Ok(None);
        }
        let mut reserve = kind.command("RESERVE");
        match kind {
            Kind::Bloom => reserve.arg(&next).arg(error_rate).arg(capacity),
            Kind::Counting => reserve.arg(&next).arg(capacity).arg("ERROR").arg(error_rate),
        };
        reserve.arg("EX").arg(FILLING_SECONDS);
        let mut filling = Filling { cache: self, kind, connection, marks, next };
        match reserve.query_async::<()>(&mut filling.connection).await {
            Ok(()) => Ok(Some(filling)),
            Err(error) => {
                filling.give_up().await;
                Err(error)
            }
        }
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
    /// The name of the filter, which the lock holds.
    next: String,
}

impl Filling<'_> {
    /// Adds some ids.
    ///
    /// # Errors
    /// The cache does not answer, or the filter is lost again.
    pub async fn add(&mut self, ids: &[i64]) -> RedisResult<()> {
        let mut trip = pipe();
        for ids in ids.chunks(ITEMS_PER_COMMAND) {
            trip.add_command(self.kind.add(&self.next, ids));
        }
        for key in [&self.next, FILLING] {
            trip.cmd("EXPIRE").arg(key).arg(FILLING_SECONDS);
        }
        let added = trip.query_async::<Vec<u64>>(&mut self.connection).await;
        self.cache.seen(added).await.map(drop)
    }

    /// Adds the marks and puts the filter in the place of the old one; returns whether it did, or
    /// somebody else took over.
    ///
    /// # Errors
    /// The cache does not answer, or the filter is lost again.
    pub async fn finish(&mut self) -> RedisResult<bool> {
        let swap = Script::new(SWAP);
        let mut swap = swap.key(&[FILTER, &self.next, FILLING][..]);
        swap.arg(self.kind.prefix()).arg(&*self.marks);
        let swapped = swap.invoke_async(&mut self.connection).await;
        self.cache.seen(swapped).await
    }

    /// Lets others fill a filter, and deletes this one. If the cache does not answer, both expire.
    pub async fn give_up(&mut self) {
        let give_up = Script::new(GIVE_UP);
        let give_up = give_up.key(&[&self.next, FILLING][..]);
        give_up.invoke_async::<()>(&mut self.connection).await.ok();
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
