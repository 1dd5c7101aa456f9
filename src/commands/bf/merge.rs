//! BF.MERGE: the union of filters whose parameters are equal, except for the capacity.

use crate::commands::reply_error::ReplyError;
use crate::types::BloomFilter;
use crate::{config, journal, stats};
use splitbloom_filter::filter::{Filter, Promise};
use splitbloom_grammar::number::parse_within;
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::{Entry, Target};
use splitbloom_server::command::{Command, KeyAccess, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::key::ReadKey;
use splitbloom_server::ration::Ration;
use splitbloom_server::thread::free_in_background;

/// The argument of the first source.
const FIRST_SOURCE: usize = 3;

pub const MERGE: Command<ReplyError> = Command {
    name: c"bf.merge",
    arity: -4,
    access: KeyAccess::AddFromOthers,
    summary: c"Adds what other Bloom filters have to one, which is created if it is missing",
    complexity:
        c"O(N+M) with N bytes of all sources and M bytes of the destination's pages that change",
    parameters: &[
        Parameter::new(c"destination", Kind::Key, Times::Once),
        Parameter::new(c"numkeys", Kind::Integer, Times::Once),
        Parameter::new(c"source", Kind::OtherKey, Times::OnceOrMore),
        Parameter::word(c"force", c"FORCE").optional(),
    ],
    run: merge,
    ..Command::WRITE
};

fn merge(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    unite(context, arguments).map_err(|error| match error {
        ReplyError::NOT_FOUND if context.may_be_elsewhere(arguments.bytes(1)) => {
            ReplyError::SLOT_MOVES
        }
        error => error,
    })
}

/// The number of arguments up to the last source, and whether a union must keep the error rate.
fn parse(arguments: Arguments<'_>) -> Result<(usize, Promise), ReplyError> {
    let (len, given) = (arguments.len(), arguments.len().saturating_sub(FIRST_SOURCE) as u64);
    match parse_within(arguments.bytes(2), 1..=u64::MAX >> 1) {
        Ok(number) if number == given => Ok((len, Promise::Kept)),
        Ok(number)
            if number.checked_add(1) == Some(given)
                && arguments.bytes(len - 1).eq_ignore_ascii_case(b"FORCE") =>
        {
            Ok((len - 1, Promise::Waived))
        }
        Ok(_) => Err(ReplyError::WRONG_NUMBER_OF_KEYS),
        Err(_) => Err(ReplyError::BAD_NUMBER_OF_KEYS),
    }
}

fn unite(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let (end, promise) = parse(arguments)?;
    // A replica never refuses what its primary has accepted.
    let promise = match promise {
        Promise::Kept if context.is_replay() => Promise::Accepted,
        promise => promise,
    };
    // Before any key is opened: newer servers would look for it in the slot of the destination.
    if context.needs_several_slots(arguments, FIRST_SOURCE..end) {
        return Err(ReplyError::SEVERAL_SLOTS);
    }
    let name = arguments.at(1);
    let entry = context.entry::<BloomFilter>(name)?;
    let is_known = matches!(entry, Entry::Occupied(_));
    let keys = open_sources(context, arguments, end, is_known)?;
    let sources = filters(&keys)?;
    let mut target = destination(context, entry, &sources)?;
    let filter = target.value_mut().filter_mut();
    let has_changed = match add_all(context, filter, &sources, promise)? {
        Some(has_changed) => has_changed,
        None => return Ok(()),
    };
    if has_changed {
        journal::end_and_wake(context, filter, name);
    }
    drop(sources);
    drop(keys); // before a module is notified that might delete them
    if has_changed || !is_known {
        let mut change = target.settle();
        if change.is_new() {
            change.creates(c"bf.reserve", None);
        }
        // The result depends only on the keys, which are the same on a replica.
        change.replicate_verbatim().signal(c"bf.merge");
    }
    context.reply_ok();
    Ok(())
}

/// The filter of the destination, or a new one like the largest source (the first of equals).
fn destination<'a>(
    context: &Context,
    entry: Entry<'a, BloomFilter>,
    sources: &[&Filter],
) -> Result<Target<'a, BloomFilter>, ReplyError> {
    match entry {
        Entry::Occupied(target) if target.value().filter().may_be_united() => Ok(target),
        Entry::Occupied(_) => Err(ReplyError::NO_UNION),
        Entry::Vacant(vacant) => {
            let largest = sources.iter().rev().max_by_key(|source| source.parameters().capacity);
            let parameters = largest.ok_or(ReplyError::NOT_FOUND)?.parameters();
            let new = Filter::new(parameters, config::size_limit(context));
            let new = vacant.with(BloomFilter::new(new.map_err(ReplyError::of_creation)?));
            new.ok_or(ReplyError::NO_MEMORY_TO_CREATE)
        }
    }
}

/// Adds the sources to the filter. Returns whether it has changed; `None` if the error has been
/// sent to the client.
fn add_all(
    context: &Context,
    filter: &mut Filter,
    sources: &[&Filter],
    promise: Promise,
) -> Result<Option<bool>, ReplyError> {
    if let Some(difference) = filter.difference(sources) {
        return Err(ReplyError::of_difference(difference));
    }
    let before = filter.progress();
    let limit = config::size_limit(context);
    let max_cost = context.limit(&config::MAX_MERGE_BYTES);
    let ration = Ration::begin(context);
    let union = filter.unite(sources, limit, max_cost, promise);
    let is_used_up = ration.is_used_up();
    drop(ration);
    let union = match union {
        Ok(union) => union,
        Err(_) if is_used_up => return Err(ReplyError::OVER_MAXMEMORY),
        Err(error) => {
            ReplyError::reply_to_merge(context, error);
            return Ok(None);
        }
    };
    if let Some(old) = union.replaced {
        free_in_background("bf-free", old);
    }
    stats::added(0, filter.counters_since(before));
    Ok(Some(union.has_changed))
}

/// Opens the sources, except the destination: a union with itself changes nothing.
fn open_sources<'a>(
    context: &'a Context,
    arguments: Arguments<'_>,
    end: usize,
    is_known: bool,
) -> Result<Vec<ReadKey<'a>>, ReplyError> {
    let keys = try_vec(end - FIRST_SOURCE);
    let mut keys = keys.ok_or(ReplyError::NO_MEMORY_TO_MERGE)?;
    for source in FIRST_SOURCE..end {
        if !is_known || arguments.bytes(source) != arguments.bytes(1) {
            keys.push(context.open_to_read(arguments.at(source)));
        }
    }
    Ok(keys)
}

/// The filters of `keys`, which must be Bloom filters that do not forget.
fn filters<'a>(keys: &'a [ReadKey<'_>]) -> Result<Vec<&'a Filter>, ReplyError> {
    let mut filters = try_vec(keys.len()).ok_or(ReplyError::NO_MEMORY_TO_MERGE)?;
    for key in keys {
        match key.value::<BloomFilter>()?.ok_or(ReplyError::NOT_FOUND)?.filter() {
            filter if filter.may_be_united() => filters.push(filter),
            _ => return Err(ReplyError::NO_UNION),
        }
    }
    Ok(filters)
}
