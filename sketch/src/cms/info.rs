//! CMS.INFO: describes a sketch.

use super::value::{Counts, StoredCounts};
use crate::errors::cms::MISSING;
use crate::errors::ReplyError;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::clock::time_of_command;
use splitbloom_server::command::Command;
use splitbloom_server::context::Context;
use splitbloom_sketch::cms::Shape;

pub const INFO: Command<ReplyError> = Command {
    name: c"cms.info",
    arity: 2,
    summary: c"Describes a count-min sketch",
    run: info,
    ..Command::FAST_READ
};

/// The fields that RedisBloom has.
const FIELDS: usize = 3;
/// Those of a window.
const WINDOW_FIELDS: usize = 2;

fn info(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    match key.value::<StoredCounts>()?.ok_or(MISSING)?.sketch() {
        Counts::Plain(sketch) => {
            context.reply_map(FIELDS);
            reply_fields(context, sketch.shape(), sketch.count());
        }
        Counts::Windowed(sketch) => {
            context.reply_map(FIELDS + WINDOW_FIELDS);
            reply_fields(context, sketch.shape(), sketch.count(time_of_command()));
            context.reply_field("window", u64::from(sketch.span().seconds()));
            context.reply_field("slices", u64::from(sketch.span().slices()));
        }
    }
    Ok(())
}

/// Replies with dimensions and `count`.
fn reply_fields(context: &Context, shape: Shape, count: u64) {
    context.reply_field("width", shape.width());
    context.reply_field("depth", shape.depth());
    context.reply_field("count", count);
}
