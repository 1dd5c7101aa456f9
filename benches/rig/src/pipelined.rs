//! Commands in pipelines, on a connection of redis-rs.

use crate::Outcome;
use redis::{Cmd, Connection};

/// Sends commands in pipelines of `at_a_time`, and ignores their replies.
///
/// # Errors
/// One of them was refused.
pub fn pipelined(
    client: &mut Connection,
    at_a_time: usize,
    commands: impl IntoIterator<Item = Cmd>,
) -> Outcome<()> {
    let mut commands = commands.into_iter().peekable();
    while commands.peek().is_some() {
        let mut pipeline = redis::pipe();
        for command in commands.by_ref().take(at_a_time) {
            pipeline.add_command(command).ignore();
        }
        pipeline.exec(client)?;
    }
    Ok(())
}
