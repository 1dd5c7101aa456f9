//! The footer of a DUMP payload: two bytes of version, then the CRC-64 (Jones) of everything before
//! it, little-endian.

/// 0xad93d23594c935a9 with its bits reversed, because the checksum takes the low bit first.
const POLYNOMIAL: u64 = 0x95AC_9329_AC4B_C9B5;

const CHECKSUM_BYTES: usize = 8;
const VERSION_BYTES: usize = 2;

/// The payload with its body replaced: same version, correct checksum.
pub fn with_fresh_footer(payload: &[u8], body: &[u8]) -> Vec<u8> {
    let version_starts = payload.len() - CHECKSUM_BYTES - VERSION_BYTES;
    let version = &payload[version_starts..payload.len() - CHECKSUM_BYTES];
    let mut fresh = [body, version].concat();
    fresh.extend(crc64(&fresh).to_le_bytes());
    fresh
}

fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |checksum, byte| {
        (0..8).fold(checksum ^ u64::from(*byte), |rest, _| (rest >> 1) ^ (POLYNOMIAL * (rest & 1)))
    })
}

#[test]
fn the_checksum_of_the_digits_is_the_published_one() {
    assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
}
