//! Commands as they are sent.

use super::layout::{Layout, PIECE_BYTES};
use super::{Family, Piece};

/// The command for a piece: packed, unless the piece is one long item. `ending` ends the name of
/// the command for one item, such as `ADD`.
pub fn command_for(
    family: Family,
    ending: &str,
    key: &[u8],
    layout: Layout,
    piece: &Piece<'_>,
) -> Vec<u8> {
    match piece.is_alone() {
        true => separate(&family.command(ending), key, layout, &piece.items),
        false => {
            let name = family.command(&format!("PACK{ending}"));
            command(&name, key, layout, &piece.items)
        }
    }
}

/// A packed command for the wire.
pub fn command(name: &str, key: &[u8], layout: Layout, items: &[u8]) -> Vec<u8> {
    let width = match layout {
        Layout::Lines => None,
        Layout::Fixed(width) => Some(width.to_string()),
    };
    let mut words = vec![name.as_bytes(), key];
    match &width {
        None => words.push(b"LINES"),
        Some(width) => words.extend([b"FIXED".as_slice(), width.as_bytes()]),
    }
    words.push(items);
    encode(words.len(), words.into_iter())
}

/// A command for the wire with an argument for each item.
pub fn separate(name: &str, key: &[u8], layout: Layout, items: &[u8]) -> Vec<u8> {
    let mut rest = items;
    let each = std::iter::from_fn(|| {
        let (item, after) = (!rest.is_empty()).then(|| layout.split_item(rest))?;
        rest = after;
        Some(layout.bare(item))
    });
    encode(layout.count(items) + 2, [name.as_bytes(), key].into_iter().chain(each))
}

fn encode<'a>(len: usize, words: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(PIECE_BYTES + 256);
    bytes.extend(format!("*{len}\r\n").bytes());
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
