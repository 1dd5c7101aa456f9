//! The thread of a follower.

use super::copy::{Copy, BEGINNING};
use super::reply::{parse, parse_chunk, places, Changes, NumberedChunk, MAX_CHANGES};
use super::Source;
use crate::link::{Link, Request};
use crate::node::{Address, Timeouts};
use crate::{command, on, Error, Retry, Topology};
use redis::{ConnectionInfo, Value};
use splitbloom_filter::codec::{is_chunk, load_chunk, Chunk};
use splitbloom_filter::{AddError, Filter, SizeLimit};
use splitbloom_partition::slot_of;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the server holds a question while it has no news. Its null reply then tells the
/// follower that the server is alive.
const HEARTBEAT: Duration = Duration::from_millis(200);
/// How long each of several nodes holds a question: their replies are read one after the other.
const TURN: Duration = Duration::from_millis(10);
/// How often each of several partitions is polled without known news: while items are added, and
/// while none are. A question costs the server 2.7 µs, so 256 partitions take 3.5 % of its time, or
/// 0.15 %.
const SWEEP: Duration = Duration::from_millis(20);
const SWEEP_OF_IDLE: Duration = Duration::from_millis(450);
/// The pause after news: a thousand questions a second are enough.
const PACE: Duration = Duration::from_millis(1);
/// How long a request is retried before the worker connects anew.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the other partitions are read while one is fetched: a journal that is not read for
/// `bf.journal-idle-time` ends.
const MEANWHILE: Duration = Duration::from_millis(500);
/// The name of its connections in CLIENT LIST.
const NAME: &str = "splitbloom-follower";
/// The first and the longest pause before it connects anew.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What the worker knows of a partition.
struct Part {
    key: Vec<u8>,
    /// Everything up to here is in the filter.
    position: Vec<u8>,
    /// A filter that is complete, but not published.
    filter: Option<Filter>,
    /// Whether there may be news that has not been polled.
    is_due: bool,
    /// The time of the last question whose reply left nothing missing.
    current_at: Option<Instant>,
}

impl Part {
    /// A partition of which the copy has everything up to a position.
    fn at(position: Vec<u8>, key: Vec<u8>) -> Self {
        Self { key, position, filter: None, is_due: true, current_at: None }
    }

    fn new(key: Vec<u8>) -> Self {
        Self::at(BEGINNING.to_vec(), key)
    }
}

pub(super) struct Worker {
    copy: Arc<Copy>,
    source: Source,
    /// The nodes of the cluster, one of which may have to replace those that the caller named.
    nodes: Vec<ConnectionInfo>,
    parts: Vec<Part>,
    is_published: bool,
    /// Whether a key was missing the last time; in a cluster, its slot may have left that node.
    was_missing: bool,
    /// When the last fetch ended, and how long it took.
    last_fetch: (Instant, Duration),
    /// Whether a partition is being fetched. Then others are only read.
    is_fetching: bool,
    /// When the last fetch succeeded or read the other partitions. Replies to earlier questions may
    /// be older than the copy.
    outdated_at: Option<Instant>,
}

impl Worker {
    /// A worker that goes on with what is in the copy.
    pub fn new(copy: Arc<Copy>, source: Source) -> Self {
        let keys = source.keys.iter().cloned();
        let positions = copy.positions();
        let is_published = positions.is_some();
        let parts = match positions {
            Some(positions) => {
                positions.into_iter().zip(keys).map(|(at, key)| Part::at(at, key)).collect()
            }
            None => keys.map(Part::new).collect(),
        };
        Self {
            copy,
            source,
            nodes: Vec::new(),
            parts,
            is_published,
            was_missing: false,
            last_fetch: (Instant::now(), Duration::ZERO),
            is_fetching: false,
            outdated_at: None,
        }
    }

    /// Follows until the follower is dropped.
    pub fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        while !self.copy.is_stopped() {
            let begun = Instant::now();
            let Err(error) = self.follow() else {
                return;
            };
            let is_missing = has_no_filter(&error);
            // In a cluster, only once the owners have been looked up anew and say the same.
            if is_missing && (self.was_missing || self.source.topology == Topology::OneServer) {
                self.withdraw();
            }
            self.was_missing = is_missing;
            // A filter that changes too fast is fetched for at most half of the time.
            let (fetched_at, took) = self.last_fetch;
            let least = match error {
                Error::Outpaced(_) | Error::Replaced(_) => {
                    took.saturating_sub(fetched_at.elapsed())
                }
                _ => Duration::ZERO,
            };
            self.copy.failed(error);
            if begun.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            // Followers that lost the same server do not all come back at once.
            let share = RandomState::new().hash_one(begun) % 1024;
            self.rest(least + pause / 2 + pause * share as u32 / 2048);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Sleeps, but no longer than the follower exists.
    fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.copy.is_stopped() {
            match end.checked_duration_since(Instant::now()) {
                Some(left) => sleep(left.min(HEARTBEAT)),
                None => return,
            }
        }
    }

