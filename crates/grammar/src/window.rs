//! The words of filters that forget: `WINDOW seconds [SLICES n] [RENEW]`, and times.

use crate::number::parse_within;
use crate::{number_within, WordsError};
use splitbloom_filter::filter::window::{
    Window, DEFAULT_SLICES, MAX_SLICES, MAX_TIME, MAX_WINDOW_SECONDS, MIN_SLICES,
};
use std::ops::RangeInclusive;
use std::slice::Iter;

const SECONDS: RangeInclusive<u64> = 1..=MAX_WINDOW_SECONDS as u64;
const SLICES: RangeInclusive<u64> = MIN_SLICES as u64..=MAX_SLICES as u64;

/// The options of the window read so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowOptions {
    seconds: Option<u32>,
    slices: Option<u8>,
    renew: bool,
}

impl WindowOptions {
    /// Takes `option`, in upper case, and its value from `rest`; returns whether it is one of the
    /// three. The last of a kind wins.
    pub fn take(&mut self, option: &[u8], rest: &mut Iter<&[u8]>) -> Result<bool, WordsError> {
        let mut value = || rest.next().ok_or(WordsError::WrongArity);
        match option {
            b"WINDOW" => {
                let errors = (WordsError::BadWindow, WordsError::WindowRange);
                self.seconds = Some(number_within(value()?, SECONDS, errors)? as u32);
            }
            b"SLICES" => {
                let errors = (WordsError::BadSlices, WordsError::SlicesRange);
                self.slices = Some(number_within(value()?, SLICES, errors)? as u8);
            }
            b"RENEW" => self.renew = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The window, if there is one.
    pub fn window(self) -> Result<Option<Window>, WordsError> {
        match self.seconds {
            Some(seconds) => {
                let slices = self.slices.unwrap_or(DEFAULT_SLICES);
                let window = Window::new(seconds, slices, self.renew);
                window.map(Some).ok_or(WordsError::WindowRange)
            }
            None if self.renew || self.slices.is_some() => Err(WordsError::WindowMissing),
            None => Ok(None),
        }
    }
}

/// Parses a time: milliseconds since 1970.
///
/// # Errors
/// It is not a number, negative, or later than filters can represent.
pub fn parse_time(word: &[u8]) -> Result<u64, WordsError> {
    parse_within(word, 0..=MAX_TIME).map_err(|_| WordsError::BadTime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{keyword, LONGEST_KEYWORD};

    fn window(line: &str) -> Result<Option<Window>, WordsError> {
        let words: Vec<&[u8]> = line.split_ascii_whitespace().map(str::as_bytes).collect();
        let (mut options, mut rest) = (WindowOptions::default(), words.iter());
        while let Some(option) = rest.next() {
            let mut room = [0; LONGEST_KEYWORD];
            assert!(options.take(keyword(option, &mut room), &mut rest)?, "{line}");
        }
        options.window()
    }

    fn of(seconds: u32, slices: u8, renew: bool) -> Result<Option<Window>, WordsError> {
        Ok(Window::new(seconds, slices, renew))
    }

    #[test]
    fn the_options_come_in_any_order_and_case_and_the_last_of_a_kind_wins() {
        assert_eq!(window(""), Ok(None));
        assert_eq!(window("WINDOW 60"), of(60, 8, false));
        assert_eq!(window("renew slices 4 window 1"), of(1, 4, true));
        assert_eq!(
            window("Slices 2 WINDOW 7 RENEW SLICES 14 RENEW WINDOW 315360000"),
            of(315_360_000, 14, true)
        );
    }

    #[test]
    fn errors_name_what_is_wrong() {
        for (line, error) in [
            ("WINDOW", WordsError::WrongArity),
            ("WINDOW x", WordsError::BadWindow),
            ("WINDOW 1.5", WordsError::BadWindow),
            ("WINDOW 0", WordsError::WindowRange),
            ("WINDOW -1", WordsError::WindowRange),
            ("WINDOW 315360001", WordsError::WindowRange),
            ("WINDOW 9 SLICES", WordsError::WrongArity),
            ("WINDOW 9 SLICES x", WordsError::BadSlices),
            ("WINDOW 9 SLICES 1", WordsError::SlicesRange),
            ("WINDOW 9 SLICES 15", WordsError::SlicesRange),
            ("SLICES 8", WordsError::WindowMissing),
            ("RENEW", WordsError::WindowMissing),
        ] {
            assert_eq!(window(line), Err(error), "{line}");
        }
    }

    #[test]
    fn a_time_is_a_number_of_milliseconds() {
        assert_eq!(parse_time(b"0"), Ok(0));
        assert_eq!(parse_time(b"9007199254740991"), Ok(MAX_TIME));
        assert_eq!(parse_time(b"1789000000000"), Ok(1_789_000_000_000));
        for word in ["", "x", "-1", "1.5", "9007199254740992"] {
            assert_eq!(parse_time(word.as_bytes()), Err(WordsError::BadTime));
        }
    }
}
