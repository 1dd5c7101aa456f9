//! CMS.INCRBY, CMS.INCRBYAT and CMS.QUERY: count items, and estimate their counts.
//!
//! A count in a sketch with a window is replicated as CMS.INCRBYAT, with the time of the primary's
//! clock: replicas and the append-only file end up with the same slices.
//!
//! An increment that does not fit is not counted, and not replicated. Servers before Redis 8.12 let
//! counters stop at their maximum, and replicated such increments. So in a replay, counters of 4
//! bytes, the only size that those servers had, stop there, too.

use super::value::StoredSketch;
use crate::errors::cms::{
    remark, BAD_INCREMENT, MISSING, NOT_A_NUMBER, NO_MEMORY_TO_COUNT, NO_MEMORY_TO_REPLY,
    NO_WINDOW, TOO_MANY_TOUCHED,
};
use crate::errors::ReplyError;
use crate::free::free;
use crate::window::{now_for, parse_time, time_for, TIME};
use splitbloom_foundation::number::parse_integer;
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::{Argument, Arguments};
use splitbloom_server::change::{Change, Replicated};
use splitbloom_server::command::{Command, ErrorReply, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::ration::Ration;
use splitbloom_server::text::ShortText;
use splitbloom_sketch::cms::{CellSize, CountMinSketch, Counted, OutOfRange, RangeError};
use splitbloom_sketch::{steps_to_hash, Sketch};
use std::cell::Cell;

const ITEMS: Parameter = Parameter::block(
    c"items",
    Times::OnceOrMore,
    &[
        Parameter::new(c"item", Kind::Text, Times::Once),
        Parameter::new(c"increment", Kind::Integer, Times::Once),
    ],
);

pub const INCREMENT: Command<ReplyError> = Command {
    name: c"cms.incrby",
    arity: -4,
    summary: c"Adds to the counts of items in a count-min sketch, and returns their estimates",
    complexity: c"O(N*D) with N items and D rows; times the slices if the sketch has a window",
    parameters: &[Parameter::KEY, ITEMS],
    run: |context, arguments| increment(context, arguments, None),
    ..Command::WRITE
};

pub const INCREMENT_AT: Command<ReplyError> = Command {
    name: c"cms.incrbyat",
    arity: -3,
    summary: c"Adds to the counts of items at a time, in a count-min sketch with a window",
    parameters: &[Parameter::KEY, TIME, ITEMS.optional()],
    run: |context, arguments| increment(context, arguments, Some(parse_time(arguments.bytes(2))?)),
    ..INCREMENT
};

pub const QUERY: Command<ReplyError> = Command {
    name: c"cms.query",
    arity: -3,
    summary: c"Estimates the counts of items in a count-min sketch",
    complexity: INCREMENT.complexity,
    parameters: &[Parameter::KEY, Parameter::new(c"item", Kind::Text, Times::OnceOrMore)],
    run: query,
    ..Command::READ
};

/// The most counters that the items of a command touch: items times rows, times the slices. In the
/// largest sketches they take 0.1 s, and 0.5 s while their memory is allocated.
pub const MAX_TOUCHED: u64 = 1 << 22;

/// Increments that are kept on the stack: an allocation would cost one item a sixth of its time.
const FEW: usize = 4;

/// The increment of an item; later its estimate, or why it was not counted.
type Number = Cell<Result<i64, RangeError>>;

/// Items and increments that a command counts.
struct Request<'a> {
    arguments: Arguments<'a>,
    /// The argument of the first item.
    first: usize,
    numbers: &'a [Number],
}

/// Parses an increment.
pub(super) fn parse_increment(word: &[u8]) -> Result<i64, ReplyError> {
    match parse_integer(word).ok_or(NOT_A_NUMBER)? {
        i64::MIN => Err(BAD_INCREMENT),
        increment => Ok(increment),
    }
}

