//! For tests: the fields of a module's value, as the server's DUMP has them, uncompressed.

use splitbloom_foundation::fields::Field;

/// A payload of DUMP.
pub struct Dump {
    /// The encoding version.
    pub version: u32,
    /// The fields, in order.
    pub fields: Vec<Field>,
}

impl Dump {
    /// Reads a payload: type, name and version, fields, and ten bytes of version and checksum.
    pub fn parse(payload: &[u8]) -> Self {
        let mut bytes = payload.iter().copied();
        assert_eq!(bytes.next(), Some(7), "a value of a module");
        let version = (length(&mut bytes) & 1023) as u32;
        let mut fields = Vec::new();
        loop {
            fields.push(match length(&mut bytes) {
                0 => break,
                1 => Field::Signed(length(&mut bytes) as i64),
                2 => Field::Unsigned(length(&mut bytes)),
                4 => {
                    let double: Vec<u8> = bytes.by_ref().take(8).collect();
                    Field::Double(f64::from_le_bytes(double.try_into().unwrap()))
                }
                5 => {
                    let len = length(&mut bytes) as usize;
                    Field::String(bytes.by_ref().take(len).collect())
                }
                other => panic!("no field of kind {other}"),
            });
        }
        assert_eq!(bytes.count(), 10, "version of the format and checksum");
        Self { version, fields }
    }
}

/// A number as the server writes lengths.
fn length(bytes: &mut impl Iterator<Item = u8>) -> u64 {
    let first = bytes.next().unwrap();
    let more = match first {
        0..0x40 => return u64::from(first),
        0x40..0x80 => return u64::from(first & 0x3f) << 8 | u64::from(bytes.next().unwrap()),
        0x80 => 4,
        0x81 => 8,
        other => panic!("no length {other:x}"),
    };
    let digits = bytes.take(more);
    digits.fold(0, |number, byte| number << 8 | u64::from(byte))
}
