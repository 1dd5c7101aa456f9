//! Items packed into one argument. The first two bytes choose a width; the rest is packed in every
//! layout.

use splitbloom_foundation::packing::{Layout, Packing};

/// Accepted bytes consist of their items and nothing else, and can be cut after each item.
pub fn packing(bytes: &[u8]) {
    let Some((width, bytes)) = bytes.split_first_chunk() else {
        return;
    };
    let width = u16::from_le_bytes(*width).into();
    for layout in [Layout::Fixed(width), Layout::Lines, Layout::Prefixed] {
        let Ok(packing) = Packing::new(layout, bytes) else {
            assert!(layout != Layout::Lines || bytes.is_empty());
            continue;
        };
        let items: Vec<&[u8]> = packing.items().collect();
        assert!(!items.is_empty());
        assert_eq!(packing.len(), items.len());
        assert_eq!(packing.items().len(), items.len());
        let mut again = Vec::new();
        for (n, item) in items.iter().enumerate() {
            append(layout, item, &mut again);
            if n % 64 < 2 {
                let first = packing.first(n + 1);
                assert!(bytes.starts_with(first) && again.starts_with(first));
                assert_eq!(Packing::new(layout, first).unwrap().len(), n + 1);
            }
        }
        // The end of the last line may be missing.
        let is_whole =
            again == bytes || layout == Layout::Lines && again == [bytes, b"\n"].concat();
        assert!(is_whole);
    }
}

/// An item as the layout has it.
fn append(layout: Layout, item: &[u8], bytes: &mut Vec<u8>) {
    match layout {
        Layout::Fixed(width) => assert_eq!(item.len(), width),
        Layout::Lines => assert!(!item.contains(&b'\n')),
        Layout::Prefixed => bytes.extend((item.len() as u32).to_le_bytes()),
    }
    bytes.extend(item);
    if layout == Layout::Lines {
        bytes.push(b'\n');
    }
}
