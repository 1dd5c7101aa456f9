//! BF.KEYS: lists the keys of a filter that is partitioned over many nodes. It opens no key, so any
//! node can serve it.

use crate::commands::common::ITEMS;
use crate::commands::reply_error::ReplyError;
use splitbloom_grammar::number::parse_integer;
use splitbloom_grammar::WordsError;
use splitbloom_partition::{Name, Partitions};
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;

/// The limit on the bytes of keys in a reply. A short command can request many long keys, and the
/// server keeps a reply in memory until it is sent. A million keys of 60 bytes fit.
const MAX_REPLY_BYTES: usize = 64 << 20;
/// Bytes of a key apart from its name: `:{16383}`, and some bytes of framing.
const BYTES_BESIDE_NAME: usize = 24;

pub const KEYS: Command<ReplyError> = Command {
    name: c"bf.keys",
    arity: -4,
    flags: "readonly allow-loading allow-stale",
    summary:
        c"Returns the keys of a Bloom filter partitioned over many nodes, or the key of each item",
    complexity: c"O(N) with N keys or items",
    parameters: &[
        Parameter::new(c"name", Kind::Text, Times::Once),
        Parameter::new(c"partitions", Kind::Integer, Times::Once).after(c"PARTITIONS"),
        ITEMS.after(c"ITEMS").optional(),
    ],
    run: keys,
    ..Command::ANY
};

fn keys(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let args = arguments.try_list_from(1);
    let args = args.ok_or(ReplyError::NO_MEMORY_TO_REPLY)?;
    let Question { name, partitions, items } = parse(&args)?;
    let key = try_vec(args[0].len() + BYTES_BESIDE_NAME);
    let key = key.ok_or(ReplyError::NO_MEMORY_TO_REPLY)?;
    match items {
        None => reply_all(context, name, key, partitions.each()),
        Some(items) => reply_all(context, name, key, items.iter().map(|item| partitions.of(item))),
    }
    Ok(())
}

/// Replies with the key of each of `partitions`, written in turn to the buffer `key`.
fn reply_all(
    context: &Context,
    name: Name<'_>,
    mut key: Vec<u8>,
    partitions: impl ExactSizeIterator<Item = u16>,
) {
    context.reply_array(partitions.len());
    for partition in partitions {
        name.write_key(partition, &mut key);
        context.reply_bytes(&key);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Question<'a> {
    name: Name<'a>,
    partitions: Partitions,
    /// The items whose keys are wanted; `None` for all keys of the filter.
    items: Option<&'a [&'a [u8]]>,
}

/// Parses the arguments of BF.KEYS: `name PARTITIONS n [ITEMS item…]`.
fn parse<'a>(args: &'a [&'a [u8]]) -> Result<Question<'a>, ReplyError> {
    let [name, token, count, rest @ ..] = args else {
        return Err(ReplyError::WRONG_ARITY);
    };
    let items = match rest {
        [] => None,
        [word, ..] if !word.eq_ignore_ascii_case(b"ITEMS") => return Err(WordsError::Syntax.into()),
        [_] => return Err(ReplyError::WRONG_ARITY),
        [_, items @ ..] => Some(items),
    };
    if !token.eq_ignore_ascii_case(b"PARTITIONS") {
        return Err(WordsError::Syntax.into());
    }
    let count = parse_integer(count).ok_or(ReplyError::BAD_PARTITIONS)?;
    let partitions = u64::try_from(count).ok().and_then(Partitions::new);
    let partitions = partitions.ok_or(ReplyError::PARTITIONS_RANGE)?;
    let keys = items.map_or(usize::from(partitions.count()), <[_]>::len);
    let reply_bytes = keys.saturating_mul(name.len() + BYTES_BESIDE_NAME);
    let name = Name::new(name).ok_or(ReplyError::BRACE_IN_NAME)?;
    if reply_bytes > MAX_REPLY_BYTES {
        return Err(ReplyError::REPLY_TOO_LONG);
    }
    Ok(Question { partitions, name, items })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of partitions and of items.
    fn parsed(line: &str) -> Result<(u16, Option<usize>), ReplyError> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let question = parse(&words)?;
        Ok((question.partitions.count(), question.items.map(<[_]>::len)))
    }

    #[test]
    fn the_words_are_a_name_a_power_of_two_and_optional_items() {
        assert_eq!(parsed("users PARTITIONS 64"), Ok((64, None)));
        assert_eq!(parsed("users partitions 1"), Ok((1, None)));
        assert_eq!(parsed("users PARTITIONS 16384 items a"), Ok((16_384, Some(1))));
        assert_eq!(parsed("users PARTITIONS 2 ITEMS ITEMS b"), Ok((2, Some(2))));
    }

    #[test]
    fn a_reply_is_at_most_64_mebibytes_of_keys() {
        let name = |len| vec![b'n'; len];
        let longest = (64 << 20) / 16_384 - 24;
        let all = |name: &[u8]| parse(&[name, b"PARTITIONS", b"16384"]).map(|_| ());
        assert_eq!(all(&name(longest)), Ok(()));
        assert_eq!(all(&name(longest + 1)), Err(ReplyError::REPLY_TOO_LONG));
        let long = name(1 << 20);
        let mut words = vec![&long[..], b"PARTITIONS", b"1", b"ITEMS"];
        words.extend([&b"a"[..]; 63]);
        assert!(parse(&words).is_ok());
        words.push(b"a");
        assert_eq!(parse(&words), Err(ReplyError::REPLY_TOO_LONG));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        for (line, error) in [
            ("users PARTITIONS", ReplyError::WRONG_ARITY),
            ("users PARTITIONS 4 ITEMS", ReplyError::WRONG_ARITY),
            ("users PARTITION 4", WordsError::Syntax.into()),
            ("users PARTITIONS 4 ITEM a", WordsError::Syntax.into()),
            ("users PARTITIONS x", ReplyError::BAD_PARTITIONS),
            ("users PARTITIONS 1.5", ReplyError::BAD_PARTITIONS),
            ("users PARTITIONS 0", ReplyError::PARTITIONS_RANGE),
            ("users PARTITIONS -4", ReplyError::PARTITIONS_RANGE),
            ("users PARTITIONS 3", ReplyError::PARTITIONS_RANGE),
            ("users PARTITIONS 32768", ReplyError::PARTITIONS_RANGE),
            ("users PARTITIONS 65536", ReplyError::PARTITIONS_RANGE),
            ("u{sers PARTITIONS 4", ReplyError::BRACE_IN_NAME),
            ("{} PARTITIONS 4", ReplyError::BRACE_IN_NAME),
        ] {
            assert_eq!(parsed(line), Err(error), "{line}");
        }
    }
}
