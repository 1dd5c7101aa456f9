//! What may go wrong. A message is one line; the exit code tells scripts the kind.

use redis::RedisError;
use splitbloom_client::Error as FilterError;
use std::fmt;
use std::io;
use std::path::Path;

/// What to do with a filter of another module.
pub const WAY: &str = "`splitbloom migrate` copies it to a server with splitbloom";

/// The result of a command that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The answer is no: items are missing, two filters differ, a filter was not copied, or there
    /// is advice.
    No,
    /// `doctor` has found something wrong.
    Wrong,
}

impl Outcome {
    pub fn of(answer: bool) -> Self {
        match answer {
            true => Self::Done,
            false => Self::No,
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub enum Error {
    /// Arguments that contradict each other, or are out of range.
    Usage(String),
    /// No connection, a lost one, or a refused login.
    Connection(String),
    /// The server refused a command, with this text.
    Refused(String),
    /// A file could not be read or written.
    File(String),
    /// What a file or a key contains is not what the command needs.
    Contents(String),
    /// The program that standard output goes to has ended. That is no failure: `… | head`.
    NobodyReads,
    /// This signal ends the process.
    Interrupted(i32, String),
}

impl Error {
    /// An operation on a file that failed.
    pub fn file(path: &Path, error: io::Error) -> Self {
        Self::File(format!("{}: {error}", path.display()))
    }

    /// The same error, saying more after it.
    pub fn and(self, more: &str) -> Self {
        let text = format!("{self}; {more}");
        self.saying(text)
    }

    /// The same kind of error with another text.
    pub fn saying(self, text: String) -> Self {
        match self {
            Self::Usage(_) => Self::Usage(text),
            Self::Connection(_) => Self::Connection(text),
            Self::Refused(_) => Self::Refused(text),
            Self::File(_) => Self::File(text),
            Self::Contents(_) => Self::Contents(text),
            Self::NobodyReads => Self::NobodyReads,
            Self::Interrupted(signal, _) => Self::Interrupted(signal, text),
        }
    }

    /// Whether the same command would end with the same error: the server has read and refused it,
    /// or what it needs is not there. Other refusals (OOM, LOADING, READONLY, …) end by themselves
    /// or are mended on the server.
    pub fn is_lasting(&self) -> bool {
        const LASTING: [&str; 3] = ["ERR", "WRONGTYPE", "NOPERM"];
        match self {
            Self::Refused(text) => {
                let code = text.strip_prefix(REFUSED).unwrap_or(text).split(' ').next();
                code.is_some_and(|code| LASTING.contains(&code))
            }
            Self::Usage(_) | Self::Contents(_) => true,
            _ => false,
        }
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NobodyReads => 0,
            Self::Usage(_) => 2,
            Self::Connection(_) => 3,
            Self::Refused(_) => 4,
            Self::File(_) => 5,
            Self::Contents(_) => 6,
            // As shells report it.
            Self::Interrupted(signal, _) => 128 + *signal as u8,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text)
            | Self::Connection(text)
            | Self::Refused(text)
            | Self::File(text)
            | Self::Contents(text)
            | Self::Interrupted(_, text) => out.write_str(&in_one_line(text)),
            Self::NobodyReads => write!(out, "standard output is closed"),
        }
    }
}

/// Names and texts from elsewhere may contain anything.
pub fn in_one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

impl std::error::Error for Error {}

/// What standard output says.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::File(format!("standard output: {error}")),
        }
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        match error.code() {
            None if error.is_timeout() => {
                Self::Connection("no connection to the server: it did not reply in time".into())
            }
            Some(code) => refused(&format!("{code} {}", error.detail().unwrap_or_default())),
            None => Self::Connection(format!("no connection to the server: {error}")),
        }
    }
}

impl From<FilterError> for Error {
    fn from(error: FilterError) -> Self {
        match error {
            FilterError::BraceInName => Self::Usage(error.to_string()),
            FilterError::Missing(_) | FilterError::MorePartitions(_) => {
                Self::Contents(error.to_string())
            }
            FilterError::Unreachable(error) => error.into(),
            FilterError::Refused(text) => refused(&text),
            _ => Self::Refused(error.to_string()),
        }
    }
}

/// What a refusal begins with; the server's text follows.
const REFUSED: &str = "the server refused: ";

/// What a server refused with this text: the login, or a command.
fn refused(text: &str) -> Error {
    match text.split(' ').next() {
        Some("NOAUTH") => Error::Connection(
            "the server wants a password (NOAUTH): SPLITBLOOM_PASSWORD or --url may have it".into(),
        ),
        Some("WRONGPASS") => {
            Error::Connection("wrong user name or password, or no such user (WRONGPASS)".into())
        }
        _ => Error::Refused(format!("{REFUSED}{text}{}", advice(text))),
    }
}

/// What to do about a refusal, if there is something.
fn advice(refusal: &str) -> &'static str {
    if refusal.starts_with("MOVED ") || refusal.starts_with("ASK ") {
        " (the key is on another node: --cluster goes there)"
    } else if refusal.starts_with("ERR unknown command") {
        " (this needs the module splitbloom; `splitbloom migrate` copies filters of RedisBloom)"
    } else if refusal.contains("bf.max-pack-bytes") {
        " (the tool sends up to 64 KiB of items in a command)"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_reply_in_time_is_not_called_an_error_of_the_system() {
        for kind in [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut] {
            let error = Error::from(RedisError::from(io::Error::from(kind)));
            assert_eq!(error.exit_code(), 3);
            assert_eq!(error.to_string(), "no connection to the server: it did not reply in time");
        }
    }
}
