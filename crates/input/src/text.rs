//! Text whose lines end with `\r\n`, read as if they ended with `\n`.

use std::io::{BufRead, Read, Result};

/// The text without each `\r` before a `\n`.
pub struct Text<R> {
    from: R,
    /// Whether the last byte read was a `\r`: the byte after it decides whether it belongs to an
    /// item.
    is_open: bool,
}

impl<R> Text<R> {
    pub fn new(from: R) -> Self {
        let is_open = false;
        Self { from, is_open }
    }
}

impl<R: BufRead> Read for Text<R> {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        let mut len = 0;
        while len == 0 && !to.is_empty() {
            let from = self.from.fill_buf()?;
            if from.is_empty() {
                if std::mem::take(&mut self.is_open) {
                    to[0] = b'\r';
                    len = 1;
                }
                break;
            }
            let mut used = 0;
            for byte in from {
                if len == to.len() {
                    break;
                }
                if std::mem::take(&mut self.is_open) && *byte != b'\n' {
                    // The `\r` was part of the line. This byte comes next time round.
                    to[len] = b'\r';
                    len += 1;
                    if len == to.len() {
                        break;
                    }
                }
                used += 1;
                match byte {
                    b'\r' => self.is_open = true,
                    _ => {
                        to[len] = *byte;
                        len += 1;
                    }
                }
            }
            self.from.consume(used);
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn only_a_carriage_return_before_a_line_feed_is_stripped() {
        for (text, expected) in [
            (b"a\r\nb\r\n".as_slice(), b"a\nb\n".as_slice()),
            (b"a\rb\r\r\n\r\n\r", b"a\rb\r\n\n\r"),
            (b"\n\r", b"\n\r"),
            (b"", b""),
        ] {
            // Every border of what is read, and of where it is written.
            for buffer in 1..8 {
                for piece in 1..4 {
                    let mut reader = Text::new(BufReader::with_capacity(buffer, text));
                    let (mut all, mut to) = (Vec::new(), vec![0; piece]);
                    loop {
                        match reader.read(&mut to).unwrap() {
                            0 => break,
                            read => all.extend_from_slice(&to[..read]),
                        }
                    }
                    assert_eq!(all, expected, "{buffer} {piece}");
                }
            }
        }
    }
}
