//! BF.SCANDUMP and BF.LOADCHUNK: a filter out of one server and into another, piece by piece.

use super::numbers::parse_integer;
use super::parameters::KEY;
use super::text::ErrorText;
use crate::config;
use crate::data_type::StoredFilter;
use crate::filter::codec::{encode_piece, Piece};
use crate::filter::scalable::Filter;
use crate::redis::command::{Command, KeyAccess, Kind, Parameter, Specification, Times};
use crate::redis::context::{Arguments, Context};
use crate::redis::key::Held;

/// BF.SCANDUMP.
pub struct ScanDump;

/// BF.LOADCHUNK.
pub struct LoadChunk;

const ITERATOR: Parameter = Parameter::new(c"iterator", Kind::Integer, Times::Once);

impl Command for ScanDump {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.scandump",
        arity: 3,
        flags: c"readonly",
        categories: "read",
        access: KeyAccess::Read,
        summary: c"Answers the next piece of a Bloom filter, to be loaded elsewhere",
        complexity: c"O(N) with N bytes of the piece, at most 1 MiB",
        parameters: &[KEY, ITERATOR],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let Some(iterator) = parse_integer(arguments.bytes(2)) else {
            return ErrorText::NotNumeric.reply(context);
        };
        let key = context.open_to_read(arguments.at(1));
        let stored: &StoredFilter = match key.held() {
            Held::Other => return ErrorText::WrongType.reply(context),
            Held::Nothing => return ErrorText::NotFound.reply(context),
            Held::Value(stored) => stored,
        };
        // A negative iterator, like one past the end, finds nothing.
        let piece = u64::try_from(iterator)
            .ok()
            .and_then(|iterator| encode_piece(stored.filter(), iterator));
        context.reply_array(2);
        context.reply_integer(piece.as_ref().map_or(0, |piece| piece.next));
        context.reply_bytes(piece.as_ref().map_or(&[], |piece| &piece.bytes));
    }
}

impl Command for LoadChunk {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.loadchunk",
        arity: 4,
        flags: c"write deny-oom",
        categories: "write",
        access: KeyAccess::Add,
        summary: c"Takes in a piece of a Bloom filter; the first one creates it",
        complexity: c"O(N) with N bytes of the piece, at most 1 MiB",
        parameters: &[
            KEY,
            ITERATOR,
            Parameter::new(c"data", Kind::Text, Times::Once),
        ],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let bytes = arguments.bytes(3);
        context.redact(3); // the first piece has the filter's seed in it
        match load_chunk(context, arguments, bytes) {
            Ok(()) => {
                context.replicate_verbatim();
                context.signal_change(c"bf.loadchunk", arguments.at(1));
                context.reply_simple("OK");
            }
            Err(error) => error.reply(context),
        }
    }
}

fn load_chunk(context: &Context, arguments: Arguments<'_>, bytes: &[u8]) -> Result<(), ErrorText> {
    let iterator = parse_integer(arguments.bytes(2)).ok_or(ErrorText::NotNumeric)?;
    let limit = config::size_limit(context);
    let mut key = context.open_to_write(arguments.at(1));
    let held = key.held::<StoredFilter>();
    if matches!(held, Held::Other) {
        return Err(ErrorText::WrongType);
    }
    let piece = Piece::parse(bytes).map_err(ErrorText::of_load)?;
    if u64::try_from(iterator) != Ok(piece.next) {
        return Err(ErrorText::BadData);
    }
    if let Held::Value(stored) = held {
        let loaded = stored.filter_mut().load_piece(&piece, limit);
        return loaded.map_err(ErrorText::of_load);
    }
    let filter = Filter::from_first_piece(&piece, limit).map_err(ErrorText::of_load)?;
    key.put(StoredFilter::new(filter));
    Ok(())
}
