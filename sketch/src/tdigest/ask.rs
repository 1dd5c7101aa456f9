//! The commands that query a digest. For an empty one, each returns "not a number", or rank -2.

use super::value::StoredDigest;
use crate::errors::tdigest::{
    BAD_CDF, BAD_HIGH_CUT, BAD_LOW_CUT, BAD_QUANTILE, BAD_RANK, BAD_VALUE, CUT_ORDER, CUT_RANGE,
    MISSING, NEGATIVE_RANK, NO_MEMORY, QUANTILE_RANGE,
};
use crate::errors::ReplyError;
use splitbloom_foundation::number::{parse_double, parse_integer};
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::reply::Reply;
use splitbloom_sketch::tdigest::{Answers, TDigest};

/// The rank of any number in an empty digest.
const NO_RANK: i64 = -2;

/// A question about one number, or several.
const QUESTION: Command<ReplyError> = Command {
    arity: -3,
    complexity: c"O(C+N*log(C)) with N answers and a capacity of C nodes",
    ..Command::FAST_READ
};

const VALUES: &[Parameter] =
    &[Parameter::KEY, Parameter::new(c"value", Kind::Double, Times::OnceOrMore)];

const RANKS: &[Parameter] =
    &[Parameter::KEY, Parameter::new(c"rank", Kind::Integer, Times::OnceOrMore)];

pub const MIN: Command<ReplyError> = Command {
    name: c"tdigest.min",
    arity: 2,
    summary: c"Returns the smallest number that was added to a t-digest",
    run: |context, arguments| ask_once(context, arguments, TDigest::min),
    ..Command::FAST_READ
};

pub const MAX: Command<ReplyError> = Command {
    name: c"tdigest.max",
    summary: c"Returns the largest number that was added to a t-digest",
    run: |context, arguments| ask_once(context, arguments, TDigest::max),
    ..MIN
};

pub const TRIMMED_MEAN: Command<ReplyError> = Command {
    name: c"tdigest.trimmed_mean",
    arity: 4,
    summary: c"Estimates the mean of the numbers between two quantiles of a t-digest",
    complexity: c"O(C) with a capacity of C nodes",
    parameters: &[
        Parameter::KEY,
        Parameter::new(c"low_cut_quantile", Kind::Double, Times::Once),
        Parameter::new(c"high_cut_quantile", Kind::Double, Times::Once),
    ],
    run: trimmed_mean,
    ..Command::READ
};

pub const QUANTILE: Command<ReplyError> = Command {
    name: c"tdigest.quantile",
    summary: c"Estimates the numbers below which given fractions of a t-digest's numbers lie",
    parameters: &[Parameter::KEY, Parameter::new(c"quantile", Kind::Double, Times::OnceOrMore)],
    run: |context, arguments| {
        ask(context, arguments, parse_quantile, |answers, q| number(answers.quantile(q)))
    },
    ..QUESTION
};

pub const CDF: Command<ReplyError> = Command {
    name: c"tdigest.cdf",
    summary: c"Estimates the fractions of a t-digest's numbers that lie below given ones",
    parameters: VALUES,
    run: |context, arguments| {
        ask(context, arguments, parse_bound, |answers, x| number(answers.cdf(x)))
    },
    ..QUESTION
};

pub const RANK: Command<ReplyError> = Command {
    name: c"tdigest.rank",
    summary: c"Estimates how many numbers of a t-digest lie below given ones",
    parameters: VALUES,
    run: |context, arguments| {
        ask(context, arguments, parse_value, |answers, x| answers.rank(x).unwrap_or(NO_RANK))
    },
    ..QUESTION
};

pub const REVERSE_RANK: Command<ReplyError> = Command {
    name: c"tdigest.revrank",
    summary: c"Estimates how many numbers of a t-digest lie above given ones",
    run: |context, arguments| {
        ask(context, arguments, parse_value, |answers, x| {
            answers.reverse_rank(x).unwrap_or(NO_RANK)
        })
    },
    ..RANK
};

pub const BY_RANK: Command<ReplyError> = Command {
    name: c"tdigest.byrank",
    summary: c"Estimates the numbers of a t-digest that have given ranks",
    parameters: RANKS,
    run: |context, arguments| {
        ask(context, arguments, parse_rank, |answers, rank| number(answers.by_rank(rank)))
    },
    ..QUESTION
};

pub const BY_REVERSE_RANK: Command<ReplyError> = Command {
    name: c"tdigest.byrevrank",
    summary: c"Estimates the numbers of a t-digest that have given ranks, counted from the largest",
    run: |context, arguments| {
        ask(context, arguments, parse_rank, |answers, rank| number(answers.by_reverse_rank(rank)))
    },
    ..BY_RANK
};

