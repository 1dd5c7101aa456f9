use super::wire::{command, command_for, separate};
use super::*;
use proptest::prelude::*;
use splitbloom_partition::Partitions;

const FULL: &str = "ERR non scaling filter is full";

fn reply(text: &str) -> Value {
    redis::parse_redis_value(text.as_bytes()).expect("a reply")
}

fn items(layout: Layout, mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (item, rest) = layout.split_item(bytes);
        all.push(layout.bare(item));
        bytes = rest;
    }
    all
}

#[test]
fn a_command_is_an_array_of_its_words() {
    let lines = command("BF.PACKADD", b"k", Layout::Lines, b"a\nb");
    assert_eq!(lines, b"*4\r\n$10\r\nBF.PACKADD\r\n$1\r\nk\r\n$5\r\nLINES\r\n$3\r\na\nb\r\n");
    let fixed = command("BF.PACKADD", b"k", Layout::Fixed(10), &[b'x'; 10]);
    let end =
        b"*5\r\n$10\r\nBF.PACKADD\r\n$1\r\nk\r\n$5\r\nFIXED\r\n$2\r\n10\r\n$10\r\nxxxxxxxxxx\r\n";
    assert_eq!(fixed, end);
    let each = separate("BF.MEXISTS", b"k", Layout::Lines, b"a\n\nb");
    assert_eq!(each, b"*5\r\n$10\r\nBF.MEXISTS\r\n$1\r\nk\r\n$1\r\na\r\n$0\r\n\r\n$1\r\nb\r\n");
}

#[test]
fn an_item_longer_than_a_piece_is_sent_by_itself() {
    let long = [vec![b'x'; PIECE_BYTES * 2], b"\ny\nz".to_vec()].concat();
    let pieces = Pieces::in_order(Layout::Lines, &long);
    let lens: Vec<usize> = pieces.all.iter().map(|piece| piece.len).collect();
    assert_eq!(lens, [1, 2]);
    let add = |piece| command_for(Family::Bloom, "ADD", b"k", Layout::Lines, piece);
    let by_itself = add(&pieces.all[0]);
    assert!(by_itself.starts_with(b"*3\r\n$6\r\nBF.ADD\r\n$1\r\nk\r\n$131072\r\nx"));
    assert!(by_itself.ends_with(b"x\r\n"));
    assert!(add(&pieces.all[1]).starts_with(b"*4\r\n$10\r\nBF.PACKADD\r\n"));
    let cut = pieces.cut(Vec::new());
    for (long, packed, changed) in [("#t\r\n", ":1\r\n", 2), (":0\r\n", ":2\r\n", 2)] {
        let changes = cut.changes(vec![Ok(reply(long)), Ok(reply(packed))]);
        assert_eq!((changes.items, changes.changed), (3, changed));
    }
    for long in ["#t\r\n", ":1\r\n"] {
        let answers = vec![Ok(reply(long)), Ok(reply("$1\r\n\x02\r\n"))];
        let answers = cut.answers(Wording::Packed, answers).expect("answers");
        assert_eq!(answers, [true, false, true]);
    }
    let wide = vec![0; PIECE_BYTES * 4];
    let pieces = Pieces::in_order(Layout::Fixed(PIECE_BYTES * 2), &wide);
    assert_eq!(pieces.all.len(), 2);
}

#[test]
fn a_refusal_says_how_many_items_came_before_it() {
    let wide = vec![0; PIECE_BYTES * 3];
    let pieces = Pieces::in_order(Layout::Fixed(PIECE_BYTES / 4), &wide);
    let replies = [":3\r\n", &format!("*3\r\n:2\r\n:1\r\n-{FULL}\r\n"), ":4\r\n"];
    let changes = pieces.cut(Vec::new()).changes(replies.map(|text| Ok(reply(text))).into());
    assert_eq!((changes.items, changes.changed), (12, 8));
    let refusal = changes.refusal.expect("a refusal");
    assert_eq!(refusal.before, 6);
    assert!(matches!(refusal.error, Error::Refused(text) if text == FULL));
}