impl<'a> Request<'a> {
    /// Parses pairs of an item and an increment from argument `first` on, into `numbers`, one for
    /// each. All are checked before the first is counted.
    fn parse(
        arguments: Arguments<'a>,
        first: usize,
        numbers: &'a [Number],
    ) -> Result<Self, ReplyError> {
        for (n, to) in numbers.iter().enumerate() {
            to.set(Ok(parse_increment(arguments.bytes(first + 2 * n + 1))?));
        }
        Ok(Self { arguments, first, numbers })
    }

    /// The pairs. (Not `bytes_from` and `step_by`: that calls the server for increments as well.)
    fn pairs(&self) -> impl ExactSizeIterator<Item = (&[u8], i64)> {
        let places = (self.first..self.arguments.len()).step_by(2);
        let items = places.map(|place| self.arguments.bytes(place));
        items.zip(self.numbers.iter().map(|number| number.get().unwrap_or(0)))
    }

    /// Whether one of the first `number` pairs was counted.
    fn has_counted(&self, number: usize) -> bool {
        self.numbers[..number].iter().any(|number| number.get().is_ok())
    }

    /// Replicates the counted ones of the first `number` pairs, or `time` alone if none was
    /// counted. Without memory for a list of them, each run of pairs, which lie side by side in the
    /// server's array, becomes a command of its own.
    fn replicate<'c>(
        &self,
        change: Change<'c, StoredSketch>,
        time: Option<u64>,
        number: usize,
    ) -> Replicated<'c> {
        let time = time.map(ShortText::of);
        let is_whole = number == self.numbers.len();
        if time.is_none() && is_whole && self.numbers.iter().all(|number| number.get().is_ok()) {
            return change.replicate_verbatim();
        }
        let name = if time.is_some() { c"CMS.INCRBYAT" } else { c"CMS.INCRBY" };
        let replicate = |pairs: Arguments<'_>| {
            change.replicate_part(name, time.iter().map(ShortText::bytes), pairs);
        };
        let runs = self.runs(number);
        match runs.clone().nth(FEW).and_then(|_| self.list(runs.clone())) {
            Some(list) => replicate(Arguments::of(&list)),
            None => runs.for_each(replicate),
        }
        if !self.has_counted(number) {
            replicate(Arguments::NONE);
        }
        change.replicated()
    }

    /// The runs of counted pairs among the first `number` pairs.
    fn runs(&self, number: usize) -> impl Iterator<Item = Arguments<'a>> + Clone + use<'a, '_> {
        let runs =
            self.numbers[..number].chunk_by(|one, next| one.get().is_ok() == next.get().is_ok());
        let places = runs.scan(self.first, |end, run| {
            let first = std::mem::replace(end, *end + 2 * run.len());
            Some(run[0].get().is_ok().then_some(first..*end))
        });
        places.flatten().map(|place| self.arguments.range(place))
    }

    /// The arguments of all `runs`; `None` if there is no memory for the list.
    fn list(&self, runs: impl Iterator<Item = Arguments<'a>>) -> Option<Vec<Argument<'a>>> {
        let mut list = try_vec(2 * self.numbers.len())?;
        runs.for_each(|run| list.extend(run.all()));
        Some(list)
    }

    /// Replies with the estimates of the first `number` items, and with what kept the rest from
    /// being counted.
    fn reply(
        &self,
        context: &Context,
        number: usize,
        counted: Result<(), ReplyError>,
    ) -> Result<(), ReplyError> {
        let refusal = counted.err();
        if let (0, Some(error)) = (number, refusal) {
            return Err(error);
        }
        context.reply_array(self.numbers.len());
        for counted in &self.numbers[..number] {
            match counted.get() {
                Ok(estimate) => context.reply_signed(estimate),
                Err(error) => context.reply_remark(remark(error)),
            }
        }
        if let Some(error) = refusal {
            error.reply(context);
            self.numbers[number + 1..].iter().for_each(|_| context.reply_null());
        }
        Ok(())
    }
}

/// What becomes of an increment that does not fit: see the [module](self).
fn out_of_range(context: &Context, sketch: &CountMinSketch) -> OutOfRange {
    match sketch.shape().cell_size() == CellSize::Four && context.is_replay() {
        true => OutOfRange::Saturate,
        false => OutOfRange::Skip,
    }
}

