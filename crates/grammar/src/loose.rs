//! Words that RedisBloom accepts and this module does not. They come in commands that a RedisBloom
//! replicated or logged, where refusing them would lose items: see docs/migrate.md.
//!
//! RedisBloom's RESERVE commands ignore unknown words, and its INSERT commands look at only a
//! letter or two. These functions turn such words into those that the parsers of this crate expect.

/// An option of BF.RESERVE or CF.RESERVE, and whether a value follows it.
const OPTIONS: [(&[u8], bool); 4] =
    [(b"EXPANSION", true), (b"BUCKETSIZE", true), (b"MAXITERATIONS", true), (b"NONSCALING", false)];

/// Returns the words of a RESERVE command after the key, without unknown options. The first
/// `required` words are no options. `None` if there is no memory for the list.
pub fn known_words_of_reserve<'a>(words: &[&'a [u8]], required: usize) -> Option<Vec<&'a [u8]>> {
    let mut known = Vec::new();
    known.try_reserve_exact(words.len()).ok()?;
    let mut words = words.iter().copied();
    known.extend(words.by_ref().take(required));
    while let Some(word) = words.next() {
        let option = OPTIONS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
        if let Some((_, has_value)) = option {
            known.push(word);
            known.extend(words.by_ref().take(usize::from(*has_value)));
        }
    }
    Some(known)
}

/// Spells out the options of BF.INSERT, up to and including ITEMS.
pub fn spell_out_bloom_insert(words: &mut [&[u8]]) {
    spell_out(words, |word| {
        let letter = |place: usize| word.get(place).map(u8::to_ascii_lowercase);
        match (letter(0)?, letter(1), letter(2)) {
            (b'i', ..) => Some(b"ITEMS"),
            (b'c', ..) => Some(b"CAPACITY"),
            (b'e', Some(b'r'), _) => Some(b"ERROR"),
            (b'e', ..) => Some(b"EXPANSION"),
            (b'n', _, Some(b'c')) => Some(b"NOCREATE"),
            (b'n', ..) => Some(b"NONSCALING"),
            _ => None,
        }
    });
}

/// Spells out the options of CF.INSERT and CF.INSERTNX, up to and including ITEMS.
pub fn spell_out_counting_insert(words: &mut [&[u8]]) {
    spell_out(words, |word| match word.first()?.to_ascii_lowercase() {
        b'i' => Some(b"ITEMS"),
        b'c' => Some(b"CAPACITY"),
        b'n' => Some(b"NOCREATE"),
        _ => None,
    });
}

fn spell_out(words: &mut [&[u8]], full: impl Fn(&[u8]) -> Option<&'static [u8]>) {
    let mut words = words.iter_mut();
    while let Some(word) = words.next() {
        let Some(option) = full(word) else { return };
        *word = option;
        match option {
            b"ITEMS" => return,
            b"CAPACITY" | b"ERROR" | b"EXPANSION" => drop(words.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::parse_counting_insert;
    use crate::options::{parse_insert, parse_reserve};
    use crate::words;
    use splitbloom_filter::Growth;

    #[test]
    fn a_reserve_without_its_unknown_words_is_one_of_ours() {
        for (line, known) in [
            ("0.1 9", "0.1 9"),
            ("0.1 9 FOO EXPANSION 4 BAR", "0.1 9 EXPANSION 4"),
            ("0.1 9 nonscaling x", "0.1 9 nonscaling"),
            ("0.1 9 EXPANSION", "0.1 9 EXPANSION"),
            ("0.1 9 EXPANSION NONSCALING", "0.1 9 EXPANSION NONSCALING"),
        ] {
            let known = words(known);
            assert_eq!(known_words_of_reserve(&words(line), 2), Some(known));
        }
        let known = known_words_of_reserve(&words("9 FOO BUCKETSIZE 4"), 1);
        assert_eq!(known, Some(words("9 BUCKETSIZE 4")));
        let unknown = words("0.1 9 FOO EXPANSION 4");
        assert!(parse_reserve(&unknown).is_err());
        let known = known_words_of_reserve(&unknown, 2).unwrap();
        assert_eq!(parse_reserve(&known).unwrap().growth, Some(Growth::Times(4)));
    }

    #[test]
    fn an_insert_is_spelled_out_up_to_its_items() {
        let mut loose = words("c 9 err 0.1 ex 4 nos i c err i");
        spell_out_bloom_insert(&mut loose);
        let full = words("CAPACITY 9 ERROR 0.1 EXPANSION 4 NONSCALING ITEMS c err i");
        assert_eq!(loose, full);
        assert_eq!(parse_insert(&loose).unwrap().first_item, Some(8));

        let mut loose = words("Nocrea cap 9 item n c");
        spell_out_counting_insert(&mut loose);
        assert_eq!(loose, words("NOCREATE CAPACITY 9 ITEMS n c"));
        assert!(parse_counting_insert(&loose).unwrap().creation.is_none());
    }

    #[test]
    fn an_insert_with_a_word_that_nobody_knows_stays_refused() {
        for line in ["x 9 ITEMS a", "CAPACITY 9 x", "CAPACITY", ""] {
            let mut loose = words(line);
            spell_out_bloom_insert(&mut loose);
            assert!(parse_insert(&loose).is_err(), "{line}");
            let mut loose = words(line);
            spell_out_counting_insert(&mut loose);
            assert!(parse_counting_insert(&loose).is_err(), "{line}");
        }
    }
}
