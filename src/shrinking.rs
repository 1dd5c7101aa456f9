//! Filters that become smaller between commands, for BF.SHRINK.
//!
//! A large filter is folded by a timer, in steps of a millisecond, while its client waits. The fold
//! follows the filter as a client does: what is new meanwhile stands in the filter's
//! [journal]. When all is folded, the command runs again, and puts the smaller
//! filter into the place of the larger one. So the change is that of one command, as any other.

use crate::commands::reply_error::ReplyError;
use crate::journal::{self, NotFollowed};
use crate::types::BloomFilter;
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::filter::{Promise, Shrinking, Shrunk};
use splitbloom_filter::{AddError, Filter};
use splitbloom_grammar::changes::Position;
use splitbloom_server::arguments::Argument;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::key::InUse;
use splitbloom_server::location::Location;
use splitbloom_server::timer::Timer;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// No 64 KiB are begun later than this after the timer has fired.
const BUDGET: Duration = Duration::from_millis(1);
/// The interval between two steps: the shortest that servers support.
const INTERVAL_MS: u64 = 1;
/// The delay before another try if the server must not change its data, or the key is in use.
const RETRY_MS: u64 = 100;

static TIMER: Timer = Timer::new();

/// The filters that are being folded. Each has a client that waits for it.
static JOBS: Mutex<Vec<Job>> = Mutex::new(Vec::new());

/// A filter that is being folded.
struct Job {
    key: Location,
    /// Its client holds the other end.
    client: Weak<()>,
    /// How far it is, or why it has failed.
    fold: Result<Fold, ReplyError>,
}

struct Fold {
    shrinking: Shrinking,
    /// How far it has followed the filter.
    position: Position,
    /// Whether only what is new is lacking.
    is_complete: bool,
}

/// The error for a filter that is not followed any more.
fn not_followed(error: NotFollowed) -> ReplyError {
    match error {
        NotFollowed::OverLimit => ReplyError::TOO_MANY_JOURNALS,
        NotFollowed::OutOfMemory => ReplyError::NO_MEMORY_TO_SHRINK,
    }
}

/// The error of a step that lacked memory.
fn no_memory(_: AddError) -> ReplyError {
    ReplyError::NO_MEMORY_TO_SHRINK
}

/// How far the filter under a key is.
pub enum Progress {
    /// Nobody shrinks it.
    NotBegun,
    /// The client that shrinks it must wait, or go on waiting.
    GoesOn,
    /// It has been shrunk, and its old sub-filter is to be freed; `None` if it has no smaller size.
    Ended(Option<BlockedBloom>),
}

/// Registers the timer.
pub fn register() {
    TIMER.register(tick);
}

fn jobs() -> MutexGuard<'static, Vec<Job>> {
    // A panic leaves at most a job whose client gets an error.
    JOBS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to shrink `filter`, the value of `key`. Returns what its client must hold.
///
/// # Errors
/// `TOO_MANY_JOURNALS`, `NO_MEMORY_TO_SHRINK`.
pub fn begin(
    context: &Context,
    key: Argument<'_>,
    filter: &Filter,
    shrinking: Shrinking,
) -> Result<Arc<()>, ReplyError> {
    let changes = journal::changes(context, filter, None, 0).map_err(not_followed)?;
    let key = context.location_of(key).ok_or(ReplyError::NO_MEMORY_TO_SHRINK)?;
    let client = Arc::new(()); // 16 bytes
    let fold = Fold { shrinking, position: changes.position, is_complete: false };
    leave_to_timer(context, Job { key, client: Arc::downgrade(&client), fold: Ok(fold) })?;
    Ok(client)
}

fn leave_to_timer(context: &Context, job: Job) -> Result<(), ReplyError> {
    let mut jobs = jobs();
    jobs.try_reserve(1).map_err(|_| ReplyError::NO_MEMORY_TO_SHRINK)?;
    jobs.push(job);
    TIMER.set(time_now() + INTERVAL_MS, context.thread());
    Ok(())
}

