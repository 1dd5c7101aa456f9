//! TOPK.ADD and TOPK.INCRBY, which add items now, and TOPK.ADDAT and TOPK.INCRBYAT, which add them
//! to a window at a time of the client's.
//!
//! In a window, what takes effect is replicated with its time, so that replicas and a restarted
//! server have the same slices.

use super::value::StoredTopK;
use crate::errors::topk::{BAD_INCREMENT, MISSING, NO_MEMORY_TO_ADD, NO_WINDOW, TOO_MANY_STEPS};
use crate::errors::ReplyError;
use crate::free::free;
use crate::window::{parse_time, time_for, TIME};
use splitbloom_foundation::number::parse_within;
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::{Change, Replicated};
use splitbloom_server::command::{Command, ErrorReply, Kind, Output, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::ration::Ration;
use splitbloom_server::text::ShortText;
use splitbloom_sketch::topk::{Answers, TopK, MAX_STEPS, MAX_UNITS};
use splitbloom_sketch::Sketch;
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

/// The differences between the commands. An item takes `STEP` arguments: itself, and perhaps its
/// increment. (A constant, since divisions by a variable would take 15 ns.)
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

/// The items of a command before the first increment that is out of range.
struct Request<'a, const STEP: usize> {
    form: &'a Form<STEP>,
    arguments: Arguments<'a>,
    /// The number of these items, and whether they are all items of the command.
    sound: usize,
    is_whole: bool,
}

fn add<const STEP: usize>(
    context: &Context,
    arguments: Arguments<'_>,
    form: &Form<STEP>,
) -> Result<(), ReplyError> {
    if !(arguments.len() - form.first).is_multiple_of(STEP) {
        return Err(ReplyError::WRONG_ARITY);
    }
    let given = (form.first > 2).then(|| parse_time(arguments.bytes(2))).transpose()?;
    let mut target = context.existing::<StoredTopK>(arguments.at(1))?.ok_or(MISSING)?;
    let topk = target.value_mut().sketch_mut();
    let time = time_for(context, topk.window(), given, NO_WINDOW)?;
    let request = form.parse(context, arguments, topk)?;
    let open = topk.open(time.unwrap_or(0), free);
    let open = open.map_err(|OutOfMemory| NO_MEMORY_TO_ADD)?;
    let mut answers = Answers::default();
    let ration = Ration::begin(context);
    // Items without an answer were not added.
    let _ = open.add_many(request.items().take_while(|_| ration.is_left()), &mut answers);
    let refusal = NO_MEMORY_TO_ADD.within(&ration);
    drop(ration);
    if !answers.is_empty() || time.is_some() {
        request.replicate(target.settle(), time, answers.len()).signal(form.event);
    }
    request.reply(context, &answers, refusal);
    Ok(())
}

impl<const STEP: usize> Form<STEP> {
    /// Parses the items that the command adds to `topk`.
    ///
    /// # Errors
    /// `TOO_MANY_STEPS`, except in a replay.
    fn parse<'a>(
        &'a self,
        context: &Context,
        arguments: Arguments<'a>,
        topk: &TopK,
    ) -> Result<Request<'a, STEP>, ReplyError> {
        let (mut steps, mut sound) = (0, 0);
        let items = arguments.bytes_from(self.first).step_by(STEP);
        let number = items.len();
        for (n, item) in items.enumerate() {
            let Some(units) = self.units(arguments, n) else { break };
            steps += topk.steps(item.len(), units);
            sound += 1;
        }
        match steps > MAX_STEPS && !context.is_replay() {
            true => Err(TOO_MANY_STEPS),
            false => Ok(Request { form: self, arguments, sound, is_whole: sound == number }),
        }
    }

    /// The units of item `n`; `None` if its increment is out of range.
    fn units(&self, arguments: Arguments<'_>, n: usize) -> Option<u32> {
        if STEP == 1 {
            return Some(1);
        }
        let increment = arguments.bytes(self.first + n * STEP + 1);
        parse_within(increment, 0..=MAX_UNITS.into()).ok().map(|units| units as u32)
    }
}

impl<const STEP: usize> Request<'_, STEP> {
    /// The items to add, each with its units.
    fn items(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let items = self.arguments.bytes_from(self.form.first).step_by(STEP).take(self.sound);
        let units = |n| self.form.units(self.arguments, n).unwrap_or(0);
        items.enumerate().map(move |(n, item)| (item, units(n)))
    }

    /// Replicates the first `number` items, with their time if they have one. Without items it
    /// replicates that the time has advanced.
    fn replicate<'c>(
        &self,
        change: Change<'c, StoredTopK>,
        time: Option<u64>,
        number: usize,
    ) -> Replicated<'c> {
        let Form { name, with_time, first, .. } = *self.form;
        let items = self.arguments.range(first..first + number * STEP);
        match time.map(ShortText::of) {
            Some(time) => change.replicate_before(with_time, [time.bytes()], items),
            None if number == self.sound && self.is_whole => change.replicate_verbatim(),
            None => change.replicate_before(name, [], items),
        }
    }

    /// Replies with what has left the list for each item that was added, and with what kept the
    /// rest from being added: `refusal`, if memory was short.
    fn reply(&self, context: &Context, answers: &Answers, refusal: ReplyError) {
        context.reply_array(self.sound + usize::from(!self.is_whole));
        answers.iter().for_each(|left| match left {
            Some(item) => context.reply_bytes(item),
            None => context.reply_null(),
        });
        if answers.len() < self.sound {
            refusal.reply(context);
            (answers.len() + 1..self.sound).for_each(|_| context.reply_null());
        }
        if !self.is_whole {
            // RedisBloom replicates the increment that it has refused.
            context.reply_remark(BAD_INCREMENT.0);
        }
    }
}
