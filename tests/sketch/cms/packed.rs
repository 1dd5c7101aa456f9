//! CMS.PACKINCR, which has all its items in one argument.

use crate::module::server;
use splitbloom_harness::{now, packed, words, Connection, Random, Reply};

/// `head items`.
fn call(db: &mut Connection, head: &str, items: &[u8]) -> Reply {
    db.call(words(head).into_iter().chain([items.to_vec()]))
}

/// Items of four bytes that are no text; some come often.
fn random_items(random: &mut Random, number: usize) -> Vec<Vec<u8>> {
    let mut item = || (random.below(40) * random.below(40)) as u16;
    let items = (0..number).map(|_| item());
    items.map(|item| vec![0, 0x80 | (item >> 7) as u8, 0x80 | item as u8, 0]).collect()
}

#[test]
fn packed_items_are_counted_as_others_are() {
    let server = server();
    let mut random = Random::seeded(35);
    let mut clients = [server.connect(), server.connect_resp3()];
    let now = now();
    for (window, at) in [("", String::new()), (" WINDOW 3600 SLICES 3", format!(" AT {now}"))] {
        let db = &mut clients[0];
        db.run("FLUSHALL");
        db.run(&format!("CMS.INITBYDIM c 50 4{window}"));
        db.run("COPY c single");
        for layout in ["LINES", "PREFIXED", "FIXED 4"] {
            for db in &mut clients {
                let items = random_items(&mut random, 200);
                let bytes = packed(layout, &items);
                let pairs = items.iter().flat_map(|item| [item.clone(), b"1".to_vec()]);
                let single = match at.is_empty() {
                    true => words("CMS.INCRBY single"),
                    false => words(&format!("CMS.INCRBYAT single {now}")),
                };
                let expected = db.call(single.into_iter().chain(pairs));
                let expected = expected.elements().iter().map(|count| count.integer() as u32);
                let expected: Vec<u8> = expected.flat_map(u32::to_le_bytes).collect();
                let counts = call(db, &format!("CMS.PACKINCR c{at} {layout}"), &bytes);
                assert_eq!(counts, Reply::Bulk(expected));
                assert_eq!(db.digest("c"), db.digest("single"));
            }
        }
    }
}

#[test]
fn a_command_touches_at_most_four_million_counters() {
    let (_server, mut db) = server().with_client();
    db.run_all(["CMS.INITBYDIM deep 2 1024", "CMS.INITBYDIM flat 50 4"]);
    db.run("CMS.INITBYDIM recent 50 64 WINDOW 3600 SLICES 7");
    let digest = db.digest_of_everything();
    let error =
        "CMS: items times depth must be at most 4194304, times one more than the slices in \
                 a window";
    // Fewer rows than 8 count as 8: 2^19 items have a reply of 2 MiB.
    for (key, rows) in [("deep", 1024), ("flat", 8), ("recent", 64 * 8)] {
        let long = vec![b'\n'; (1 << 22) / rows + 1];
        let reply = call(&mut db, &format!("CMS.PACKINCR {key} LINES"), &long);
        assert!(matches!(reply, Reply::Error(text) if text == error), "{key}");
    }
    // 256 bytes are as long to hash as a counter is to touch.
    let wide = vec![b'x'; 256 << 12];
    let reply = call(&mut db, &format!("CMS.PACKINCR deep FIXED {}", wide.len()), &wide);
    assert!(matches!(reply, Reply::Error(text) if text == error));
    for (head, item) in [("CMS.INCRBY deep", "a 1"), ("CMS.QUERY deep", "a")] {
        let many = words(head).into_iter().chain((0..4_097).flat_map(|_| words(item)));
        assert!(matches!(db.call(many), Reply::Error(text) if text == error), "{head}");
    }
    assert_eq!(db.digest_of_everything(), digest);
    // Half as many counters are within the limit.
    let last = vec![b'\n'; (1 << 22) / 1024 / 2];
    assert_eq!(call(&mut db, "CMS.PACKINCR deep LINES", &last).bytes().len(), 4 * last.len());
}
