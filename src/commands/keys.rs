//! BF.KEYS: the keys of a filter that is spread over many nodes. It looks at no key, so every node answers.

use super::numbers::parse_integer;
use super::parameters::ITEMS;
use super::text::ErrorText;
use crate::partition::{Name, Partitions};
use crate::redis::command::{Command, KeyAccess, Kind, Parameter, Specification, Times};
use crate::redis::context::{Arguments, Context};

/// The most bytes of keys in a reply. A short command can ask for many long keys, and the server keeps a reply in memory until it is
/// sent: a million keys of 60 bytes fit.
const MOST_REPLY_BYTES: usize = 64 << 20;
/// What a key has beside the name: `:{16383}`, and some bytes of framing.
const BYTES_BESIDE_NAME: usize = 24;

/// BF.KEYS.
pub struct Keys;

impl Command for Keys {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.keys",
        arity: -4,
        flags: c"readonly allow-loading allow-stale",
        categories: "read",
        access: KeyAccess::None,
        summary:
            c"Names the keys of a Bloom filter over many nodes, or the key of each of some items",
        complexity: c"O(N) with N keys or items",
        parameters: &[
            Parameter::new(c"name", Kind::Text, Times::Once),
            Parameter::new(c"partitions", Kind::Integer, Times::Once).behind(c"PARTITIONS"),
            ITEMS.behind(c"ITEMS").optional(),
        ],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let Some(words) = arguments.try_list_from(1) else {
            return ErrorText::ReplyTooLong.reply(context);
        };
        match parse(&words) {
            Err(error) => error.reply(context),
            Ok(Question {
                name,
                partitions,
                items: None,
            }) => {
                let keys = partitions.each().map(|partition| name.key(partition));
                reply_all(context, keys);
            }
            Ok(Question {
                name,
                partitions,
                items: Some(items),
            }) => {
                let keys = items.iter().map(|item| name.key(partitions.of(item)));
                reply_all(context, keys);
            }
        }
    }
}

fn reply_all(context: &Context, keys: impl ExactSizeIterator<Item = Vec<u8>>) {
    context.reply_array(keys.len());
    keys.for_each(|key| context.reply_bytes(&key));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Question<'a> {
    name: Name<'a>,
    partitions: Partitions,
    /// The items whose keys are wanted, or nothing for all keys of the filter.
    items: Option<&'a [&'a [u8]]>,
}

/// Parses the words of BF.KEYS: `name PARTITIONS n [ITEMS item…]`.
fn parse<'a>(words: &'a [&'a [u8]]) -> Result<Question<'a>, ErrorText> {
    let [name, token, count, rest @ ..] = words else {
        return Err(ErrorText::WrongArity);
    };
    let items = match rest {
        [] => None,
        [word, ..] if !word.eq_ignore_ascii_case(b"ITEMS") => return Err(ErrorText::Syntax),
        [_] => return Err(ErrorText::WrongArity),
        [_, items @ ..] => Some(items),
    };
    if !token.eq_ignore_ascii_case(b"PARTITIONS") {
        return Err(ErrorText::Syntax);
    }
    let count = parse_integer(count).ok_or(ErrorText::BadPartitions)?;
    let partitions = u64::try_from(count).ok().and_then(Partitions::new);
    let partitions = partitions.ok_or(ErrorText::PartitionsRange)?;
    let keys = items.map_or(usize::from(partitions.count()), <[_]>::len);
    let reply_bytes = keys.saturating_mul(name.len() + BYTES_BESIDE_NAME);
    let name = Name::new(name).ok_or(ErrorText::BraceInName)?;
    if reply_bytes > MOST_REPLY_BYTES {
        return Err(ErrorText::ReplyTooLong);
    }
    Ok(Question {
        partitions,
        name,
        items,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of partitions and of items.
    fn parsed(line: &str) -> Result<(u16, Option<usize>), ErrorText> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let question = parse(&words)?;
        Ok((question.partitions.count(), question.items.map(<[_]>::len)))
    }

    #[test]
    fn the_words_are_a_name_a_power_of_two_and_perhaps_items() {
        assert_eq!(parsed("users PARTITIONS 64"), Ok((64, None)));
        assert_eq!(parsed("users partitions 1"), Ok((1, None)));
        assert_eq!(
            parsed("users PARTITIONS 16384 items a"),
            Ok((16_384, Some(1)))
        );
        assert_eq!(parsed("users PARTITIONS 2 ITEMS ITEMS b"), Ok((2, Some(2))));
    }

    #[test]
    fn a_reply_is_at_most_64_mebibytes_of_keys() {
        let name = |len| vec![b'n'; len];
        let longest = (64 << 20) / 16_384 - 24;
        let all = |name: &[u8]| parse(&[name, b"PARTITIONS", b"16384"]).map(|_| ());
        assert_eq!(all(&name(longest)), Ok(()));
        assert_eq!(all(&name(longest + 1)), Err(ErrorText::ReplyTooLong));
        let long = name(1 << 20);
        let mut words = vec![&long[..], b"PARTITIONS", b"1", b"ITEMS"];
        words.extend([&b"a"[..]; 63]);
        assert!(parse(&words).is_ok());
        words.push(b"a");
        assert_eq!(parse(&words), Err(ErrorText::ReplyTooLong));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, error) in [
            ("users PARTITIONS", ErrorText::WrongArity),
            ("users PARTITIONS 4 ITEMS", ErrorText::WrongArity),
            ("users PARTITION 4", ErrorText::Syntax),
            ("users PARTITIONS 4 ITEM a", ErrorText::Syntax),
            ("users PARTITIONS x", ErrorText::BadPartitions),
            ("users PARTITIONS 1.5", ErrorText::BadPartitions),
            ("users PARTITIONS 0", ErrorText::PartitionsRange),
            ("users PARTITIONS -4", ErrorText::PartitionsRange),
            ("users PARTITIONS 3", ErrorText::PartitionsRange),
            ("users PARTITIONS 32768", ErrorText::PartitionsRange),
            ("users PARTITIONS 65536", ErrorText::PartitionsRange),
            ("u{sers PARTITIONS 4", ErrorText::BraceInName),
            ("{} PARTITIONS 4", ErrorText::BraceInName),
        ] {
            assert_eq!(parsed(line), Err(error), "{line}");
        }
    }
}
