//! Filters in files: see `splitbloom_filter::codec::FileReader`.

use crate::error::Error;
use crate::output::NewFile;
use splitbloom_filter::codec::{FileError, FileReader};
use splitbloom_filter::Filter;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Larger than a chunk, so that a read brings several.
const BUFFER_BYTES: usize = 4 << 20;

/// Begins to read a file.
pub fn open(path: &Path) -> Result<FileReader<BufReader<File>>, Error> {
    FileReader::new(reader(path)?).map_err(|error| failed(path, error))
}

fn reader(path: &Path) -> Result<BufReader<File>, Error> {
    let file = File::open(path).map_err(|error| Error::file(path, error))?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, file))
}

/// A failure with the name of the file.
pub fn failed(path: &Path, error: FileError) -> Error {
    match error {
        FileError::Io(error) => Error::file(path, error),
        other => Error::Contents(format!("{}: {other}", path.display())),
    }
}

/// Reads a whole filter.
pub fn load(path: &Path) -> Result<Filter, Error> {
    Filter::read_from(reader(path)?).map_err(|error| failed(path, error))
}

/// Writes a filter as a whole, and gives the file its name. Returns its length.
pub fn save(filter: &Filter, file: NewFile) -> Result<u64, Error> {
    let path = file.path().to_owned();
    filter.write_to(file).map_err(|error| failed(&path, error))?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitbloom_filter::codec::{encode_chunk, FileWriter};
    use splitbloom_filter::{Growth, Parameters, Seed, SizeLimit};

    /// The chunks of a filter that has items in nearly all sub-bitmaps of its 38 segments.
    fn chunks(seed: u64) -> Vec<Vec<u8>> {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 2_000_000,
            growth: Growth::Fixed,
            seed: Seed(seed),
        };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        for item in 0..300_000u64 {
            filter.add(&item.to_le_bytes()).unwrap();
        }
        let (mut all, mut iterator) = (Vec::new(), 0);
        while let Some(chunk) = encode_chunk(&filter, iterator).unwrap() {
            iterator = chunk.next;
            all.push(chunk.bytes);
        }
        all
    }

    #[test]
    fn the_first_chunk_of_another_filter_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mixed");
        let (own, others) = (chunks(1), chunks(2));
        let mut file = FileWriter::new(NewFile::create(&path, false, &[]).unwrap()).unwrap();
        for chunk in own[..2].iter().chain(&others[2..]) {
            file.write(chunk).unwrap();
        }
        file.finish().unwrap().finish().unwrap();
        let error = load(&path).err().unwrap().to_string();
        assert!(error.ends_with(": chunk 2: a chunk out of order"), "{error}");
    }
}
