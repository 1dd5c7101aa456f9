//! The words of sketches over a window: `WINDOW seconds [SLICES n]`, and times.

use crate::errors::window::{
    BAD_SLICES, BAD_TIME, BAD_WINDOW, FAR_FUTURE, SECONDS, SLICES_RANGE, WINDOW_RANGE,
};
use crate::errors::ReplyError;
use splitbloom_foundation::number::{parse_within, NumberError};
use splitbloom_foundation::span::{
    Span, DEFAULT_SLICES, MAX_SLICES, MAX_TIME, MAX_WINDOW_SECONDS, MIN_SLICES,
};
use splitbloom_server::clock::{time_of_command, BadTime};
use splitbloom_server::command::{Kind, Parameter, Times};
use splitbloom_server::context::Context;

pub const WINDOW: Parameter =
    Parameter::new(c"seconds", Kind::Integer, Times::AtMostOnce).after(c"WINDOW");
pub const SLICES: Parameter =
    Parameter::new(c"slices", Kind::Integer, Times::AtMostOnce).after(c"SLICES");
pub const TIME: Parameter = Parameter::new(c"unix-time-milliseconds", Kind::Integer, Times::Once);

/// Parses the last words of a command that creates a sketch; `None` if there are none.
///
/// # Errors
/// `WRONG_ARITY` if they are other words: without a window the command has a fixed number.
pub fn parse_window(words: &[&[u8]]) -> Result<Option<Span>, ReplyError> {
    let (seconds, slices) = match words {
        [] => return Ok(None),
        [window, seconds] if window.eq_ignore_ascii_case(b"WINDOW") => (seconds, None),
        [window, seconds, name, slices]
            if window.eq_ignore_ascii_case(b"WINDOW") && name.eq_ignore_ascii_case(b"SLICES") =>
        {
            (seconds, Some(slices))
        }
        _ => return Err(ReplyError::WRONG_ARITY),
    };
    let number = |word, range, malformed, out_of_range| {
        parse_within(word, range)
            .map_err(|error: NumberError| error.either(malformed, out_of_range))
    };
    let seconds = number(seconds, 1..=MAX_WINDOW_SECONDS.into(), BAD_WINDOW, WINDOW_RANGE)?;
    let range = MIN_SLICES.into()..=MAX_SLICES.into();
    let slices =
        slices.map(|slices| number(slices, range, BAD_SLICES, SLICES_RANGE)).transpose()?;
    let slices = slices.unwrap_or(DEFAULT_SLICES.into());
    Span::new(seconds as u32, slices as u8).ok_or(WINDOW_RANGE).map(Some)
}

/// Parses a time in milliseconds since 1970.
///
/// # Errors
/// `BAD_TIME`.
pub fn parse_time(word: &[u8]) -> Result<u64, ReplyError> {
    parse_within(word, 0..=MAX_TIME).map_err(|_| BAD_TIME)
}

/// The time of what the command adds to a sketch: `given` by the client, or the server's clock;
/// `None` without a window.
///
/// # Errors
/// `FAR_FUTURE`, or `SECONDS`; `no_window` if a time is given where there is no window.
pub fn time_for(
    context: &Context,
    window: Option<Span>,
    given: Option<u64>,
    no_window: ReplyError,
) -> Result<Option<u64>, ReplyError> {
    let Some(span) = window else {
        return given.map_or(Ok(None), |_| Err(no_window));
    };
    let time = context.time_of(span.seconds(), given).map_err(|error| match error {
        BadTime::Seconds => SECONDS,
        BadTime::FarFuture => FAR_FUTURE,
    });
    time.map(Some)
}

/// The time at which a sketch is read. Without a window it needs none.
pub fn now_for(window: Option<Span>) -> u64 {
    window.map_or(0, |_| time_of_command())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Span>, ReplyError> {
        let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
        parse_window(&words)
    }

    #[test]
    fn a_window_has_seconds_and_perhaps_slices() {
        assert_eq!(parse(""), Ok(None));
        assert_eq!(parse("window 60"), Ok(Span::new(60, 8)));
        assert_eq!(parse("WINDOW 60 Slices 14"), Ok(Span::new(60, 14)));
        for (line, error) in [
            ("4", ReplyError::WRONG_ARITY),
            ("WINDOW", ReplyError::WRONG_ARITY),
            ("WINDOW 60 SLICES", ReplyError::WRONG_ARITY),
            ("SLICES 4 WINDOW 60", ReplyError::WRONG_ARITY),
            ("WINDOW 60 SLICES 4 x", ReplyError::WRONG_ARITY),
            ("WINDOW x", BAD_WINDOW),
            ("WINDOW 0", WINDOW_RANGE),
            ("WINDOW 315360001", WINDOW_RANGE),
            ("WINDOW 60 SLICES x", BAD_SLICES),
            ("WINDOW 60 SLICES 1", SLICES_RANGE),
            ("WINDOW 60 SLICES 15", SLICES_RANGE),
        ] {
            assert_eq!(parse(line), Err(error), "{line}");
        }
    }

    #[test]
    fn a_time_is_a_number_of_milliseconds() {
        assert_eq!(parse_time(b"1789000000000"), Ok(1_789_000_000_000));
        for bad in [b"".as_slice(), b"-1", b"1.0", b"9007199254740992"] {
            assert_eq!(parse_time(bad), Err(BAD_TIME));
        }
    }
}