#[test]
fn a_key_that_does_not_exist_is_an_error_whatever_it_answered() {
    let cut = Pieces::in_order(Layout::Fixed(1), b"abc").cut(vec![b"users:{5}".to_vec()]);
    let replies = |texts: [&str; 2]| texts.map(|text| Ok(reply(text))).into();
    let is_missing = |error: Error| matches!(error, Error::Missing(keys) if keys == [b"users:{5}"]);
    let absent = "$1\r\n\0\r\n";
    let answers = |exists| cut.answers(Wording::Packed, replies([absent, exists]));
    assert!(answers(":0\r\n").is_err_and(is_missing));
    assert_eq!(answers(":1\r\n").unwrap(), [false; 3]);
    let refused = answers("-NOPERM x\r\n");
    assert!(matches!(refused, Err(Error::Refused(text)) if text == "NOPERM x"));
    // Adding asks first, as it creates the key.
    let refusal = |exists| cut.changes(replies([exists, ":3\r\n"])).refusal;
    let lost = refusal(":0\r\n").expect("a refusal");
    assert!(lost.before == 0 && is_missing(lost.error));
    assert!(refusal(":1\r\n").is_none());
}

#[test]
fn replies_that_no_command_gives_are_errors() {
    let cut = Pieces::in_order(Layout::Fixed(1), b"abc").cut(Vec::new());
    for text in [":4\r\n", ":-1\r\n", "+OK\r\n", "*0\r\n", "*3\r\n:4\r\n:1\r\n-ERR x\r\n"] {
        let refusal = cut.changes(vec![Ok(reply(text))]).refusal;
        let error = refusal.map(|refusal| refusal.error);
        assert!(matches!(error, Some(Error::Unexpected(_))), "{text}");
    }
    for text in ["$0\r\n\r\n", "$2\r\nab\r\n", ":1\r\n"] {
        let answers = cut.answers(Wording::Packed, vec![Ok(reply(text))]);
        assert!(matches!(answers, Err(Error::Unexpected(_))), "{text}");
    }
    let answers = cut.answers(Wording::Separate, vec![Ok(reply("*1\r\n:1\r\n"))]);
    assert!(matches!(answers, Err(Error::Unexpected(_))));
}

proptest! {
    #[test]
    fn answers_come_in_the_order_of_the_items(
        lines in prop::collection::vec("[a-h]{0,4}", 0..300),
        power in 0..8_u32,
        ends in any::<bool>(),
    ) {
        let partitions = Partitions::new(1 << power).unwrap();
        let mut text = lines.join("\n");
        if ends && !lines.is_empty() {
            text.push('\n');
        }
        // The answer for an item is whether its length is odd.
        let answer = |piece: &Piece<'_>| {
            let mut bytes = vec![0_u8; piece.len.div_ceil(8)];
            for (at, item) in items(Layout::Lines, &piece.items).iter().enumerate() {
                bytes[at / 8] |= (item.len() as u8 % 2) << (at % 8);
            }
            Ok(Value::BulkString(bytes))
        };
        let of = |item: &[u8]| partitions.of(item);
        let expected: Vec<bool> =
            items(Layout::Lines, text.as_bytes()).iter().map(|item| item.len() % 2 == 1).collect();
        for pieces in [
            Pieces::in_order(Layout::Lines, text.as_bytes()),
            Pieces::by_partition(Layout::Lines, text.as_bytes(), of),
        ] {
            let total: usize = pieces.all.iter().map(|piece| piece.len).sum();
            prop_assert_eq!(total, Layout::Lines.count(text.as_bytes()));
            let replies = pieces.all.iter().map(answer).collect();
            let answers = pieces.cut(Vec::new()).answers(Wording::Packed, replies).unwrap();
            prop_assert_eq!(&answers, &expected);
        }
        for piece in Pieces::by_partition(Layout::Lines, text.as_bytes(), of).all {
            for item in items(Layout::Lines, &piece.items) {
                prop_assert_eq!(of(item), piece.partition);
            }
        }
    }

    #[test]
    fn pieces_in_order_are_the_batch(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        width in 1..20_usize,
    ) {
        let whole = bytes.len() - bytes.len() % width;
        let cases = [(Layout::Lines, &bytes[..]), (Layout::Fixed(width), &bytes[..whole])];
        for (layout, bytes) in cases {
            let pieces = Pieces::in_order(layout, bytes).all;
            let all: Vec<u8> = pieces.iter().flat_map(|piece| piece.items.to_vec()).collect();
            prop_assert_eq!(all, bytes);
        }
    }
}
