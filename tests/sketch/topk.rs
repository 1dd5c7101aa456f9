//! TOPK.*: replies and errors as RedisBloom's, windows, limits.

use crate::module::{now, server};
use splitbloom_harness::{words, Primary, Reply};

/// The spaces are RedisBloom's.
const BAD_INCREMENT: &str = concat!(
    "-TopK: increment must be an integer greater or equal to 0",
    "                            and smaller or equal to 100,000"
);

#[test]
fn replies_are_those_of_redisbloom() {
    let server = server();
    let mut db = server.connect();
    db.converse(&[
        // Redis 7.0 writes 17 digits of a double, so this one is a power of two.
        ("TOPK.RESERVE k 2 2000 3 0.5", "+OK"),
        ("TOPK.RESERVE k 2", "-TopK: key already exists"),
        ("TOPK.ADD k a b b", "[_, _, _]"),
        ("TOPK.INCRBY k c 5 a 0", "[$a, _]"),
        ("TOPK.QUERY k a b c", "[:0, :1, :1]"),
        ("TOPK.COUNT k a b none", "[:1, :2, :0]"),
        ("TOPK.LIST k", "[$c, $b]"),
        ("TOPK.LIST k withcount", "[$c, :5, $b, :2]"),
        ("TOPK.INFO k", "[+k, :2, +width, :2000, +depth, :3, +decay, $0.5]"),
    ]);
    let mut db = server.connect_resp3();
    db.converse(&[
        ("TOPK.QUERY k a b", "[#f, #t]"),
        ("TOPK.LIST k WITHCOUNT", "[$c, :5, $b, :2]"),
        ("TOPK.INFO k", "{+k: :2, +width: :2000, +depth: :3, +decay: ,0.5}"),
    ]);
    db.run("TOPK.RESERVE w 3 8 7 0.5 WINDOW 60");
    assert_eq!(
        db.ask("TOPK.INFO w"),
        "{+k: :3, +width: :8, +depth: :7, +decay: ,0.5, +window: :60, +slices: :8, +latest: :0}"
    );
}

#[test]
fn errors_are_those_of_redisbloom_and_say_what_is_allowed() {
    let server = server();
    let mut db = server.connect();
    db.run("SET string 1");
    db.run("TOPK.RESERVE k 2 2000 3 0.9");
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    let decay = "-TopK: invalid decay value. must be '<= 1' & '> 0'";
    db.converse(&[
        ("TOPK.RESERVE string 2", "-TopK: key already exists"),
        ("TOPK.RESERVE n x", "-TopK: invalid k"),
        ("TOPK.RESERVE n 0", "-TopK: invalid k"),
        ("TOPK.RESERVE n 2 8", "-ERR wrong number of arguments for 'topk.reserve' command"),
        ("TOPK.RESERVE n 2 0 7 0.9", "-TopK: invalid width"),
        ("TOPK.RESERVE n 2 8 x 0.9", "-TopK: invalid depth"),
        ("TOPK.RESERVE n 2 8 7 0", decay),
        ("TOPK.RESERVE n 2 8 7 nan", decay),
        ("TOPK.RESERVE n 1048577", "-TopK: invalid k: it must be in the range [1, 1048576]"),
        ("TOPK.RESERVE n 2 8 257 0.9", "-TopK: invalid depth: it must be in the range [1, 256]"),
        (
            "TOPK.RESERVE n 2 4294967295 256 0.9",
            "-TopK: invalid width: width times depth must be in the range [1, 33554432]",
        ),
        ("TOPK.RESERVE n 2 WINDOW 0", "-ERR window must be in the range [1, 315360000]"),
        ("TOPK.RESERVE n 2 WINDOW 9 SLICES 1", "-ERR slices must be in the range [2, 14]"),
        ("TOPK.ADD none a", "-TopK: key does not exist"),
        ("TOPK.ADD string a", wrong_type),
        ("TOPK.INCRBY none a 1", "-TopK: key does not exist"),
        ("TOPK.INCRBY k a", "-ERR wrong number of arguments for 'topk.incrby' command"),
        ("TOPK.INCRBY k a 1 b", "-ERR wrong number of arguments for 'topk.incrby' command"),
        ("TOPK.QUERY none a", "-TopK: key does not exist"),
        ("TOPK.COUNT string a", wrong_type),
        ("TOPK.LIST none", "-TopK: key does not exist"),
        ("TOPK.LIST k x", "-WITHCOUNT keyword expected"),
        ("TOPK.INFO string", wrong_type),
        ("TOPK.ADDAT k 1700000000000 a", "-TopK: the sketch has no window"),
        ("TOPK.ADDAT k x a", "-ERR bad time"),
        ("EXISTS n", ":0"),
    ]);
    // Items before a bad increment are added. RedisBloom announces all replies and sends as many.
    assert_eq!(db.ask("TOPK.INCRBY k a 7 b x c 1"), format!("[_, {BAD_INCREMENT}]"));
    assert_eq!(db.ask("TOPK.INCRBY k b 100001"), format!("[{BAD_INCREMENT}]"));
    assert_eq!(db.ask("TOPK.COUNT k a b c"), "[:7, :0, :0]");
    db.run("TOPK.RESERVE w 2 WINDOW 60");
    db.converse(&[
        (
            "TOPK.ADDAT w 1700000000 a",
            "-ERR the time is before 1973: it must be in milliseconds since 1970",
        ),
        (
            "TOPK.INCRBYAT w 9000000000000 a 1",
            "-ERR the time is more than one window ahead of the server's clock",
        ),
    ]);
}

