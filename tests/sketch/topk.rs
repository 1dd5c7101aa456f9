//! TOPK.*: replies and errors as RedisBloom's, windows, limits.

use crate::module::server;
use splitbloom_harness::{now, words, Reply};

/// The spaces are RedisBloom's.
const BAD_INCREMENT: &str = concat!(
    "-TopK: increment must be an integer greater or equal to 0",
    "                            and smaller or equal to 100,000"
);

#[test]
fn replies_are_those_of_redisbloom() {
    server().converse(&[
        // Redis 7.0 writes 17 digits of a double, so this one is a power of two.
        ("TOPK.RESERVE k 2 2000 3 0.5", "+OK"),
        ("TOPK.RESERVE k 2", "-TopK: key already exists"),
        ("TOPK.ADD k a b b", "[_, _, _]"),
        ("TOPK.INCRBY k c 5 a 0", "[$a, _]"),
        ("TOPK.QUERY k a b c", "[#f, #t, #t]"),
        ("TOPK.COUNT k a b none", "[:1, :2, :0]"),
        ("TOPK.LIST k", "[$c, $b]"),
        ("TOPK.LIST k withcount", "[$c, :5, $b, :2]"),
        ("TOPK.INFO k", "{+k: :2, +width: :2000, +depth: :3, +decay: ,0.5}"),
        ("TOPK.RESERVE w 3 8 7 0.5 WINDOW 60", "+OK"),
        (
            "TOPK.INFO w",
            "{+k: :3, +width: :8, +depth: :7, +decay: ,0.5, +window: :60, +slices: :8, \
             +latest: :0}",
        ),
    ]);
}

/// RedisBloom announces all replies and sends as many.
#[test]
fn items_before_a_bad_increment_are_added() {
    server().connect().converse(&[
        ("TOPK.RESERVE k 2 2000 3 0.9", "+OK"),
        ("TOPK.INCRBY k a 7 b x c 1", &format!("[_, {BAD_INCREMENT}]")),
        ("TOPK.INCRBY k b 100001", &format!("[{BAD_INCREMENT}]")),
        ("TOPK.COUNT k a b c", "[:7, :0, :0]"),
        ("TOPK.RESERVE long 5753 WINDOW 60", "+OK"),
    ]);
}

#[test]
fn the_work_of_a_command_is_bounded_by_items_rows_and_increments() {
    let (_server, mut db) = server().with_client();
    db.run("TOPK.RESERVE deep 2 8 256 0.9");
    db.run("TOPK.RESERVE slow 2 8 7 0.9999");
    db.run("TOPK.RESERVE still 2 8 7 1");
    let digest = db.digest_of_everything();
    let error = "-TopK: items times depth must be at most 4194304, and fewer with large increments";
    let items = |head: &str, number, more: &str| {
        let items = (0..number).flat_map(|_| words(more));
        words(head).into_iter().chain(items).collect::<Vec<_>>()
    };
    for (head, number, more) in [
        ("TOPK.ADD deep", 16_385, "a"),
        ("TOPK.INCRBY deep", 148, "a 100000"),
        ("TOPK.INCRBY slow", 12, "a 100000"),
    ] {
        assert_eq!(db.call(items(head, number, more)).to_string(), error, "{head}");
    }
    db.run("TOPK.RESERVE recent 2 8 64 0.9 WINDOW 60 SLICES 7");
    let digest_with_window = db.digest_of_everything();
    let reads = "-TopK: items times depth must be at most 4194304, times one more than the slices \
                 in a window";
    for (head, most) in [("TOPK.COUNT deep", 16_384), ("TOPK.COUNT recent", 8_192)] {
        assert_eq!(db.call(items(head, most + 1, "a")).to_string(), reads, "{head}");
        assert!(matches!(db.call(items(head, most, "a")), Reply::Array(_)), "{head}");
    }
    assert_eq!(db.digest_of_everything(), digest_with_window);
    db.run("DEL recent");
    let long = [b"TOPK.ADD".to_vec(), b"deep".to_vec(), vec![b'x'; 256 << 14]];
    assert_eq!(db.call(long).to_string(), error);
    assert_eq!(db.digest_of_everything(), digest);
    for (head, number, more) in [
        ("TOPK.ADD deep", 16_384, "a"),
        ("TOPK.INCRBY deep", 147, "a 100000"),
        ("TOPK.INCRBY slow", 11, "a 100000"),
        ("TOPK.INCRBY still", 10_000, "a 100000"),
    ] {
        assert_eq!(db.call(items(head, number, more)).elements().len(), number, "{head}");
    }
}