fn parse_quantile(word: &[u8]) -> Result<f64, ReplyError> {
    let quantile = parse_double(word).ok_or(BAD_QUANTILE)?;
    (0.0..=1.0).contains(&quantile).then_some(quantile).ok_or(QUANTILE_RANGE)
}

fn parse_bound(word: &[u8]) -> Result<f64, ReplyError> {
    parse_double(word).ok_or(BAD_CDF)
}

fn parse_value(word: &[u8]) -> Result<f64, ReplyError> {
    parse_double(word).ok_or(BAD_VALUE)
}

fn parse_rank(word: &[u8]) -> Result<u64, ReplyError> {
    let rank = parse_integer(word).ok_or(BAD_RANK)?;
    u64::try_from(rank).map_err(|_| NEGATIVE_RANK)
}

fn parse_cuts([low, high]: [&[u8]; 2]) -> Result<(f64, f64), ReplyError> {
    let low = parse_double(low).ok_or(BAD_LOW_CUT)?;
    let high = parse_double(high).ok_or(BAD_HIGH_CUT)?;
    let range = 0.0..=1.0;
    if !range.contains(&low) || !range.contains(&high) {
        return Err(CUT_RANGE);
    }
    if low >= high {
        return Err(CUT_ORDER);
    }
    Ok((low, high))
}

/// Returns the number in `answer`, or NaN for `None`.
fn number(answer: Option<f64>) -> f64 {
    answer.unwrap_or(f64::NAN)
}

/// Replies with the one answer of the key's digest.
fn ask_once(
    context: &Context,
    arguments: Arguments<'_>,
    answer: impl Fn(&TDigest) -> Option<f64>,
) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let digest = key.value::<StoredDigest>()?.ok_or(MISSING)?.sketch();
    context.reply_double(number(answer(digest)));
    Ok(())
}

/// Replies with the digest's `answer` to each argument.
fn ask<T, R: Reply>(
    context: &Context,
    arguments: Arguments<'_>,
    parse: impl Fn(&[u8]) -> Result<T, ReplyError>,
    answer: impl Fn(&Answers<'_>, T) -> R,
) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let digest = key.value::<StoredDigest>()?.ok_or(MISSING)?.sketch();
    let words = arguments.bytes_from(2);
    let mut questions = try_vec(words.len()).ok_or(NO_MEMORY)?;
    for word in words {
        questions.push(parse(word)?);
    }
    let answers = digest.answers().map_err(|_| NO_MEMORY)?;
    context.reply_array(questions.len());
    questions.into_iter().for_each(|question| answer(&answers, question).reply(context));
    Ok(())
}

fn trimmed_mean(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let digest = key.value::<StoredDigest>()?.ok_or(MISSING)?.sketch();
    let (low, high) = parse_cuts([arguments.bytes(2), arguments.bytes(3)])?;
    let answers = digest.answers().map_err(|_| NO_MEMORY)?;
    context.reply_double(number(answers.trimmed_mean(low, high)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_two_fractions_in_order() {
        let cuts = |low: &str, high: &str| parse_cuts([low, high].map(str::as_bytes));
        assert_eq!(cuts("0", "1"), Ok((0.0, 1.0)));
        for (low, high, error) in [
            ("x", "y", BAD_LOW_CUT),
            ("2", "y", BAD_HIGH_CUT),
            ("nan", "1", BAD_LOW_CUT),
            ("2", "0.5", CUT_RANGE),
            ("0.5", "inf", CUT_RANGE),
            ("-0.1", "0.5", CUT_RANGE),
            ("0.5", "0.5", CUT_ORDER),
            ("0.6", "0.5", CUT_ORDER),
        ] {
            assert_eq!(cuts(low, high), Err(error), "{low} {high}");
        }
    }

    #[test]
    fn quantiles_and_ranks_have_a_range() {
        assert_eq!(parse_quantile(b"1"), Ok(1.0));
        assert_eq!(parse_quantile(b"-0"), Ok(-0.0));
        assert_eq!(parse_quantile(b"1.1"), Err(QUANTILE_RANGE));
        assert_eq!(parse_quantile(b"nan"), Err(BAD_QUANTILE));
        assert_eq!(parse_rank(b"9223372036854775807"), Ok(i64::MAX as u64));
        assert_eq!(parse_rank(b"-1"), Err(NEGATIVE_RANK));
        assert_eq!(parse_rank(b"1.0"), Err(BAD_RANK));
    }
}
