//! Filters that become smaller between commands, for BF.SHRINK.
//!
//! A large filter is folded by a timer, in steps of a millisecond, while its client waits. What is
//! added meanwhile is added to the folded filter, too: see [`Fold`]. When all is folded, the
//! command runs again, and puts the smaller filter into the place of the larger one. So the change
//! is made by one command, like any other.

use crate::journal::{Fold, NotFollowed};
use crate::types::BloomFilter;
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::filter::{Shrinking, Shrunk};
use splitbloom_filter::{AddError, Filter};
use splitbloom_server::arguments::Argument;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::key::InUse;
use splitbloom_server::location::Location;
use splitbloom_server::timer::Timer;
use std::mem::replace;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// No step of 64 KiB begins later than this after the timer has fired.
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
    /// The waiting client holds the `Arc`.
    client: Weak<()>,
    fold: Fold,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// In progress: the timer folds it.
    Begun,
    /// All is folded.
    Complete,
    Failed(Failed),
}

/// Why a filter was not folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// It was replaced, or has changed in another way than by adds.
    HasChanged,
    /// Its journal would take more than journals may.
    NotFollowed,
    OutOfMemory,
}

impl From<AddError> for Failed {
    fn from(_: AddError) -> Self {
        Self::OutOfMemory
    }
}

impl From<NotFollowed> for Failed {
    fn from(error: NotFollowed) -> Self {
        match error {
            NotFollowed::OverLimit => Self::NotFollowed,
            NotFollowed::OutOfMemory => Self::OutOfMemory,
        }
    }
}

/// How far the shrinking of a filter is.
pub enum Progress {
    /// No job shrinks it.
    NotBegun,
    /// The client that shrinks it must wait, or go on waiting.
    GoesOn,
    /// It has been shrunk. Its old sub-filter is to be freed.
    Shrunk(BlockedBloom),
    /// It has no smaller size.
    IsSmallest,
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
/// `NotFollowed`, `OutOfMemory`.
pub fn begin(
    context: &Context,
    key: Argument<'_>,
    filter: &Filter,
    shrinking: Shrinking,
) -> Result<Arc<()>, Failed> {
    let key = context.location_of(key).ok_or(Failed::OutOfMemory)?;
    let fold = Fold::begin(context, filter, shrinking)?;
    let client = Arc::new(()); // 16 bytes
    let job = Job { key, client: Arc::downgrade(&client), fold, state: State::Begun };
    leave_to_timer(context, job)?;
    Ok(client)
}

fn leave_to_timer(context: &Context, job: Job) -> Result<(), Failed> {
    let mut jobs = jobs();
    jobs.try_reserve(1).map_err(|_| Failed::OutOfMemory)?;
    jobs.push(job);
    TIMER.set(time_now() + INTERVAL_MS, context.thread());
    Ok(())
}

/// Returns how far the shrinking of `filter`, the value of `key`, is. If all of it is folded, puts
/// the smaller filter into its place.
///
/// # Errors
/// Why it was not folded. After an error, and after the last step, its job is over.
pub fn progress(
    context: &Context,
    key: Argument<'_>,
    filter: &mut Filter,
) -> Result<Progress, Failed> {
    let database = context.database();
    let is_this = |job: &Job| {
        let Location { database: of, name } = &job.key;
        *of == database && **name == *key.bytes() && job.client.strong_count() > 0
    };
    let mut jobs = jobs();
    let Some(index) = jobs.iter().position(is_this) else {
        return Ok(Progress::NotBegun);
    };
    if let State::Begun = jobs[index].state {
        return Ok(Progress::GoesOn);
    }
    let job = jobs.swap_remove(index);
    drop(jobs);
    if let State::Failed(failed) = job.state {
        return Err(failed);
    }
    if !job.fold.is_of(filter) {
        return Err(Failed::HasChanged);
    }
    let shrinking = replace(&mut *job.fold.folded(), Err(AddError::Full))?;
    match shrinking.finish(filter)? {
        Shrunk::Yes(old) => Ok(Progress::Shrunk(old)),
        Shrunk::Not(None) => Ok(Progress::IsSmallest),
        Shrunk::Not(Some(next)) => {
            *job.fold.folded() = Ok(next);
            leave_to_timer(context, Job { state: State::Begun, ..job })?;
            Ok(Progress::GoesOn)
        }
    }
}

/// Takes a step of the job whose turn it is.
fn tick(context: &Context) -> Option<u64> {
    let mut jobs = jobs();
    jobs.retain(|job| job.client.strong_count() > 0);
    let Some(index) = jobs.iter().position(|job| matches!(job.state, State::Begun)) else {
        // Finished jobs wait for their clients, which may be gone by then.
        return (!jobs.is_empty()).then(|| time_now() + RETRY_MS);
    };
    if context.must_wait() {
        return Some(time_now() + RETRY_MS);
    }
    let (mut job, begun) = (jobs.swap_remove(index), Instant::now());
    let delay = match job.step(context, begun) {
        Ok(()) => INTERVAL_MS,
        Err(InUse) => RETRY_MS,
    };
    jobs.push(job); // to the end of the queue, into the room that it left
    Some(time_now() + delay)
}

impl Job {
    /// Folds for as long as the budget lasts. At the end, wakes the client.
    fn step(&mut self, context: &Context, begun: Instant) -> Result<(), InUse> {
        let Some(name) = context.go_to(self.key.database, &self.key.name) else {
            return Ok(());
        };
        let mut key = context.open_quietly(name.argument())?;
        self.state = match key.value::<BloomFilter>() {
            Ok(Some(stored)) => {
                let folded = self.fold(stored.filter(), begun);
                folded.unwrap_or_else(State::Failed)
            }
            _ => State::Failed(Failed::HasChanged),
        };
        drop(key);
        if !matches!(self.state, State::Begun) {
            context.signal_ready(name.argument()); // it runs after the timer
        }
        Ok(())
    }

    fn fold(&self, filter: &Filter, begun: Instant) -> Result<State, Failed> {
        if !self.fold.is_of(filter) {
            return Err(Failed::HasChanged);
        }
        let mut folded = self.fold.folded();
        let shrinking = folded.as_mut().map_err(|error| *error)?;
        while begun.elapsed() < BUDGET {
            if !shrinking.step(filter)? {
                return Ok(State::Complete);
            }
        }
        Ok(State::Begun)
    }
}
