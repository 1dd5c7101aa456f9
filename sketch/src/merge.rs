//! What CMS.MERGE and TDIGEST.MERGE have in common. Their arguments are the destination, the number
//! of sources, the sources, and then the options of each command.

use crate::errors::ReplyError;
use crate::stored::{Family, Stored};
use splitbloom_foundation::number::parse_integer;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::Target;
use splitbloom_server::context::Context;
use std::ffi::CStr;

/// The argument of the first source.
pub const FIRST_SOURCE: usize = 3;

/// Parses the number of sources.
///
/// # Errors
/// `malformed` if it is no integer, `too_few` if it is not positive.
pub fn parse_number(
    word: &[u8],
    malformed: ReplyError,
    too_few: ReplyError,
) -> Result<usize, ReplyError> {
    let number = parse_integer(word).ok_or(malformed)?;
    usize::try_from(number).ok().filter(|number| *number > 0).ok_or(too_few)
}

/// Ends a merge: replicates and signals the `merged` destination, and replies. A key that fails
/// with `missing` may be on another node.
pub fn end<S: Family>(
    context: &Context,
    arguments: Arguments<'_>,
    merged: Result<Target<'_, Stored<S>>, ReplyError>,
    missing: ReplyError,
    event: &CStr,
) -> Result<(), ReplyError> {
    let target = match merged {
        Err(error) if error == missing && context.may_be_elsewhere(arguments.bytes(1)) => {
            return Err(ReplyError::SLOT_MOVES);
        }
        merged => merged?,
    };
    target.settle().replicate_verbatim().signal(event);
    context.reply_ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_sources_is_positive() {
        let (malformed, too_few) = (ReplyError("malformed"), ReplyError("too few"));
        let parse = |word: &str| parse_number(word.as_bytes(), malformed, too_few);
        assert_eq!(parse("1"), Ok(1));
        assert_eq!(parse("9223372036854775807"), Ok(i64::MAX as usize));
        assert_eq!(parse("0"), Err(too_few));
        assert_eq!(parse("-1"), Err(too_few));
        assert_eq!(parse("x"), Err(malformed));
    }
}
