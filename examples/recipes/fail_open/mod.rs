//! A server that requests can do without: none of them fails with it, and few wait for it.

use redis::{Client, Connection, FromRedisValue, Pipeline, RedisResult};
use std::time::{Duration, Instant};

/// How long a request may wait, twice that if it has to connect, and for how long others then do
/// not ask.
const PATIENCE: Duration = Duration::from_secs(1);

pub struct FailOpen {
    client: Client,
    connection: Option<Connection>,
    is_down_until: Instant,
}

impl FailOpen {
    pub fn new(client: Client) -> FailOpen {
        FailOpen { client, connection: None, is_down_until: Instant::now() }
    }

    /// A connection that gives up soon.
    pub fn connect(&self) -> RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        Ok(connection)
    }

    /// The replies to the commands, in one round trip. Each may be an error, as `T` must allow.
    pub fn ask<T: FromRedisValue>(&mut self, commands: &mut Pipeline) -> Option<T> {
        if self.connection.is_none() && Instant::now() < self.is_down_until {
            return None;
        }
        let connection = self.connection.take().map_or_else(|| self.connect(), Ok);
        let asked = connection.and_then(|mut connection| {
            let replies = commands.ignore_errors().query(&mut connection)?;
            Ok((connection, replies))
        });
        if asked.is_err() {
            self.is_down_until = Instant::now() + PATIENCE;
        }
        let (connection, replies) = asked.ok()?;
        self.connection = Some(connection);
        Some(replies)
    }
}