/// Counts `pairs`, at the time `given` if the client gives one, and calls `answer` with the outcome
/// of each. Returns the error that kept the rest from being tried, and the time if the sketch has a
/// window.
///
/// # Errors
/// What is wrong with the time; no memory for a new slice. Nothing has changed.
pub(super) fn count<'a>(
    context: &Context,
    ration: &Ration<'_>,
    sketch: &mut CountMinSketch,
    given: Option<u64>,
    pairs: impl Iterator<Item = (&'a [u8], i64)>,
    answer: impl FnMut(Counted),
) -> Result<(Result<(), ReplyError>, Option<u64>), ReplyError> {
    let time = time_for(context, sketch.window(), given, NO_WINDOW)?;
    let out_of_range = out_of_range(context, sketch);
    // Without memory for a new slice nothing changes, here or on replicas.
    let open = sketch.open(time.unwrap_or(0), free);
    let open = open.map_err(|OutOfMemory| NO_MEMORY_TO_COUNT.within(ration))?;
    let end = open.increment_many(pairs, out_of_range, answer);
    Ok((end.map_err(|OutOfMemory| NO_MEMORY_TO_COUNT.within(ration)), time))
}

/// Refuses items that touch too many counters, except in a replay: `number` items of `bytes` bytes
/// in all.
pub(super) fn check_work(
    context: &Context,
    rows: u64,
    number: usize,
    bytes: usize,
) -> Result<(), ReplyError> {
    let touched = rows.saturating_mul(number as u64);
    let touched = touched.saturating_add(steps_to_hash(bytes as u64, rows));
    match touched > MAX_TOUCHED && !context.is_replay() {
        true => Err(TOO_MANY_TOUCHED),
        false => Ok(()),
    }
}

fn increment(
    context: &Context,
    arguments: Arguments<'_>,
    given: Option<u64>,
) -> Result<(), ReplyError> {
    let first = 2 + usize::from(given.is_some());
    if (arguments.len() - first) % 2 != 0 {
        return Err(ReplyError::WRONG_ARITY);
    }
    let target = context.existing::<StoredSketch>(arguments.at(1))?;
    let mut target = target.ok_or(MISSING)?;
    let number = (arguments.len() - first) / 2;
    let ration = Ration::begin(context);
    let (few, mut many);
    let numbers = if number <= FEW {
        few = [const { Cell::new(Ok(0)) }; FEW];
        &few[..number]
    } else {
        many = try_vec(number).ok_or_else(|| NO_MEMORY_TO_COUNT.within(&ration))?;
        many.resize(number, Cell::new(Ok(0)));
        &many[..]
    };
    let request = Request::parse(arguments, first, numbers)?;
    let bytes = request.pairs().map(|(item, _)| item.len()).sum();
    check_work(context, target.value().sketch().rows(), number, bytes)?;
    let mut answered = 0;
    let answer = |counted: Counted| {
        // An estimate is at most 2^63 - 1.
        numbers[answered].set(counted.map(|estimate| estimate as i64));
        answered += 1;
    };
    let sketch = target.value_mut().sketch_mut();
    let (counted, time) = count(context, &ration, sketch, given, request.pairs(), answer)?;
    drop(ration);
    if request.has_counted(answered) || time.is_some() {
        request.replicate(target.settle(), time, answered).signal(c"cms.incrby");
    }
    request.reply(context, answered, counted)
}

fn query(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let sketch = key.value::<StoredSketch>()?.ok_or(MISSING)?.sketch();
    let items = arguments.bytes_from(2);
    let (number, mut is_first) = (items.len(), true);
    let bytes = arguments.bytes_from(2).map(<[u8]>::len).sum();
    check_work(context, sketch.rows(), number, bytes)?;
    let answer = |estimate: u64| {
        if std::mem::take(&mut is_first) {
            context.reply_array(number);
        }
        context.reply_integer(estimate);
    };
    let ration = Ration::begin(context);
    let estimated = sketch.estimate_many(items, now_for(sketch.window()), answer);
    estimated.map_err(|OutOfMemory| NO_MEMORY_TO_REPLY.within(&ration))
}
