//! What a reader of snapshots knows about the format: nothing about modules, but how to step over
//! their values.

/// Values of modules.
pub const MODULE: u8 = 7;
const STRING: u8 = 0;

/// A key, the type of its value, and the value.
pub struct Entry<'a> {
    pub key: &'a [u8],
    pub kind: u8,
    pub value: &'a [u8],
}

/// The keys of an RDB file, in their order.
pub fn entries(file: &[u8]) -> Vec<Entry<'_>> {
    const HEADER_BYTES: usize = b"REDIS0012".len();
    let mut walk = Walk(&file[HEADER_BYTES..]);
    let mut entries = Vec::new();
    loop {
        match walk.byte() {
            0xff => return entries,                       // the end
            0xfe => drop(walk.length()),                  // the database
            0xfd => drop(walk.bytes(4)),                  // seconds
            0xfc => drop(walk.bytes(8)),                  // milliseconds
            0xfb => drop([walk.length(), walk.length()]), // numbers of keys
            0xfa => drop([walk.string(), walk.string()]), // a field
            0xf5 | 0xf6 => drop(walk.string()),           // functions
            0xf7 => {
                let _ = [walk.length(), walk.length(), walk.length()];
                walk.fields(); // of a module, outside of keys
            }
            kind => {
                let key = walk.string();
                let start = walk.0;
                match kind {
                    STRING => drop(walk.string()),
                    MODULE => {
                        walk.length();
                        walk.fields();
                    }
                    other => panic!("a value of type {other}"),
                }
                entries.push(Entry { key, kind, value: &start[..start.len() - walk.0.len()] });
            }
        }
    }
}

/// The rest of a file.
struct Walk<'a>(&'a [u8]);

impl<'a> Walk<'a> {
    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    fn byte(&mut self) -> u8 {
        self.bytes(1)[0]
    }

    fn number(&mut self, len: usize) -> u64 {
        let bytes = self.bytes(len).iter();
        bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// A length; an error is the encoding of a string that has none.
    fn length_or_encoding(&mut self) -> Result<u64, u8> {
        let first = self.byte();
        let low = first & 0x3f;
        match first >> 6 {
            0 => Ok(low.into()),
            1 => Ok(u64::from(low) << 8 | self.number(1)),
            2 if low == 0 => Ok(self.number(4)),
            2 => Ok(self.number(8)),
            _ => Err(low),
        }
    }

    fn length(&mut self) -> u64 {
        self.length_or_encoding().expect("a length")
    }

    /// A string as it is in the file: an integer, or compressed, if its writer chose that.
    fn string(&mut self) -> &'a [u8] {
        let len = match self.length_or_encoding() {
            Ok(len) => len,
            Err(3) => {
                let compressed = self.length();
                self.length();
                compressed
            }
            Err(log) => 1 << log,
        };
        self.bytes(len as usize)
    }

    /// The fields of a module's value.
    fn fields(&mut self) {
        loop {
            match self.length() {
                0 => return,
                1 | 2 => drop(self.length()),
                3 => drop(self.bytes(4)),
                4 => drop(self.bytes(8)),
                5 => drop(self.string()),
                other => panic!("a field of type {other}"),
            }
        }
    }
}