    /// Connects, and follows until something fails.
    fn follow(&mut self) -> Result<(), Error> {
        let Source { servers, topology, .. } = self.source.clone();
        let servers = [servers, self.nodes.clone()].concat();
        let link = Link::with(servers, topology, Timeouts::OF_NODE, Some(NAME));
        let mut link = link.map_err(Error::Unreachable)?;
        self.nodes = link.nodes().collect();
        link.set_patience(PATIENCE);
        // Replies over an older link do not make the copy current on this one.
        for part in &mut self.parts {
            (part.is_due, part.current_at) = (true, None);
        }
        let (mut swept_at, mut sweep) = (Instant::now(), SWEEP_OF_IDLE);
        while !self.copy.is_stopped() {
            let rest = sweep.saturating_sub(swept_at.elapsed());
            if self.parts.len() > 1 && rest.is_zero() {
                self.parts.iter_mut().for_each(|part| part.is_due = true);
                (swept_at, sweep) = (Instant::now(), SWEEP_OF_IDLE);
            }
            let are_due = self.parts.iter().any(|part| part.is_due);
            let asked = match are_due {
                true => self.ask(&mut link),
                false => self.wait(&mut link, rest),
            };
            if asked.is_err() && self.is_published {
                self.publish(); // what was received of other partitions
            }
            let has_news = asked?;
            if has_news {
                sweep = SWEEP;
            }
            if self.publish() {
                if let Some(at) = self.parts.iter().map(|part| part.current_at).min().flatten() {
                    self.copy.is_current(at);
                    self.was_missing = false;
                }
            }
            match (has_news, are_due) {
                (true, _) => sleep(PACE),
                // A node that gives a slot away ends each wait at once for a key that has moved.
                (false, true) => sleep(SWEEP),
                (false, false) => {}
            }
        }
        Ok(())
    }

