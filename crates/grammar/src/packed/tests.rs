use super::*;

/// The layout, the items' bytes, their place, and whether bits are wanted.
fn parsed(line: &str) -> Result<(Layout, String, usize, bool), WordsError> {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    let packed = parse_packed_add(&words)?;
    let bytes = String::from_utf8_lossy(packed.bytes).into_owned();
    Ok((packed.layout, bytes, packed.place, packed.options.bits))
}

#[test]
fn the_words_are_a_layout_the_items_and_perhaps_bits() {
    let lines = |bits| Ok((Layout::Lines, "abc".to_owned(), 1, bits));
    assert_eq!(parsed("LINES abc"), lines(false));
    assert_eq!(parsed("lines abc bits"), lines(true));
    assert_eq!(parsed("LINES abc BITS BITS"), lines(true));
    let prefixed = Ok((Layout::Prefixed, "BITS".to_owned(), 1, false));
    assert_eq!(parsed("Prefixed BITS"), prefixed);
    let fixed = Ok((Layout::Fixed(3), "abc".to_owned(), 2, true));
    assert_eq!(parsed("FIXED 3 abc BITS"), fixed);
}

#[test]
fn errors_name_what_is_wrong() {
    for (line, error) in [
        ("LINES", WordsError::WrongArity),
        ("FIXED", WordsError::WrongArity),
        ("FIXED 3", WordsError::WrongArity),
        ("FIXED abc 3", WordsError::BadWidth),
        ("FIXED 1.5 abc", WordsError::BadWidth),
        ("FIXED 99999999999999999999 abc", WordsError::BadWidth),
        ("FIXED -1 abc", WordsError::BadPacking),
        ("LINE abc", WordsError::Syntax),
        ("abc LINES", WordsError::Syntax),
        ("LINES abc BIT", WordsError::Syntax),
        ("LINES abc BITS x", WordsError::Syntax),
    ] {
        assert_eq!(parsed(line), Err(error), "{line}");
    }
    assert_eq!(parse_packed_add(&[]), Err(WordsError::WrongArity));
    assert_eq!(parsed("AT 5 LINES abc"), Err(WordsError::Syntax));
}

#[test]
fn each_command_knows_its_own_options_in_any_order_and_case() {
    type Parse = fn(&[&'static [u8]]) -> Result<PackedWords<'static>, WordsError>;
    let options = |line: &'static str, parse: Parse| {
        let words = ["LINES", "abc"].into_iter().chain(line.split_whitespace());
        let words: Vec<&[u8]> = words.map(str::as_bytes).collect();
        parse(&words).map(|packed| packed.options)
    };
    let none = PackedOptions::default();
    let both = PackedOptions { bits: true, no_create: true, ..none };
    for add in [parse_packed_add, parse_packed_add_at] {
        assert_eq!(options("", add), Ok(none));
        assert_eq!(options("bits NoCreate BITS", add), Ok(both));
        let alone = PackedOptions { no_create: true, ..none };
        assert_eq!(options("NOCREATE NOCREATE", add), Ok(alone));
        assert_eq!(options("MUSTEXIST", add), Err(WordsError::Syntax));
    }
    let bits = PackedOptions { bits: true, ..none };
    assert_eq!(options("BITS", parse_packed_removal), Ok(bits));
    assert_eq!(options("BITS NOCREATE", parse_packed_removal), Err(WordsError::Syntax));
    let must_exist = PackedOptions { must_exist: true, ..none };
    assert_eq!(options("MustExist MUSTEXIST", parse_packed_lookup), Ok(must_exist));
    assert_eq!(options("", parse_packed_lookup), Ok(none));
    for other in ["BITS", "NOCREATE"] {
        assert_eq!(options(other, parse_packed_lookup), Err(WordsError::Syntax));
    }
}

#[test]
fn a_time_may_come_before_the_layout_of_an_add() {
    let parsed = |line: &str| {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.into()).collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        parse_packed_add_at(&words)
            .map(|packed| (packed.at, packed.layout, packed.first, packed.place))
    };
    assert_eq!(parsed("LINES abc"), Ok((None, Layout::Lines, 0, 1)));
    let fixed = Ok((Some(7), Layout::Fixed(3), 2, 4));
    assert_eq!(parsed("at 7 FIXED 3 abc BITS"), fixed);
    for (line, error) in [
        ("AT", WordsError::WrongArity),
        ("AT 7", WordsError::WrongArity),
        ("AT -1 LINES abc", WordsError::BadTime),
        ("AT 7 AT 8 LINES abc", WordsError::Syntax),
        ("LINES abc AT 7", WordsError::Syntax),
    ] {
        assert_eq!(parsed(line), Err(error), "{line}");
    }
}
