//! The payload that RESTORE takes for a module's value.
//!
//! ```text
//!   7   id:9   fields   0   version:2   CRC-64:8
//! ```
//!
//! The server returns the same for DUMP. A child that rewrites the append-only file cannot call
//! DUMP, which would delete an expired key there while the server is writing it.

use splitbloom_foundation::alloc::{try_boxed, OutOfMemory};

/// The kind of value: one of a module, each field after its kind.
const MODULE_VALUE: u8 = 7;
/// A length of eight bytes, the most significant first.
const LONG_LENGTH: u8 = 0x81;
/// The end of the fields.
const END: u8 = 0;
/// The version of the format, that of Redis 5: servers read all versions up to their own.
const FORMAT: u16 = 9;
/// The digits of a type's name, 6 bits each.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The payload of a value of the type `name` in encoding version `version`, whose fields are
/// `fields`, each after its kind.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn payload(name: &str, version: u32, fields: &[u8]) -> Result<Box<[u8]>, OutOfMemory> {
    try_boxed(fields.len() + 21, |payload| {
        payload.extend([MODULE_VALUE, LONG_LENGTH]);
        payload.extend(id(name, version).to_be_bytes());
        payload.extend_from_slice(fields);
        payload.push(END);
        payload.extend(FORMAT.to_le_bytes());
        payload.extend(crc64(payload).to_le_bytes());
    })
}

/// The number that stands for a type: its name, and 10 bits of version.
fn id(name: &str, version: u32) -> u64 {
    let digit = |char: u8| DIGITS.iter().position(|digit| *digit == char).unwrap_or(0) as u64;
    let name = name.bytes().fold(0, |id, char| id << 6 | digit(char));
    name << 10 | u64::from(version)
}

/// The CRC-64 of Jones: 0xad93d23594c935a9, the least significant bit first. A step for each byte.
fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

static TABLE: [u64; 256] = {
    const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        let mut crc = byte as u64;
        while bit < 8 {
            crc = (crc >> 1) ^ (POLYNOMIAL * (crc & 1));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_the_digits_is_the_published_one() {
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn the_payload_is_that_of_dump_in_an_older_format() {
        // What Redis 8.0 returned for a value of another module, with its format 12 and checksum.
        assert_eq!(id("TopK-TYPE", 0), 0x4e8a_4af9_360f_1000);
        let payload = payload("TopK-TYPE", 0, &[2, 1]).unwrap();
        let body = [7, 0x81, 0x4e, 0x8a, 0x4a, 0xf9, 0x36, 0x0f, 0x10, 0, 2, 1, 0, 9, 0];
        assert_eq!(payload[..15], body);
        assert_eq!(payload[15..], crc64(&body).to_le_bytes());
    }
}
