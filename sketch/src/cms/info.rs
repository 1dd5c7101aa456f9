//! CMS.INFO: describes a sketch.

use super::value::StoredSketch;
use crate::errors::cms::MISSING;
use crate::errors::ReplyError;
use crate::window::now_for;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::Command;
use splitbloom_server::context::Context;
use splitbloom_sketch::Sketch;

pub const INFO: Command<ReplyError> = Command {
    name: c"cms.info",
    arity: 2,
    summary: c"Describes a count-min sketch",
    run: info,
    ..Command::FAST_READ
};

/// The first four fields are RedisBloom's, the others those of a window.
fn info(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let sketch = key.value::<StoredSketch>()?.ok_or(MISSING)?.sketch();
    let (shape, window) = (sketch.shape(), sketch.window());
    context.reply_map(if window.is_some() { 6 } else { 4 });
    context.reply_field("width", shape.width());
    context.reply_field("depth", shape.depth());
    context.reply_field("count", sketch.count(now_for(window)));
    context.reply_field("cell_size", shape.cell_size().bytes());
    if let Some(span) = window {
        context.reply_field("window", u64::from(span.seconds()));
        context.reply_field("slices", u64::from(span.slices()));
    }
    Ok(())
}
