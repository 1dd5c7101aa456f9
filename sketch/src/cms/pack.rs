//! CMS.PACKINCR: CMS.INCRBY with all items in one argument, and one increment for each, which is 1
//! by default. (A packed TOPK.ADD would gain little: the list takes longer than the parsing.)

use super::count::{check_work, count, parse_increment, INCREMENT};
use super::value::StoredSketch;
use crate::errors::cms::{
    BAD_PACKING, BAD_WIDTH_OF_ITEMS, MISSING, NO_MEMORY_TO_COUNT, NO_MEMORY_TO_REPLY, SYNTAX,
};
use crate::errors::ReplyError;
use crate::window::{parse_time, TIME};
use splitbloom_foundation::packing::{parse_layout, Items, Packing, PackingError};
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::{Change, Replicated};
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::packed::{PackedCommand, ITEMS, LAYOUT};
use splitbloom_server::ration::Ration;
use splitbloom_server::text::ShortText;
use splitbloom_sketch::cms::{CellSize, Counted};

/// The index of the argument after the key.
const FIRST: usize = 2;

/// The limit counts at least this many rows, so at most 2^19 items fit one command: a reply of 2
/// MiB, or of 4 MiB with cells of 8 bytes.
const MIN_ROWS: u64 = 8;

const BY: Parameter = Parameter::new(c"increment", Kind::Integer, Times::AtMostOnce).after(c"BY");

pub const PACKED_INCREMENT: Command<ReplyError> = Command {
    name: c"cms.packincr",
    arity: -4,
    summary: c"Adds an increment to the counts of packed items, and returns their estimates",
    complexity: INCREMENT.complexity,
    parameters: &[Parameter::KEY, TIME.after(c"AT").optional(), BY, LAYOUT, ITEMS],
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

/// The items of a command, with their increment, and their time if the client gives one.
struct Packed<'a> {
    items: Packing<'a>,
    time: Option<u64>,
    by: i64,
    command: PackedCommand<'a>,
}

/// Parses `[AT milliseconds] [BY increment] layout items`.
fn parse(arguments: Arguments<'_>) -> Result<Packed<'_>, ReplyError> {
    let words = arguments.try_list_from(FIRST).ok_or(NO_MEMORY_TO_COUNT)?;
    let (time, words) = match words.as_slice() {
        [at, time, rest @ ..] if at.eq_ignore_ascii_case(b"AT") => (Some(parse_time(time)?), rest),
        words => (None, words),
    };
    // Replicated with the layout, as the client sent it.
    let layout = arguments.len() - words.len()..arguments.len() - 1;
    let (by, words) = match words {
        [by, increment, rest @ ..] if by.eq_ignore_ascii_case(b"BY") => {
            (parse_increment(increment)?, rest)
        }
        words => (1, words),
    };
    let (parsed, items, rest) = parse_layout(words)?;
    if !rest.is_empty() {
        return Err(SYNTAX);
    }
    let command = PackedCommand::new(arguments, layout);
    Ok(Packed { items: Packing::new(parsed, items)?, time, by, command })
}

/// The items that were counted.
struct Effective<'a> {
    items: Packing<'a>,
    /// The number of items tried, and of those counted.
    tried: usize,
    counted: usize,
    /// Has room for all items. Once an item was not counted, it holds those that were.
    room: Vec<u8>,
    /// The items not tried yet, once one was not counted.
    rest: Option<Items<'a>>,
}

impl<'a> Effective<'a> {
    fn new(items: Packing<'a>, room: Vec<u8>) -> Self {
        Self { items, tried: 0, counted: 0, room, rest: None }
    }

    /// Notes whether the next item `is_counted`. The counted items fit the room: the one left out
    /// makes room for the line feed that the last line may lack.
    fn note(&mut self, is_counted: bool) {
        if !is_counted && self.rest.is_none() {
            self.room.extend_from_slice(self.items.first(self.tried));
            let mut rest = self.items.items();
            rest.by_ref().take(self.tried).for_each(drop);
            self.rest = Some(rest);
        }
        let item = self.rest.as_mut().and_then(Iterator::next).filter(|_| is_counted);
        item.iter().for_each(|item| self.items.append(item, &mut self.room));
        self.tried += 1;
        self.counted += usize::from(is_counted);
    }

