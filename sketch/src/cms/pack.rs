//! CMS.PACKINCR: CMS.INCRBY with all items in one argument, each counted once. (A packed TOPK.ADD
//! would gain little: the list takes longer than the words.)

use super::count::{check_work, count, INCREMENT};
use super::value::StoredSketch;
use crate::errors::cms::{
    BAD_PACKING, BAD_WIDTH_OF_ITEMS, MISSING, NO_MEMORY_TO_COUNT, NO_MEMORY_TO_REPLY, SYNTAX,
};
use crate::errors::ReplyError;
use crate::window::{parse_time, TIME};
use splitbloom_foundation::packing::{parse_layout, Packing, PackingError};
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Parameter};
use splitbloom_server::context::Context;
use splitbloom_server::packed::{PackedCommand, ITEMS, LAYOUT};
use splitbloom_server::text::ShortText;

/// The index of the argument after the key.
const FIRST: usize = 2;
/// `AT milliseconds`.
const AT_WORDS: usize = 2;

/// Rows that are counted at least, so that 2^19 items have a reply of 2 MiB.
const MIN_ROWS: u64 = 8;

pub const PACKED_INCREMENT: Command<ReplyError> = Command {
    name: c"cms.packincr",
    arity: -4,
    summary: c"Counts packed items in a count-min sketch, each once, and returns their estimates",
    complexity: INCREMENT.complexity,
    parameters: &[Parameter::KEY, TIME.after(c"AT").optional(), LAYOUT, ITEMS],
    run: increment,
    ..Command::WRITE
};

impl From<PackingError> for ReplyError {
    fn from(error: PackingError) -> Self {
        match error {
            PackingError::TooFewWords => Self::WRONG_ARITY,
            PackingError::UnknownLayout => SYNTAX,
            PackingError::BadWidth => BAD_WIDTH_OF_ITEMS,
            PackingError::BadPacking => BAD_PACKING,
        }
    }
}

/// The items of a command, with their time if the client gives one.
struct Packed<'a> {
    items: Packing<'a>,
    time: Option<u64>,
    command: PackedCommand<'a>,
}

/// Parses `[AT milliseconds] layout items`.
fn parse(arguments: Arguments<'_>) -> Result<Packed<'_>, ReplyError> {
    let words = arguments.try_list_from(FIRST).ok_or(NO_MEMORY_TO_COUNT)?;
    let (time, from) = match words.as_slice() {
        [at, time, ..] if at.eq_ignore_ascii_case(b"AT") => (Some(parse_time(time)?), AT_WORDS),
        _ => (None, 0),
    };
    let (layout, items, rest) = parse_layout(&words[from..])?;
    if !rest.is_empty() {
        return Err(SYNTAX);
    }
    let command = PackedCommand::new(arguments, FIRST + from..FIRST + words.len() - 1);
    Ok(Packed { items: Packing::new(layout, items)?, time, command })
}

/// Replies with the estimates, four bytes each.
fn increment(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let Packed { items, time, command } = parse(arguments)?;
    let mut target = context.existing::<StoredSketch>(arguments.at(1))?.ok_or(MISSING)?;
    let rows = target.value().sketch().rows().max(MIN_ROWS);
    check_work(context, rows, items.len(), items.bytes().len())?;
    let is_replay = context.is_replay(); // without a reader of the reply
    let with_room = |bytes| try_vec::<u8>(if is_replay { 0 } else { bytes });
    let mut estimates = with_room(items.len() * size_of::<u32>()).ok_or(NO_MEMORY_TO_REPLY)?;
    // Freed for the server before it replicates some of the items: it exits if it has no memory for
    // a string, and that some are not counted is for lack of memory.
    let room = with_room(items.bytes().len()).ok_or(NO_MEMORY_TO_COUNT)?;
    let mut counted = 0;
    let each = items.items().map(|item| (item, 1));
    let sketch = target.value_mut().sketch_mut();
    let (end, time) = count(context, sketch, time, each, |estimate| {
        if !is_replay {
            estimates.extend(estimate.to_le_bytes());
        }
        counted += 1;
    })?;
    if counted > 0 || time.is_some() {
        let change = target.settle();
        drop(room);
        let replicated = match time.map(ShortText::of) {
            // Time has advanced, and there is no packing without items.
            Some(time) if counted == 0 => change.replicate(c"CMS.INCRBYAT", [time.bytes()]),
            _ => {
                let fewer = (counted < items.len()).then(|| items.first(counted));
                command.replicate(change, c"CMS.PACKINCR", time, fewer)
            }
        };
        replicated.signal(c"cms.packincr");
    }
    match end {
        Ok(()) => context.reply_bytes(&estimates),
        Err(error) => error.reply_after(context, counted),
    }
    Ok(())
}
