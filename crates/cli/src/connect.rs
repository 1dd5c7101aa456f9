//! The server that a command talks to.

use crate::error::Error;
use clap::Args;
use redis::{Client, Connection, ConnectionInfo, IntoConnectionInfo, ProtocolVersion};
use std::env;
use std::time::Duration;

/// A server that does not answer within this is not there.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the password is if the URL has none. The second is that of redis-cli.
const PASSWORDS: [&str; 2] = ["SPLITBLOOM_PASSWORD", "REDISCLI_AUTH"];

/// Names the server.
#[derive(Args, Clone, Debug)]
pub struct ServerArguments {
    /// The server: redis://[user[:password]@]host[:port][/database], or unix:///path. A password is
    /// better given in SPLITBLOOM_PASSWORD or REDISCLI_AUTH, where other users cannot see it
    #[arg(
        long,
        env = "REDIS_URL",
        hide_env_values = true,
        default_value = "redis://127.0.0.1:6379"
    )]
    pub url: String,
}

impl ServerArguments {
    /// How to connect: by the URL, in RESP3, with the password of the environment if the URL has
    /// none.
    pub fn connection_info(&self) -> Result<ConnectionInfo, Error> {
        connection_info(&self.url)
    }

    /// A connection to the server.
    pub fn connect(&self) -> Result<Connection, Error> {
        connect(self.connection_info()?)
    }
}

/// As [`ServerArguments::connection_info`], for any URL.
pub fn connection_info(url: &str) -> Result<ConnectionInfo, Error> {
    // The URL may contain a password, so the message does not quote it.
    let info = url
        .into_connection_info()
        .map_err(|error| Error::Usage(format!("not the URL of a server: {error}")))?;
    let mut settings = info
        .redis_settings()
        .clone()
        .set_protocol(ProtocolVersion::RESP3);
    if settings.password().is_none() {
        if let Some(password) = PASSWORDS.iter().find_map(|name| env::var(name).ok()) {
            settings = settings.set_password(password);
        }
    }
    Ok(info.set_redis_settings(settings))
}

/// A connection.
pub fn connect(info: ConnectionInfo) -> Result<Connection, Error> {
    let client = Client::open(info)?;
    Ok(client.get_connection_with_timeout(CONNECTION_TIMEOUT)?)
}