    /// Asks for what is new in the partitions that are due. Returns whether anything was. An error
    /// in one does not stop the others, unless a filter is missing.
    fn ask(&mut self, link: &mut Link) -> Result<bool, Error> {
        let asked_at = Instant::now();
        let due = (0..self.parts.len()).filter(|index| self.parts[*index].is_due);
        let due: Vec<usize> = due.collect();
        let questions = due.iter().map(|index| {
            let Part { key, position, .. } = &self.parts[*index];
            on(key, command("BF.CHANGES", key).arg(position))
        });
        let replies = link.ask(Retry::Yes, questions.collect());
        let replies = due.into_iter().zip(replies);
        let mut replies: Vec<_> =
            replies.map(|(index, reply)| (index, self.found(index, reply))).collect();
        // Checked before any is fetched: if one partition has no filter, the others are of no use.
        let is_none = |reply: &Result<_, Error>| reply.as_ref().is_err_and(has_no_filter);
        if let Some(place) = replies.iter().position(|(_, reply)| is_none(reply)) {
            return replies.swap_remove(place).1.map(|_| false);
        }
        let (mut has_news, mut outcome) = (false, Ok(()));
        for (index, reply) in replies {
            match self.take(index, reply, asked_at, link) {
                Ok(is_new) => has_news |= is_new,
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome.map(|()| has_news)
    }

    /// Waits until something is new; with several partitions, at most for `longest`. Each node
    /// holds one question about all of its partitions. Returns whether the copy has changed.
    fn wait(&mut self, link: &mut Link, longest: Duration) -> Result<bool, Error> {
        let asked_at = Instant::now();
        let mut nodes: BTreeMap<Option<Address>, Vec<usize>> = BTreeMap::new();
        for (index, part) in self.parts.iter().enumerate() {
            nodes.entry(link.owner(slot_of(&part.key))).or_default().push(index);
        }
        let nodes: Vec<Vec<usize>> = nodes.into_values().collect();
        let time = match (self.parts.len(), nodes.len()) {
            (1, _) => HEARTBEAT,
            (_, 1) => longest,
            _ => TURN.min(longest),
        };
        let questions = nodes.iter().map(|node| self.question(node, time)).collect();
        let replies = link.ask(Retry::Yes, questions);
        let (mut has_news, mut outcome) = (false, Ok(()));
        for (node, reply) in nodes.into_iter().zip(replies) {
            let reply = self.found(node[0], reply);
            let taken = match *node {
                [index] => self.take(index, reply, asked_at, link),
                // Filters may have been renamed, so each one with news is polled by its key.
                _ => reply.and_then(|reply| places(&reply)).map(|places| {
                    places.into_iter().filter_map(|place| node.get(place)).for_each(|index| {
                        self.parts[*index].is_due = true;
                    });
                    false
                }),
            };
            match taken {
                Ok(is_new) => has_news |= is_new,
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome.map(|()| has_news)
    }

    /// The question that waits until something is new in these partitions, all of one node.
    fn question(&self, node: &[usize], time: Duration) -> Request {
        let Part { key, position, .. } = &self.parts[node[0]];
        let mut changes = command("BF.CHANGES", key);
        changes.arg(position).arg("BLOCK").arg(time.as_millis().max(1) as u64); // 0 is for ever
        if node.len() > 1 {
            changes.arg("ALSO");
            for index in &node[1..] {
                changes.arg(&self.parts[*index].position);
            }
        }
        on(key, &changes)
    }

    /// Turns the error `not found` about a partition into [`Error::Missing`].
    fn found(&self, index: usize, reply: Result<Value, Error>) -> Result<Value, Error> {
        match reply {
            Err(Error::Refused(text)) if text == crate::NOT_FOUND => {
                Err(Error::Missing(vec![self.parts[index].key.clone()]))
            }
            reply => reply,
        }
    }

    /// Handles a reply about a partition. Returns whether it has news.
    fn take(
        &mut self,
        index: usize,
        reply: Result<Value, Error>,
        asked_at: Instant,
        link: &mut Link,
    ) -> Result<bool, Error> {
        let Some(changes) = parse(reply?)? else {
            self.parts[index].current_at = Some(asked_at);
            return Ok(false);
        };
        let has_news = changes.has_news();
        self.take_in(index, changes, asked_at, link)?;
        Ok(has_news)
    }

    /// Applies changes to a partition, or fetches it, and notes whether it may lack more.
    fn take_in(
        &mut self,
        index: usize,
        changes: Changes,
        asked_at: Instant,
        link: &mut Link,
    ) -> Result<(), Error> {
        let part = &mut self.parts[index];
        part.is_due = true;
        // The reply may be older than the copy, so the partition stays due.
        if self.outdated_at.is_some_and(|time| time > asked_at) {
            return Ok(());
        }
        let Some(hashes) = &changes.hashes else {
            if changes.are_of_journal_of(&part.position) {
                part.position = BEGINNING.to_vec();
                return Err(Error::Outpaced(part.key.clone()));
            }
            if !self.is_fetching {
                self.fetch(index, changes.position, link)?;
            }
            return Ok(());
        };
        let is_all = hashes.len() < MAX_CHANGES;
        match &mut part.filter {
            Some(filter) => changes.apply_to(filter).map_err(not_applied)?,
            None => self.copy.apply(index, &changes).map_err(not_applied)?,
        }
        part.position = changes.position;
        if is_all {
            (part.is_due, part.current_at) = (false, Some(asked_at));
        }
        Ok(())
    }

    /// Fetches a partition from `position` on, and reads the others meanwhile.
    fn fetch(&mut self, index: usize, position: Vec<u8>, link: &mut Link) -> Result<(), Error> {
        let (begun, key) = (Instant::now(), self.parts[index].key.clone());
        let fetched = fetch(link, &key, position, |link| {
            let read_at = self.outdated_at.map_or(begun, |time| time.max(begun));
            if self.parts.len() > 1 && read_at.elapsed() > MEANWHILE {
                self.parts.iter_mut().for_each(|part| part.is_due = true);
                self.is_fetching = true;
                let _ = self.ask(link); // what fails is asked again after the fetch
                self.is_fetching = false;
                self.outdated_at = Some(Instant::now());
            }
        });
        self.last_fetch = (Instant::now(), begun.elapsed());
        let (filter, position) = fetched?;
        self.outdated_at = Some(Instant::now());
        let part = &mut self.parts[index];
        (part.filter, part.position, part.is_due) = (Some(filter), position, true);
        self.copy.fetched();
        Ok(())
    }

    /// Publishes the filters that are complete. Returns whether all are.
    fn publish(&mut self) -> bool {
        if self.is_published {
            for (index, part) in self.parts.iter_mut().enumerate() {
                if let Some(filter) = part.filter.take() {
                    self.copy.replace(index, filter, part.position.clone());
                }
            }
        } else if self.parts.iter().all(|part| part.filter.is_some()) {
            let filters = self.parts.iter_mut().filter_map(|part| part.filter.take());
            let filters = filters.collect();
            let positions = self.parts.iter().map(|part| part.position.clone());
            self.copy.publish(filters, positions.collect());
            self.is_published = true;
        }
        self.is_published
    }

    /// A key is missing, so there is no filter.
    fn withdraw(&mut self) {
        self.copy.withdraw();
        self.is_published = false;
        for part in &mut self.parts {
            *part = Part::new(std::mem::take(&mut part.key));
        }
    }
}

/// The server's error for a filter with a window, which has no journal.
const WINDOW: &str = "ERR a filter with a window cannot be followed";

/// Whether a key is missing, or holds nothing that can be followed.
fn has_no_filter(error: &Error) -> bool {
    match error {
        Error::Missing(_) => true,
        Error::Refused(text) => text.starts_with("WRONGTYPE") || text == WINDOW,
        _ => false,
    }
}

fn not_applied(error: AddError) -> Error {
    Error::Unexpected(match error {
        AddError::OutOfMemory => "no memory for the copy".into(),
        _ => "to BF.CHANGES: the filter has no such part".into(),
    })
}

/// Fetches the filter of a key from `position` on, in chunks of at most 1 MiB, and follows it
/// meanwhile: a journal need not hold more than what is new between two chunks. Calls `between`
/// after each chunk. Returns the copy and its position.
fn fetch(
    link: &mut Link,
    key: &[u8],
    mut position: Vec<u8>,
    mut between: impl FnMut(&mut Link),
) -> Result<(Filter, Vec<u8>), Error> {
    let (mut filter, mut iterator): (Option<Filter>, i64) = (None, 0);
    loop {
        let (chunk, changes) = ask_for_chunk(link, key, iterator, &position)?;
        if changes.hashes.is_none() && changes.are_of_journal_of(&position) {
            return Err(Error::Outpaced(key.to_owned()));
        }
        let (next, bytes) = match chunk {
            Some(chunk) if changes.hashes.is_some() => chunk,
            _ => return Err(Error::Replaced(key.to_owned())),
        };
        let loaded = match next {
            0 => filter,
            _ => load(filter, &bytes)?,
        };
        let mut copy = loaded.ok_or_else(|| unexpected_chunk("none"))?;
        changes.apply_to(&mut copy).map_err(not_applied)?;
        if next == 0 {
            return Ok((copy, changes.position));
        }
        (filter, iterator, position) = (Some(copy), next, changes.position);
        between(link);
    }
}

/// Asks for a chunk of the filter of this position, and what is new since.
fn ask_for_chunk(
    link: &mut Link,
    key: &[u8],
    iterator: i64,
    position: &[u8],
) -> Result<(Option<NumberedChunk>, Changes), Error> {
    let scan = on(key, command("BF.SCANDUMP", key).arg(iterator).arg(position));
    let changes = on(key, command("BF.CHANGES", key).arg(position));
    let mut replies = link.ask(Retry::Yes, vec![scan, changes]).into_iter();
    let mut reply = || replies.next().ok_or_else(|| Error::Unexpected("none".into()))?;
    let (chunk, changes) = (reply()?, reply()?);
    let changes = parse(changes)?.ok_or_else(|| Error::Unexpected("to BF.CHANGES".into()))?;
    Ok((parse_chunk(chunk)?, changes))
}

fn unexpected_chunk(what: &str) -> Error {
    Error::Unexpected(format!("to BF.SCANDUMP: {what}"))
}

/// Loads a chunk into the part of a filter received so far; the first one begins it.
fn load(mut filter: Option<Filter>, bytes: &[u8]) -> Result<Option<Filter>, Error> {
    if !is_chunk(bytes) {
        return Err(unexpected_chunk("another module serves this filter"));
    }
    let chunk = Chunk::parse(bytes).map_err(|error| unexpected_chunk(&error.to_string()))?;
    let begun = load_chunk(filter.as_mut(), &chunk, SizeLimit::Unlimited);
    Ok(begun.map_err(|error| unexpected_chunk(&error.to_string()))?.or(filter))
}