#[test]
fn the_work_of_a_command_is_bounded_by_items_rows_and_increments() {
    let server = server();
    let mut db = server.connect();
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

#[test]
fn a_window_sums_its_slices_and_forgets_them() {
    let server = server();
    let mut db = server.connect();
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
fn a_replica_adds_what_redisbloom_has_added_before_a_bad_increment() {
    let replica = server();
    let mut primary = Primary::with_empty_replica(&replica);
    let commands =
        ["SELECT 0", "TOPK.RESERVE k 2 2000 3 0.9", "TOPK.INCRBY k a 5 b x c 7", "TOPK.ADD k d"];
    primary.send_all(&replica, &commands);
    let mut db = replica.connect();
    db.converse(&[("TOPK.LIST k WITHCOUNT", "[$a, :5, $d, :1]")]);
    assert_eq!(db.info_number("sketch", "sketch_replays_refused"), 0);
}

#[test]
fn the_items_of_commands_with_a_time_are_optional_in_their_documentation() {
    let server = server();
    let mut db = server.connect();
    for (command, is_optional) in
        [("topk.addat", true), ("topk.incrbyat", true), ("topk.add", false)]
    {
        let docs = db.run(&format!("COMMAND DOCS {command}")).to_string();
        assert_eq!(docs.contains("optional"), is_optional, "{docs}");
    }
}

/// The fields of a module's value, as DUMP has them before its type and version are checked.
fn unsigned(number: u64) -> Vec<u8> {
    [&[2, 0x81][..], &number.to_be_bytes()].concat()
}

#[test]
fn a_window_without_slices_that_claims_to_be_huge_is_refused() {
    let server = server();
    let mut db = server.connect();
    db.run("TOPK.RESERVE k 3 10 2 0.9 WINDOW 60 SLICES 2");
    db.run("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
    let dump = db.run("DUMP k").bytes().to_vec();
    // 7, a length of nine bytes, and 60, 2, 0, the generator's state, k, width, depth.
    let small = [&[2, 3, 2, 10, 2, 2][..], &[4]].concat();
    let place = dump.windows(small.len()).position(|bytes| bytes == small).expect("its shape");
    for (k, width, depth) in [
        (1, u32::MAX, u32::MAX),
        (1, 3_037_000_500, 3_037_000_500),
        (u32::MAX, 1, 1),
        (1, 1, u32::MAX),
    ] {
        let shape = [k, width, depth].map(|number| unsigned(number.into())).concat();
        let forged = [&dump[..place], &shape, &dump[place + 6..]].concat();
        let reply = db.call([&b"RESTORE"[..], b"forged", b"0", &forged]).to_string();
        assert!(reply.starts_with("-ERR Bad data format"), "{reply}");
    }
    let log = server.log();
    assert_eq!(log.matches("refused a value of type TopKwindw").count(), 4, "{log}");
}

#[test]
fn a_window_is_one_value_with_all_its_slices() {
    let server = server();
    let mut db = server.connect();
    let error = "-TopK: invalid window: width times depth times one more than the slices must be \
                 at most 33554432";
    let slow = "-TopK: invalid window: k times two more than depth times the square of one more \
                than the slices must be at most 4194304";
    db.converse(&[
        ("TOPK.RESERVE k 1048576 WINDOW 60 SLICES 2", slow),
        ("TOPK.RESERVE k 1 16777216 1 0.9 WINDOW 60 SLICES 2", error),
        ("TOPK.RESERVE k 5754 WINDOW 60", slow),
        ("TOPK.RESERVE k 5753 WINDOW 60", "+OK"),
        (
            "CMS.INITBYDIM c 134201344 1 WINDOW 60 SLICES 14",
            "-CMS: invalid init arguments: width times depth times the cell size times one more \
             than the slices must be in the range [1, 536674304]",
        ),
    ]);
}