/// Each row hashes each listed item, and fewer than eight rows take as long as eight.
#[test]
fn the_list_of_a_window_is_read_if_its_items_times_depth_are_at_most_a_gigabyte() {
    let (_server, mut db) = server().with_client();
    let error =
        "-TopK: the bytes of the items listed in all slices, times depth (8 or more), must \
                 be at most 1073741824 to be read";
    // Wide enough for each item to have a bucket of its own.
    for (width, depth, length) in [(100, 256, 1 << 16), (100_000, 1, 1 << 21)] {
        for window in ["WINDOW 3600", ""] {
            db.run_all(["FLUSHALL", &format!("TOPK.RESERVE t 100 {width} {depth} 0.9 {window}")]);
            for number in 0..64_u8 {
                assert!(!db.call([b"TOPK.ADD", b"t".as_slice(), &vec![number; length]]).is_error());
            }
            assert_eq!(db.ask("TOPK.QUERY t a"), "[:0]");
            assert!(!db.call([b"TOPK.ADD", b"t".as_slice(), &vec![64; length]]).is_error());
            let found = if window.is_empty() { "[:0]" } else { error };
            db.converse(&[("TOPK.QUERY t a", found), ("TOPK.COUNT t a", "[:0]")]);
            assert_eq!(db.line("TOPK.LIST t").is_error(), !window.is_empty());
        }
    }
}

#[test]
fn a_window_sums_its_slices_and_forgets_them() {
    let (_server, mut db) = server().with_client();
    db.run("TOPK.RESERVE w 2 100 3 0.9 WINDOW 60 SLICES 6");
    let start = now() / 10_000 * 10_000 - 200_000;
    let mut at = |seconds: u64, rest: &str| {
        db.ask(&format!("TOPK.INCRBYAT w {} {rest}", start + 1_000 * seconds))
    };
    assert_eq!(at(0, "old 9"), "[_]");
    assert_eq!(at(60, "old 1 new 2"), "[_, _]");
    // The slice of second 0 counts until second 70.
    assert_eq!(at(69, "third 5"), "[$old]");
    let reply = db.ask("TOPK.LIST w WITHCOUNT");
    assert_eq!(reply, "[]", "a window has passed since");
    // What a client adds now counts now.
    db.run("TOPK.ADD w fresh fresh");
    assert_eq!(db.ask("TOPK.LIST w WITHCOUNT"), "[$fresh, :2]");
    assert_eq!(db.ask("TOPK.QUERY w fresh old"), "[:1, :0]");
    assert_eq!(db.ask("TOPK.COUNT w fresh old"), "[:2, :0]");
}

#[test]
fn a_window_without_slices_that_claims_to_be_huge_is_refused() {
    let (server, mut db) = server().with_client();
    db.run("TOPK.RESERVE k 3 10 2 0.9 WINDOW 60 SLICES 2");
    db.run("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
    let dump = db.dump("k");
    // 7, a length of nine bytes, and 60, 2, 0, the generator's state, k, width, depth.
    let small = [&[2, 3, 2, 10, 2, 2][..], &[4]].concat();
    let place = dump.windows(small.len()).position(|bytes| bytes == small).expect("its shape");
    for (k, width, depth) in [
        (1, u32::MAX, u32::MAX),
        (1, 3_037_000_500, 3_037_000_500),
        (u32::MAX, 1, 1),
        (1, 1, u32::MAX),
    ] {
        // Unsigned fields of eight bytes.
        let field = |number| [&[2, 0x81][..], &u64::from(number).to_be_bytes()].concat();
        let shape = [k, width, depth].map(field).concat();
        let forged = [&dump[..place], &shape, &dump[place + 6..]].concat();
        let reply = db.restore("forged", &forged);
        assert!(reply.starts_with("-ERR Bad data format"), "{reply}");
    }
    let log = server.log();
    assert_eq!(log.matches("refused a value of type TopKwindw").count(), 4, "{log}");
}