    /// Replicates the counted items, with `time` if the sketch has a window.
    fn replicate<'c>(
        &mut self,
        change: Change<'c, StoredSketch>,
        command: &PackedCommand<'_>,
        time: Option<u64>,
    ) -> Replicated<'c> {
        match time {
            // Only the time has advanced, and a packing cannot be empty.
            Some(time) if self.counted == 0 => {
                change.replicate(c"CMS.INCRBYAT", [ShortText::of(time).bytes()])
            }
            _ => command.replicate(change, c"CMS.PACKINCR", time, self.packing()),
        }
    }

    /// The packing of the counted items; `None` if all were counted. If they are the first items,
    /// this frees the room before the server replicates them: the others were refused for lack of
    /// memory, and the server exits if it has no memory for a string.
    fn packing(&mut self) -> Option<&[u8]> {
        if self.rest.is_some() {
            return Some(&self.room);
        }
        self.room = Vec::new();
        (self.tried < self.items.len()).then(|| self.items.first(self.tried))
    }
}

/// Appends an estimate to a reply, in four bytes, or in eight if the cells have eight: all ones for
/// an item that was not counted, and in four bytes also for an estimate that does not fit.
fn push(estimates: &mut Vec<u8>, counted: Counted, size: CellSize) {
    let estimate = counted.unwrap_or(u64::MAX);
    match size {
        CellSize::Eight => estimates.extend(estimate.to_le_bytes()),
        _ => estimates.extend(u32::try_from(estimate).unwrap_or(u32::MAX).to_le_bytes()),
    }
}

/// Replies with the estimates as one string.
fn increment(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let Packed { items, time, by, command } = parse(arguments)?;
    let mut target = context.existing::<StoredSketch>(arguments.at(1))?.ok_or(MISSING)?;
    let sketch = target.value().sketch();
    let (rows, size) = (sketch.rows().max(MIN_ROWS), sketch.shape().cell_size());
    check_work(context, rows, items.len(), items.bytes().len())?;
    let is_replay = context.is_replay(); // then the reply is not read

    // These allocations are about as large as the items, and precede the first count.
    let ration = Ration::begin(context);
    let with_room = |bytes| try_vec::<u8>(if is_replay { 0 } else { bytes });
    let width = if size == CellSize::Eight { size_of::<u64>() } else { size_of::<u32>() };
    let estimates = with_room(items.len() * width);
    let mut estimates = estimates.ok_or_else(|| NO_MEMORY_TO_REPLY.within(&ration))?;
    let room = with_room(items.bytes().len());
    let room = room.ok_or_else(|| NO_MEMORY_TO_COUNT.within(&ration))?;
    let mut effective = Effective::new(items, room);
    let each = items.items().map(|item| (item, by));
    let sketch = target.value_mut().sketch_mut();
    let (end, time) = count(context, &ration, sketch, time, each, |counted| {
        if !is_replay {
            push(&mut estimates, counted, size);
        }
        // A replay is replicated as a whole: a server that repeats it counts the same items.
        effective.note(counted.is_ok() || is_replay);
    })?;
    drop(ration);
    if effective.counted > 0 || time.is_some() {
        effective.replicate(target.settle(), &command, time).signal(c"cms.packincr");
    }
    match end {
        Ok(()) => context.reply_bytes(&estimates),
        Err(error) => error.reply_after(context, effective.tried, effective.counted),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitbloom_foundation::packing::Layout;

    /// What is replicated of `bytes` if `counted` says for each tried item whether it was counted.
    fn packing(layout: Layout, bytes: &[u8], counted: &[bool]) -> Option<Vec<u8>> {
        let items = Packing::new(layout, bytes).unwrap();
        let mut effective = Effective::new(items, Vec::with_capacity(bytes.len()));
        counted.iter().for_each(|counted| effective.note(*counted));
        assert_eq!(effective.tried, counted.len());
        assert_eq!(effective.counted, counted.iter().filter(|counted| **counted).count());
        let packing = effective.packing().map(<[u8]>::to_vec);
        assert!(effective.room.len() <= bytes.len());
        packing
    }

    #[test]
    fn items_that_were_counted_are_packed_again() {
        let lines = |counted: &[bool]| packing(Layout::Lines, b"a\n\nc\nd", counted);
        assert_eq!(lines(&[true; 4]), None);
        assert_eq!(lines(&[true; 3]).as_deref(), Some(&b"a\n\nc\n"[..]));
        assert_eq!(lines(&[true, false, true, true]).as_deref(), Some(&b"a\nc\nd\n"[..]));
        assert_eq!(lines(&[false, true, false]).as_deref(), Some(&b"\n"[..]));
        assert_eq!(lines(&[true, true, true, false]).as_deref(), Some(&b"a\n\nc\n"[..]));
        let fixed = packing(Layout::Fixed(2), b"aabbcc", &[false, true, true]);
        assert_eq!(fixed.as_deref(), Some(&b"bbcc"[..]));
        let prefixed = packing(Layout::Prefixed, b"\x01\0\0\0a\0\0\0\0", &[false, true]);
        assert_eq!(prefixed.as_deref(), Some(&b"\0\0\0\0"[..]));
    }
}