/// How far `filter`, the value of `key`, is. If all of it is folded, puts the smaller one into its
/// place.
///
/// # Errors
/// Why it was not folded. Then, and at its end, nobody shrinks it any more.
pub fn progress(
    context: &Context,
    key: Argument<'_>,
    filter: &mut Filter,
) -> Result<Progress, ReplyError> {
    let database = context.database();
    let is_this = |Job { key: of, client, .. }: &Job| {
        of.database == database && *of.name == *key.bytes() && client.strong_count() > 0
    };
    let mut jobs = jobs();
    let Some(index) = jobs.iter().position(is_this) else {
        return Ok(Progress::NotBegun);
    };
    if jobs[index].goes_on() {
        return Ok(Progress::GoesOn);
    }
    let Job { key, client, fold } = jobs.swap_remove(index);
    drop(jobs);
    let mut fold = fold?;
    fold.follow(context, filter)?;
    match fold.shrinking.finish(filter, Promise::Kept).map_err(no_memory)? {
        Shrunk::Yes(old) => Ok(Progress::Ended(Some(old))),
        Shrunk::Not(None) => Ok(Progress::Ended(None)),
        Shrunk::Not(Some(shrinking)) => {
            let fold = Fold { shrinking, is_complete: false, ..fold };
            leave_to_timer(context, Job { key, client, fold: Ok(fold) })?;
            Ok(Progress::GoesOn)
        }
    }
}

/// Takes a step of the job whose turn it is.
fn tick(context: &Context) -> Option<u64> {
    let mut jobs = jobs();
    jobs.retain(|job| job.client.strong_count() > 0);
    let index = jobs.iter().position(Job::goes_on)?;
    if context.must_wait() {
        return Some(time_now() + RETRY_MS);
    }
    let (mut job, begun) = (jobs.swap_remove(index), Instant::now());
    let delay = match job.step(context, begun) {
        Ok(()) => INTERVAL_MS,
        Err(InUse) => RETRY_MS,
    };
    jobs.push(job); // to the end of the turn; there is room where it was
    Some(time_now() + delay)
}

impl Job {
    fn goes_on(&self) -> bool {
        self.fold.as_ref().is_ok_and(|fold| !fold.is_complete)
    }

    /// Folds for as long as the budget lasts. At the end, wakes the client.
    fn step(&mut self, context: &Context, begun: Instant) -> Result<(), InUse> {
        let (Ok(fold), Some(name)) =
            (&mut self.fold, context.go_to(self.key.database, &self.key.name))
        else {
            return Ok(());
        };
        let mut key = context.open_quietly(name.argument())?;
        let folded = match key.value::<BloomFilter>() {
            Ok(Some(stored)) => fold.step(context, stored.filter(), begun),
            _ => Err(ReplyError::CHANGED_MEANWHILE),
        };
        drop(key);
        if let Err(failed) = folded {
            self.fold = Err(failed);
        }
        if !self.goes_on() {
            context.signal_ready(name.argument()); // it runs after the timer
        }
        Ok(())
    }
}

impl Fold {
    fn step(
        &mut self,
        context: &Context,
        filter: &Filter,
        begun: Instant,
    ) -> Result<(), ReplyError> {
        self.follow(context, filter)?;
        while begun.elapsed() < BUDGET {
            if !self.shrinking.step(filter).map_err(no_memory)? {
                self.is_complete = true;
                break;
            }
        }
        Ok(())
    }

    /// Adds what is new in `filter`.
    fn follow(&mut self, context: &Context, filter: &Filter) -> Result<(), ReplyError> {
        let changes = journal::changes(context, filter, Some(self.position), u64::MAX);
        let changes = changes.map_err(not_followed)?;
        let hashes = changes.hashes.ok_or(ReplyError::CHANGED_MEANWHILE)?;
        self.position = changes.position;
        self.shrinking.add(journal::hashes_of(&hashes)).map_err(no_memory)
    }
}
