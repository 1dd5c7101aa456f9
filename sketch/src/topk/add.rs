//! TOPK.ADD and TOPK.INCRBY, which add items now, and TOPK.ADDAT and TOPK.INCRBYAT, which add them
//! to a window at a time of the client's.
//!
//! In a window, what takes effect is replicated with its time, so that replicas and a restarted
//! server have the same slices.

use super::errors::{BAD_INCREMENT, MISSING, NO_MEMORY_TO_ADD, NO_WINDOW, TOO_MANY_STEPS};
use super::value::StoredTopK;
use crate::errors::ReplyError;
use crate::free::free;
use crate::window::{parse_time, time_of, TIME};
use splitbloom_foundation::number::parse_within;
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::{Change, Replicated};
use splitbloom_server::command::{Command, ErrorReply, Kind, Output, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::ration::Ration;
use splitbloom_server::text::Line;
use splitbloom_sketch::topk::{Over, TopK, MAX_STEPS, MAX_UNITS};
use std::ffi::CStr;

const ITEMS: Parameter = Parameter::new(c"item", Kind::Text, Times::OnceOrMore);
const PAIRS: Parameter = Parameter::block(
    c"item_increment",
    Times::OnceOrMore,
    &[
        Parameter::new(c"item", Kind::Text, Times::Once),
        Parameter::new(c"increment", Kind::Integer, Times::Once),
    ],
);

pub const ADD: Command<ReplyError> = Command {
    name: c"topk.add",
    arity: -3,
    output: Output::Varies,
    summary: c"Adds items, and returns for each which item has left the list for it",
    complexity: c"O(N * (depth + log k)) with N items",
    parameters: &[Parameter::KEY, ITEMS],
    run: |context, arguments| add(context, arguments, &Form::ADD),
    ..Command::WRITE
};

pub const INCRBY: Command<ReplyError> = Command {
    name: c"topk.incrby",
    arity: -4,
    summary: c"Adds items several times, and returns for each which item has left the list for it",
    complexity: c"O(N * (depth * increment + log k)) with N items; most increments take far less",
    parameters: &[Parameter::KEY, PAIRS],
    run: |context, arguments| add(context, arguments, &Form::INCRBY),
    ..ADD
};

pub const ADD_AT: Command<ReplyError> = Command {
    name: c"topk.addat",
    summary: c"Adds items to a window at a time in the past, as TOPK.ADD adds them now",
    parameters: &[Parameter::KEY, TIME, ITEMS.optional()],
    run: |context, arguments| add(context, arguments, &Form::ADD_AT),
    ..ADD
};

pub const INCRBY_AT: Command<ReplyError> = Command {
    name: c"topk.incrbyat",
    arity: -3,
    summary: c"Adds items to a window at a time in the past, as TOPK.INCRBY adds them now",
    parameters: &[Parameter::KEY, TIME, PAIRS.optional()],
    run: |context, arguments| add(context, arguments, &Form::INCRBY_AT),
    ..INCRBY
};

/// What the commands differ in. An item takes `STEP` arguments: itself, and perhaps its increment.
/// (A constant, since divisions by a variable would take 15 ns.)
struct Form<const STEP: usize> {
    /// The command itself, and the one that adds the same items at a time.
    name: &'static CStr,
    with_time: &'static CStr,
    event: &'static CStr,
    /// The first argument of the first item.
    first: usize,
}

impl Form<1> {
    const ADD: Self =
        Self { name: c"TOPK.ADD", with_time: c"TOPK.ADDAT", event: c"topk.add", first: 2 };
    const ADD_AT: Self = Self { first: 3, ..Self::ADD };
}

impl Form<2> {
    const INCRBY: Self =
        Self { name: c"TOPK.INCRBY", with_time: c"TOPK.INCRBYAT", event: c"topk.incrby", first: 2 };
    const INCRBY_AT: Self = Self { first: 3, ..Self::INCRBY };
}

fn add<const STEP: usize>(
    context: &Context,
    arguments: Arguments<'_>,
    form: &Form<STEP>,
) -> Result<(), ReplyError> {
    let rest = arguments.len() - form.first;
    if !rest.is_multiple_of(STEP) {
        return Err(ReplyError::WRONG_ARITY);
    }
    let given = (form.first > 2).then(|| parse_time(arguments.bytes(2))).transpose()?;
    let mut target = context.existing::<StoredTopK>(arguments.at(1))?.ok_or(MISSING)?;
    let topk = target.value_mut().sketch_mut();
    let time = time_for(context, topk, given)?;
    let items = arguments.bytes_from(form.first).step_by(STEP);
    let units = |n| form.units(arguments, n);
    // Items are added up to the first increment that is out of range.
    let mut steps = 0;
    let lens = arguments.bytes_from(form.first).step_by(STEP).map(<[u8]>::len);
    let sound = lens.enumerate().map_while(|(n, len)| Some(topk.steps(len, units(n)?)));
    let sound = sound.inspect(|more| steps += more).count();
    if steps > MAX_STEPS && !context.is_replay() {
        return Err(TOO_MANY_STEPS);
    }
    let open = topk.open(time.unwrap_or(0), free_slice);
    let open = open.map_err(|OutOfMemory| NO_MEMORY_TO_ADD)?;
    let is_whole = sound == items.len();
    context.reply_array(sound + usize::from(!is_whole));
    let mut added = 0;
    let ration = Ration::begin(context);
    let pairs = items.take(sound).enumerate().map(|(n, item)| (item, units(n).unwrap_or(0)));
    let pairs = pairs.take_while(|_| ration.is_left());
    // Those that are not answered are not added.
    let _ = open.add_many(pairs, |left| {
        added += 1;
        match left {
            Some(item) => context.reply_bytes(item),
            None => context.reply_null(),
        }
    });
    if added < sound {
        NO_MEMORY_TO_ADD.within(&ration).reply(context);
        (added + 1..sound).for_each(|_| context.reply_null());
    }
    if !is_whole {
        // RedisBloom replicates the increment that it has refused.
        context.reply_remark(BAD_INCREMENT.0);
    }
    drop(ration);
    if added > 0 || time.is_some() {
        let change = target.settle();
        let replicated = match added == sound && is_whole && time.is_none() {
            true => change.replicate_verbatim(),
            false => form.replicate(change, arguments, time, added),
        };
        replicated.signal(form.event);
    }
    Ok(())
}

/// The time of what is added to `topk`, `given` by the client or that of the server; `None` without
/// a window.
///
/// # Errors
/// What is wrong with it; `NO_WINDOW`.
fn time_for(context: &Context, topk: &TopK, given: Option<u64>) -> Result<Option<u64>, ReplyError> {
    match topk.window() {
        Some(span) => time_of(context, span, given).map(Some),
        None if given.is_some() => Err(NO_WINDOW),
        None => Ok(None),
    }
}

/// Frees a slice that is over.
fn free_slice(slice: Over) {
    let allocations = slice.allocations();
    free(slice, allocations);
}

impl<const STEP: usize> Form<STEP> {
    /// The units of item `n`; `None` if its increment is out of range.
    fn units(&self, arguments: Arguments<'_>, n: usize) -> Option<u32> {
        if STEP == 1 {
            return Some(1);
        }
        let increment = arguments.bytes(self.first + n * STEP + 1);
        parse_within(increment, 0..=MAX_UNITS.into()).ok().map(|units| units as u32)
    }

    /// Replicates the first `number` items, with their time if they have one. Without items it
    /// replicates that the time has advanced.
    fn replicate<'c>(
        &self,
        change: Change<'c, StoredTopK>,
        arguments: Arguments<'_>,
        time: Option<u64>,
        number: usize,
    ) -> Replicated<'c> {
        let name = if time.is_some() { self.with_time } else { self.name };
        let time = time.map(Line::of);
        let items = arguments.range(self.first..self.first + number * STEP);
        change.replicate_before(name, time.iter().map(Line::bytes), items)
    }
}
