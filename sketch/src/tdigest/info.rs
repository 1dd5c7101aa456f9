//! TDIGEST.INFO: describes a digest.

use super::value::StoredDigest;
use crate::errors::tdigest::MISSING;
use crate::errors::ReplyError;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output};
use splitbloom_server::context::Context;
use splitbloom_server::data_type::Value;

pub const INFO: Command<ReplyError> = Command {
    name: c"tdigest.info",
    arity: 2,
    output: Output::Varies, // the memory usage
    summary: c"Describes a t-digest",
    run: info,
    ..Command::FAST_READ
};

/// Replies with RedisBloom's fields. Nodes of one number each count as "unmerged", whether a pass
/// has seen them or not.
fn info(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let stored = key.value::<StoredDigest>()?.ok_or(MISSING)?;
    let digest = stored.sketch();
    let (nodes, singles) = (digest.num_nodes() as u64, digest.num_singles() as u64);
    let fields = [
        ("Compression", u64::from(digest.compression().get())),
        ("Capacity", digest.compression().capacity() as u64),
        ("Merged nodes", nodes - singles),
        ("Unmerged nodes", singles),
        ("Merged weight", digest.weight() - singles),
        ("Unmerged weight", singles),
        ("Observations", digest.weight()),
        ("Total compressions", digest.passes()),
        ("Memory usage", stored.memory_usage() as u64),
    ];
    context.reply_map(fields.len());
    fields.into_iter().for_each(|(name, number)| context.reply_field(name, number));
    Ok(())
}
