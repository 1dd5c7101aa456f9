//! Uses in which filters of other implementations were reported to fall short.

use splitbloom_harness::{words, Server};

/// A command of words and then items.
fn with_items(head: &str, items: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    words(head).into_iter().chain(items).collect()
}

#[test]
fn ids_with_structure_have_the_requested_error_rate() {
    const ITEMS: u64 = 20_000;
    let kinds: [fn(u64) -> Vec<u8>; 8] = [
        |n| n.to_string().into_bytes(),
        |n| format!("{n:012}").into_bytes(),
        |n| (n as u32).to_le_bytes().to_vec(),
        |n| (n as u32).to_be_bytes().to_vec(),
        |n| n.to_le_bytes().to_vec(),
        |n| format!("6f1c7e02-9a4b-4c5d-8e3f-{n:012x}").into_bytes(),
        |n| format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255).into_bytes(),
        |n| [&n.to_be_bytes()[..], &[b'x'; 200]].concat(),
    ];
    let (_server, mut db) = Server::start().with_client();
    for (number, kind) in kinds.into_iter().enumerate() {
        db.run(&format!("BF.RESERVE b 0.01 {ITEMS} SEED 0123456789abcdef"));
        db.run(&format!("CF.RESERVE c {ITEMS} SEED 0123456789abcdef"));
        for (add, look_up) in [("BF.MADD b", "BF.MEXISTS b"), ("CF.INSERT c ITEMS", "CF.MEXISTS c")]
        {
            let mut found = |range: std::ops::Range<u64>, head: &str| -> i64 {
                let all = range.step_by(1_000).map(|first| {
                    let replies = db.call(with_items(head, (first..first + 1_000).map(kind)));
                    replies.elements().iter().map(|reply| reply.integer()).sum::<i64>()
                });
                all.sum()
            };
            found(0..ITEMS, add);
            assert_eq!(found(0..ITEMS, look_up), ITEMS as i64, "{number}: {look_up}");
            let positives = found(ITEMS..2 * ITEMS, look_up);
            // Five standard deviations above 1 %.
            assert!(positives < 270, "{number}: {look_up}: {positives} of {ITEMS}");
        }
        db.run("FLUSHALL");
    }
}
