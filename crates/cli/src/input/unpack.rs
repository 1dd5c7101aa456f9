//! Plain bytes from inputs packed with gzip or zstd, which are recognized by their first bytes, not
//! by their names.

use super::READ_BYTES;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::errors::ReadFrameHeaderError::SkipFrame;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Cursor, Read};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Whether an input that begins with these bytes is packed.
pub fn is_packed(first: &[u8]) -> bool {
    first.starts_with(&GZIP) || first.starts_with(&ZSTD)
}

/// Reads plain bytes from an input that may be packed.
pub fn unpack(mut raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut first = Vec::with_capacity(ZSTD.len());
    (&mut raw).take(ZSTD.len() as u64).read_to_end(&mut first)?;
    let (is_gzip, is_zstd) = (first.starts_with(&GZIP), first.starts_with(&ZSTD));
    let whole = BufReader::with_capacity(READ_BYTES, Cursor::new(first).chain(raw));
    Ok(if is_gzip {
        Box::new(BufReader::with_capacity(
            READ_BYTES,
            MultiGzDecoder::new(whole),
        ))
    } else if is_zstd {
        Box::new(Frames::new(whole))
    } else {
        Box::new(whole)
    })
}

/// A zstd file: frames, one after another. `flate2` has this for gzip; `ruzstd` leaves it to its
/// caller.
struct Frames<R> {
    packed: R,
    decoder: FrameDecoder,
    is_within: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(packed: R) -> Self {
        Self {
            packed,
            decoder: FrameDecoder::new(),
            is_within: false,
        }
    }

    /// Begins the next frame with items in it, if there is one.
    fn begin(&mut self) -> io::Result<()> {
        while !self.is_within && !self.packed.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => self.is_within = true,
                Err(FrameDecoderError::ReadFrameHeaderError(SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    io::copy(&mut (&mut self.packed).take(length), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(())
    }

    /// Ends a frame that is read to its end.
    fn end(&mut self) -> io::Result<()> {
        self.is_within = false;
        let decoder = &self.decoder;
        match decoder.get_checksum_from_data() {
            written if written.is_none() || written == decoder.get_calculated_checksum() => Ok(()),
            _ => Err(io::Error::other("its checksum does not fit its contents")),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            self.begin()?;
            if !self.is_within {
                return Ok(0);
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(to);
            }
            if self.decoder.is_finished() {
                self.end()?;
                continue;
            }
            let step = BlockDecodingStrategy::UptoBlocks(1);
            let decoded = self.decoder.decode_blocks(&mut self.packed, step);
            decoded.map_err(io::Error::other)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use flate2::Compression;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    /// A frame for programs other than this one.
    fn skippable(bytes: &[u8]) -> Vec<u8> {
        let mut frame = 0x184d_2a50_u32.to_le_bytes().to_vec();
        frame.extend((bytes.len() as u32).to_le_bytes());
        frame.extend(bytes);
        frame
    }

    fn unpacked(packed: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        unpack(Cursor::new(packed))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn lines(len: u32) -> Vec<u8> {
        let lines = (0..len).map(|i| format!("item {i}\n"));
        lines.collect::<String>().into_bytes()
    }

    #[test]
    fn packed_inputs_have_the_bytes_that_were_packed() {
        let lines = lines(100_000);
        let (head, tail) = lines.split_at(lines.len() / 3);
        for packed in [
            lines.clone(),
            gzip(&lines),
            [gzip(head), gzip(tail)].concat(),
            zstd(&lines),
            [zstd(head), skippable(b"note"), zstd(tail)].concat(),
        ] {
            assert!(unpacked(packed).unwrap() == lines);
        }
    }

    #[test]
    fn a_packed_input_that_is_cut_off_is_refused() {
        let lines = lines(10_000);
        for packed in [gzip(&lines), zstd(&lines)] {
            for len in [packed.len() / 2, packed.len() - 1] {
                assert!(unpacked(packed[..len].to_vec()).is_err(), "{len}");
            }
        }
    }
}
