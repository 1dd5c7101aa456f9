//! Plain bytes from inputs packed with gzip or zstd.

use crate::kind::{first_bytes, packing, Packing};
use crate::READ_BYTES;
use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::errors::ReadFrameHeaderError::SkipFrame;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The plain bytes of an input.
pub struct Unpacked {
    /// The first of them, which show what they are.
    pub first: Vec<u8>,
    /// Those that follow.
    pub rest: Box<dyn Read + Send>,
}

/// Reads plain bytes from an input that may be packed.
pub fn unpack(mut raw: impl Read + Send + 'static) -> io::Result<Unpacked> {
    let first = first_bytes(&mut raw)?;
    let Some(packing) = packing(&first) else {
        let rest = Box::new(raw);
        return Ok(Unpacked { first, rest });
    };
    let packed = BufReader::with_capacity(READ_BYTES, Cursor::new(first).chain(raw));
    let mut rest: Box<dyn Read + Send> = match packing {
        Packing::Gzip => Box::new(Members::new(packed)),
        Packing::Zstd => Box::new(Frames::new(packed)),
    };
    let first = first_bytes(&mut rest)?;
    Ok(Unpacked { first, rest })
}

/// The error for packed data that a decoder refuses, or the system's own if reading failed.
fn damaged(packing: &str, error: &(dyn Error + 'static)) -> io::Error {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let of_system = error.downcast_ref::<io::Error>();
        if let Some(number) = of_system.and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(number);
        }
        cause = error.source();
    }
    let text = format!("its {packing} data is damaged or cut off");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// A gzip file: members, one after another, and zeros up to the end of a tape's block.
struct Members<R> {
    /// `None` at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    fn new(packed: R) -> Self {
        Self { member: Some(GzDecoder::new(packed)) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(to).map_err(|error| damaged("gzip", &error))?;
            if read > 0 || to.is_empty() {
                return Ok(read);
            }
            // Its checksum is right.
            let Some(mut packed) = self.member.take().map(GzDecoder::into_inner) else {
                break;
            };
            let is_padded = packed.fill_buf()?.first() == Some(&0);
            skip_zeros(&mut packed)?;
            if !packed.fill_buf()?.is_empty() {
                if is_padded {
                    let text = "it goes on after the zeros at the end of its gzip data";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
                self.member = Some(GzDecoder::new(packed));
            }
        }
        Ok(0)
    }
}

fn skip_zeros(from: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = from.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        if zeros == 0 {
            return Ok(());
        }
        from.consume(zeros);
    }
}

/// A zstd file: frames, one after another.
struct Frames<R> {
    packed: R,
    decoder: FrameDecoder,
    is_within: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(packed: R) -> Self {
        Self { packed, decoder: FrameDecoder::new(), is_within: false }
    }

    /// Begins the next frame with items in it, if there is one.
    fn begin(&mut self) -> io::Result<()> {
        while !self.is_within && !self.packed.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => self.is_within = true,
                Err(FrameDecoderError::ReadFrameHeaderError(SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    let mut frame = (&mut self.packed).take(length);
                    if io::copy(&mut frame, &mut io::sink())? < length {
                        return Err(damaged("zstd", &io::Error::other("it is cut off")));
                    }
                }
                Err(error) => return Err(damaged("zstd", &error)),
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
            _ => Err(damaged("zstd", &io::Error::other("its checksum does not match"))),
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
            decoded.map_err(|error| damaged("zstd", &error))?;
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
        let mut unpacked = unpack(Cursor::new(packed))?;
        let mut bytes = unpacked.first;
        unpacked.rest.read_to_end(&mut bytes)?;
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
            [gzip(head), gzip(tail), vec![0; 300_000]].concat(),
            [gzip(head), gzip(b""), gzip(tail), vec![0]].concat(),
            zstd(&lines),
            [zstd(head), skippable(b"note"), zstd(tail)].concat(),
            [skippable(b"note"), zstd(head), zstd(tail)].concat(),
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

    #[test]
    fn what_is_wrong_with_packed_data_is_said_in_words() {
        let lines = lines(10_000);
        for (kind, packed) in [("gzip", gzip(&lines)), ("zstd", zstd(&lines))] {
            let mut changed = packed.clone();
            changed[packed.len() / 2] ^= 1;
            for bad in [
                changed,
                packed[..packed.len() - 1].to_vec(),
                [&packed[..], b"more"].concat(),
                [&packed[..], &packed[..5]].concat(),
            ] {
                let error = unpacked(bad).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                let text = format!("its {kind} data is damaged or cut off");
                assert_eq!(error.to_string(), text);
            }
        }
        let error = unpacked([gzip(&lines), vec![0, 0], gzip(&lines)].concat()).unwrap_err();
        assert!(error.to_string().contains("after the zeros"), "{error}");
    }

    /// A disk that fails after these bytes.
    struct Failing(Cursor<Vec<u8>>);

    impl Read for Failing {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            match self.0.read(to)? {
                0 => Err(io::Error::from_raw_os_error(EIO)),
                read => Ok(read),
            }
        }
    }

    const EIO: i32 = 5;

    #[test]
    fn packed_data_that_cannot_be_read_is_not_called_damaged() {
        let lines = lines(10_000);
        for packed in [gzip(&lines), zstd(&lines)] {
            let half = packed[..packed.len() / 2].to_vec();
            let unpacked = unpack(Failing(Cursor::new(half)));
            let read = unpacked.and_then(|mut all| all.rest.read_to_end(&mut Vec::new()));
            let error = read.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(EIO), "{error}");
        }
    }
}
