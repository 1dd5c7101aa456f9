use super::*;

/// The layout, the items' bytes, their place, and whether bits are wanted.
fn parsed(line: &str) -> Result<(Layout, String, usize, bool), WordsError> {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    let packed = parse_packed(&words)?;
    let bytes = String::from_utf8_lossy(packed.bytes).into_owned();
    Ok((packed.layout, bytes, packed.place, packed.has_option))
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
    assert_eq!(parse_packed(&[]), Err(WordsError::WrongArity));
    assert_eq!(parsed("AT 5 LINES abc"), Err(WordsError::Syntax));
    let words: [&[u8]; 3] = [b"LINES", b"abc", b"BITS"];
    assert!(!parse_packed_lookup(&words[..2]).unwrap().has_option);
    let must: [&[u8]; 4] = [b"LINES", b"abc", b"MustExist", b"MUSTEXIST"];
    assert!(parse_packed_lookup(&must).unwrap().has_option);
    assert_eq!(parse_packed(&must), Err(WordsError::Syntax));
    assert_eq!(parse_packed_lookup(&words), Err(WordsError::Syntax));
}

#[test]
fn a_time_may_come_before_the_layout_of_an_add() {
    let parsed = |line: &str| {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.into()).collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        parse_packed_at(&words).map(|packed| (packed.at, packed.layout, packed.first, packed.place))
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
