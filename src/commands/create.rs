//! Creating filters: with RESERVE, and by the first add to a missing key.

use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::slow_log::hide_seeds;
use crate::types::{Family, Stored};
use splitbloom_filter::filter::{Filter, SizeLimit};
use splitbloom_filter::hash::Seed;
use splitbloom_filter::AddError;
use splitbloom_grammar::loose::known_words_of_reserve;
use splitbloom_grammar::WordsError;
use splitbloom_server::arguments::{Argument, Arguments};
use splitbloom_server::clock::time_of_command;
use splitbloom_server::context::Context;
use splitbloom_server::text::Line;
use std::ffi::CStr;

/// How the filters of a family are created.
pub trait Creates: Family {
    /// What a client specifies for a filter; by default, nothing.
    type Creation: Default;
    /// The event of the command that creates a filter.
    const RESERVE_EVENT: &'static CStr;
    /// The number of words of that command between the key and the options.
    const REQUIRED_WORDS: usize;

    /// Parses the words after the key.
    ///
    /// # Errors
    /// What is wrong with the first bad word.
    fn parse(words: &[&[u8]]) -> Result<Self::Creation, WordsError>;

    /// Creates an empty filter, with `seed` unless the client gave one.
    ///
    /// # Errors
    /// `OverLimit`, or `OutOfMemory`.
    fn create(creation: &Self::Creation, seed: Seed, limit: SizeLimit) -> Result<Filter, AddError>;
    /// How long the key is to live, in seconds; `None` means until it is deleted.
    fn expiry(creation: &Self::Creation) -> Option<u64>;
    /// Replicates the creation of `filter` under `key` with everything that determines its bits,
    /// not with the client's arguments: the settings of a replica may differ.
    fn replicate_creation(context: &Context, key: Argument<'_>, filter: &Filter);
}

/// Runs RESERVE.
pub fn reserve<F: Creates>(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let args = arguments.try_list_from(2);
    let args = args.ok_or(ReplyError::NO_MEMORY_TO_CREATE)?;
    hide_seeds(context, &args, 2);
    let mut creation = F::parse(&args);
    // EX is a word that RedisBloom ignores, as this module replicates none.
    let is_ours = creation.as_ref().is_ok_and(|creation| F::expiry(creation).is_none());
    if !is_ours && context.is_replay() {
        let known = known_words_of_reserve(&args, F::REQUIRED_WORDS);
        creation = F::parse(&known.ok_or(ReplyError::NO_MEMORY_TO_CREATE)?);
    }
    create_empty::<F>(context, arguments.at(1), &creation?)?;
    context.reply_ok();
    Ok(())
}

/// Creates an empty filter under a missing key.
pub fn create_empty<F: Creates>(
    context: &Context,
    name: Argument<'_>,
    creation: &F::Creation,
) -> Result<(), ReplyError> {
    add_to::<F, _>(context, name, None, Some(creation), |_, _| Ok((true, ())), |()| ())
}

/// When a filter of `creation` is to expire, in milliseconds since 1970.
///
/// # Errors
/// `EXPIRE_TIME` if that is later than the server can represent.
fn expiry_of<F: Creates>(creation: &F::Creation) -> Result<Option<u64>, ReplyError> {
    let Some(seconds) = F::expiry(creation) else {
        return Ok(None);
    };
    let time = seconds.saturating_mul(1_000).saturating_add(time_of_command());
    let is_time = i64::try_from(time).is_ok();
    is_time.then_some(Some(time)).ok_or(ReplyError::EXPIRE_TIME)
}

/// Opens the filter `name`, or creates it from `creation` (`None`: an error). Calls `add`, which
/// adds to it and returns whether it changed, and an outcome. If it changed, replicates the
/// creation, calls `replicate` for the add, and signals the changes: the creation, and `event`. A
/// command without an event only creates, and must not find a filter. Returns the outcome.
pub fn add_to<F: Creates, T>(
    context: &Context,
    name: Argument<'_>,
    event: Option<&CStr>,
    creation: Option<&F::Creation>,
    add: impl FnOnce(&mut Filter, SizeLimit) -> Result<(bool, T), ReplyError>,
    replicate: impl FnOnce(&T),
) -> Result<T, ReplyError> {
    let limit = config::size_limit(context);
    let expiry = creation.map_or(Ok(None), expiry_of::<F>)?;
    let mut key = context.open_to_write(name)?;
    let mut present = key.value::<Stored<F>>()?;
    let mut created = None;
    let filter = match &mut present {
        Some(_) if event.is_none() => return Err(ReplyError::ITEM_EXISTS),
        Some(stored) => stored.filter_mut(),
        None => {
            let creation = creation.ok_or(ReplyError::NOT_FOUND)?;
            let new = F::create(creation, Seed(context.random()), limit);
            created.insert(new.map_err(ReplyError::of_creation)?)
        }
    };
    let (has_changed, outcome) = add(filter, limit)?;
    // If the first item is refused, the key stays missing.
    let created = created.filter(|_| has_changed);
    let is_new = created.is_some();
    if let Some(filter) = created {
        let stored = key.put(Stored::new(filter));
        present = Some(stored.ok_or(ReplyError::NO_MEMORY_TO_CREATE)?);
    }
    if let Some(stored) = present {
        stored.schedule(context, name);
        if is_new {
            F::replicate_creation(context, name, stored.filter());
        }
    }
    let expiry = expiry.filter(|_| is_new);
    expiry.iter().for_each(|time| key.expire_at(*time));
    drop(key); // before a module is notified that might delete it
    if !has_changed {
        return Ok(outcome);
    }
    replicate(&outcome);
    if let Some(time) = expiry {
        // The time that this server's clock makes of the client's seconds, as for SET and EXPIRE.
        // It comes last, since whoever executes the commands again after that time deletes the key
        // then.
        context.replicate(c"PEXPIREAT", name, [Line::of(time).bytes()]);
    }
    // Last: a notified module may change the key, and that must replicate after this.
    if is_new {
        context.signal_change(F::RESERVE_EVENT, name);
    }
    if expiry.is_some() {
        context.publish_expiry(name);
    }
    event.iter().for_each(|event| context.signal_change(event, name));
    Ok(outcome)
}
