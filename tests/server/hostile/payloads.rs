//! RESTORE of payloads that no DUMP wrote. The footer is always correct, and often the checksum of
//! the chunk inside too.

use super::{
    forged, head_record_bytes, siege, CHECKSUM_BYTES, COUNTING_FILTER, HEAD_BYTES, VICTIMS,
    WITH_BLOOM,
};
use splitbloom_harness::{with_fresh_footer, Connection, Server};

/// Version and checksum at the end of a DUMP payload.
pub const FOOTER_BYTES: usize = 10;

/// The first byte says that the value belongs to a module. Other types are none of our business.
pub const TYPE_BYTES: usize = 1;

/// The mark at the end of a module's value.
const END_MARK_BYTES: usize = 1;

/// The start of a chunk.
const MAGIC: &[u8] = b"SBF";

#[test]
fn a_truncated_payload_is_refused() {
    siege(|db| {
        for payload in payloads(db) {
            let whole = &payload[..payload.len() - FOOTER_BYTES];
            for length in 0..whole.len() {
                let truncated = with_fresh_footer(&payload, &whole[..length]);
                // A server reads on into the footer. If the version there is what was cut off (in
                // one of 256 payloads: the last byte of the checksum, and the end mark), the
                // payload is whole.
                let is_whole = truncated.starts_with(whole);
                assert_eq!(restore(db, &truncated), is_whole, "{length}");
            }
        }
    });
}

#[test]
fn an_unknown_version_or_layout_is_refused_with_a_log_line() {
    /// Position in the module's id in the payload: its last byte ends with the low bits of the
    /// encoding version.
    const LAST_BYTE_OF_IDENTITY: usize = TYPE_BYTES + 8;
    // Position in the first chunk, after its head, the record of the filter, and the index of the
    // sub-filter.
    let layout = HEAD_BYTES + head_record_bytes(0) + 5;
    let (server, mut db) = Server::start().with_client();
    let payload = &payloads(&mut db)[WITH_BLOOM];
    let (head, body) = around_the_chunk(payload);

    let mut newer = head.to_vec();
    newer[LAST_BYTE_OF_IDENTITY] += 1;
    assert!(!restore(&mut db, &payload_around(payload, &newer, body)));
    assert!(server.log().contains("513"), "{}", server.log());

    let mut other_layout = body.to_vec();
    assert_eq!(other_layout[layout], 1);
    other_layout[layout] = 2;
    assert!(!restore(&mut db, &payload_around(payload, head, &other_layout)));
    assert!(server.log().contains("layout"), "{}", server.log());
}

/// The other type, with bytes that its reader would take.
#[test]
fn a_payload_around_a_chunk_of_the_other_family_is_refused() {
    let (_server, mut db) = Server::start().with_client();
    let payloads = payloads(&mut db);
    let is_counting =
        |payload: &Vec<u8>| around_the_chunk(payload).1[HEAD_BYTES] == COUNTING_FILTER;
    let (counting, bloom): (Vec<_>, Vec<_>) = payloads.iter().partition(|one| is_counting(one));
    for one in &counting {
        for other in &bloom {
            for (head, body) in [(one, other), (other, one)] {
                let (head, _) = around_the_chunk(head);
                let (_, body) = around_the_chunk(body);
                assert!(!restore(&mut db, &payload_around(one, head, body)));
            }
        }
    }
    assert_eq!((counting.len(), bloom.len()), (3, 9));
    assert_eq!(db.ask("DBSIZE"), ":0");
}

/// Payloads of all victims, uncompressed.
pub fn payloads(db: &mut Connection) -> Vec<Vec<u8>> {
    db.run("CONFIG SET rdbcompression no");
    let mut payloads = Vec::new();
    for victim in VICTIMS {
        victim.create(db);
        payloads.push(db.dump("k"));
        db.run("DEL k");
    }
    payloads
}

/// What precedes the chunk in a payload, and the chunk without its checksum.
pub fn around_the_chunk(payload: &[u8]) -> (&[u8], &[u8]) {
    let start = payload.windows(MAGIC.len()).position(|window| window == MAGIC).expect("a chunk");
    let end = payload.len() - FOOTER_BYTES - END_MARK_BYTES - CHECKSUM_BYTES;
    (&payload[..start], &payload[start..end])
}

/// The payload with another chunk, whose checksum is correct.
pub fn payload_around(payload: &[u8], head: &[u8], body: &[u8]) -> Vec<u8> {
    let end_mark = payload.len() - FOOTER_BYTES - END_MARK_BYTES;
    let inside = [head, &forged(body), &payload[end_mark..payload.len() - FOOTER_BYTES]].concat();
    with_fresh_footer(payload, &inside)
}

/// Whether the server accepts the payload.
pub fn restore(db: &mut Connection, payload: &[u8]) -> bool {
    db.restore("k", payload) == "+OK"
}
