use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// The items of `bytes`, split in the plainest way; `None` for bytes that are no packing.
fn plainly(layout: Layout, bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut items: Vec<Vec<u8>> = Vec::new();
    match layout {
        Layout::Fixed(0) => return None,
        Layout::Fixed(width) => {
            for chunk in bytes.chunks(width) {
                if chunk.len() < width {
                    return None;
                }
                items.push(chunk.to_vec());
            }
        }
        Layout::Lines => {
            let mut line = None;
            for byte in bytes {
                match byte {
                    b'\n' => items.push(line.take().unwrap_or_default()),
                    other => line.get_or_insert_with(Vec::new).push(*other),
                }
            }
            items.extend(line);
        }
        Layout::Prefixed => {
            let mut bytes = bytes.iter().copied();
            while bytes.len() > 0 {
                let mut len = 0;
                for place in 0..4 {
                    len += usize::from(bytes.next()?) << (8 * place);
                }
                let item: Vec<u8> = bytes.by_ref().take(len).collect();
                if item.len() < len {
                    return None;
                }
                items.push(item);
            }
        }
    }
    (!items.is_empty()).then_some(items)
}

fn packed(layout: Layout, items: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for item in items {
        match layout {
            Layout::Fixed(_) => bytes.extend(item),
            Layout::Lines => bytes.extend(item.iter().chain(b"\n")),
            Layout::Prefixed => {
                bytes.extend((item.len() as u32).to_le_bytes());
                bytes.extend(item);
            }
        }
    }
    bytes
}

/// Asserts that the items, their number, and the first `n` items for each `n` equal the twin's, and
/// that every other item, packed again, is the same item.
fn assert_like_the_twin(layout: Layout, bytes: &[u8]) {
    let Some(expected) = plainly(layout, bytes) else {
        assert_eq!(Packing::new(layout, bytes), Err(PackingError::BadPacking));
        return;
    };
    let packing = Packing::new(layout, bytes).expect("a packing");
    assert_eq!(packing.len(), expected.len());
    assert_eq!(packing.items().len(), expected.len());
    assert!(packing.items().eq(expected.iter().map(Vec::as_slice)));
    match (layout, packing.items_of_one_width()) {
        (Layout::Fixed(_), Some(items)) => assert!(items.eq(packing.items())),
        (_, items) => assert!(items.is_none()),
    }
    assert_eq!(packing.first(0), b"");
    for number in 1..=expected.len() {
        let first = packing.first(number);
        assert!(bytes.starts_with(first));
        let again = Packing::new(layout, first).expect("a packing");
        assert!(again.items().eq(packing.items().take(number)));
    }
    assert_eq!(packing.first(expected.len() + 1), bytes);
    let mut others = Vec::new();
    packing.items().step_by(2).for_each(|item| packing.append(item, &mut others));
    let again = Packing::new(layout, &others).expect("a packing");
    assert!(again.items().eq(packing.items().step_by(2)));
}

fn layouts() -> impl Strategy<Value = Layout> {
    prop_oneof![(0..20usize).prop_map(Layout::Fixed), Just(Layout::Lines), Just(Layout::Prefixed)]
}

/// Bytes of which many are line feeds, and many are lengths that fit the rest.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(b'\n'), Just(0), 0..8u8, any::<u8>()], 0..200)
}

proptest! {
    #[test]
    fn any_bytes_are_read_as_the_twin_reads_them(layout in layouts(), bytes in bytes()) {
        assert_like_the_twin(layout, &bytes);
    }

    #[test]
    fn what_was_packed_is_what_is_read(
        items in vec(vec(any::<u8>(), 0..40), 1..40),
        width in 1..40usize,
        cut in any::<prop::sample::Index>(),
    ) {
        let lines: Vec<Vec<u8>> = items.iter().map(|item| {
            item.iter().copied().filter(|byte| *byte != b'\n').collect()
        }).collect();
        let fixed: Vec<Vec<u8>> = items.iter().map(|item| {
            item.iter().copied().cycle().take(if item.is_empty() { 0 } else { width }).collect()
        }).filter(|item: &Vec<u8>| !item.is_empty()).collect();
        for (layout, items) in [
            (Layout::Fixed(width), &fixed),
            (Layout::Lines, &lines),
            (Layout::Prefixed, &items),
        ] {
            let bytes = packed(layout, items);
            assert_like_the_twin(layout, &bytes);
            assert_like_the_twin(layout, &bytes[..cut.index(bytes.len() + 1)]);
            if let Ok(packing) = Packing::new(layout, &bytes) {
                prop_assert!(packing.items().eq(items.iter().map(Vec::as_slice)));
            }
        }
    }
}

fn read(layout: Layout, bytes: &[u8]) -> Result<Vec<&[u8]>, PackingError> {
    Packing::new(layout, bytes).map(|packing| packing.items().collect())
}

#[test]
fn the_last_line_may_lack_its_end_and_an_empty_line_is_an_empty_item() {
    let items: [&[u8]; 3] = [b"a", b"", b"b\r"];
    assert_eq!(read(Layout::Lines, b"a\n\nb\r"), Ok(items.to_vec()));
    assert_eq!(read(Layout::Lines, b"a\n\nb\r\n"), Ok(items.to_vec()));
    assert_eq!(read(Layout::Lines, b"\n"), Ok(vec![b"".as_slice()]));
}

#[test]
fn a_prefix_is_a_little_endian_number_of_four_bytes() {
    let bytes = b"\x02\0\0\0ab\0\0\0\0\x01\0\0\0c";
    assert_eq!(read(Layout::Prefixed, bytes), Ok(vec![b"ab".as_slice(), b"", b"c"]));
    let mut long = vec![0, 1, 0, 0];
    long.resize(4 + 256, b'x');
    assert_eq!(read(Layout::Prefixed, &long), Ok(vec![&long[4..]]));
}

#[test]
fn a_packing_that_lies_is_refused() {
    for (layout, bytes) in [
        (Layout::Fixed(0), b"".as_slice()),
        (Layout::Fixed(0), b"a"),
        (Layout::Fixed(1), b""),
        (Layout::Fixed(2), b"abc"),
        (Layout::Fixed(usize::MAX), b"abc"),
        (Layout::Lines, b""),
        (Layout::Prefixed, b""),
        (Layout::Prefixed, b"\0"),
        (Layout::Prefixed, b"\0\0\0"),
        (Layout::Prefixed, b"\x01\0\0\0"),
        (Layout::Prefixed, b"\x01\0\0\0a\0"),
        (Layout::Prefixed, b"\x02\0\0\0a"),
        (Layout::Prefixed, b"\xff\xff\xff\xffa"),
    ] {
        let refused = Err(PackingError::BadPacking);
        assert_eq!(read(layout, bytes), refused, "{layout:?} {bytes:?}");
    }
}
