//! A filter of RedisBloom or valkey-bloom as a server gives it: its fields, and what decides about
//! items that are added later.
//!
//! The seed must be the same wherever the same bytes are loaded: a server passes RESTORE on to its
//! replicas unchanged, and both must return the same results from then on. So the seed is a hash of
//! everything that was read. It cannot be guessed without knowing the bits.

use super::cuckoo::rdb::read_cuckoo;
use super::cuckoo::Remainder;
use super::rdb::{read_bloom, Fields};
use super::valkey::{parse_valkey, read_valkey};
use super::ForeignFilter;
use crate::counting::CountingFilter;
use crate::error::DecodeError;
use crate::hash::Seed;
use crate::size_limit::SizeLimit;
use xxhash_rust::xxh3::Xxh3;

/// The error rate of the table that follows a cuckoo filter. RedisBloom's filters have no requested
/// rate: theirs begins at 1.5 %. A deletion looks into the table first, and where it mistakes an
/// item of the series for one there, it takes away the copy of another item. So the rate is low, at
/// a price of some nine bits for each new item over the usual 1 %. It is no setting: a replica may
/// have others.
const REMAINDER_RATE: f64 = 0.0001;

/// What decides about the table behind a cuckoo filter.
pub(super) fn remainder(seed: Seed) -> Remainder {
    Remainder {
        error_rate: REMAINDER_RATE,
        seed,
    }
}

/// Passes fields on, and hashes them.
struct Hashed<'a, F> {
    fields: &'a mut F,
    hash: Xxh3,
}

impl<'a, F: Fields> Hashed<'a, F> {
    fn new(fields: &'a mut F) -> Self {
        let hash = Xxh3::new();
        Self { fields, hash }
    }

    /// The seed that follows from the fields so far.
    fn seed(&self) -> Seed {
        Seed(self.hash.digest())
    }
}

impl<F: Fields> Fields for Hashed<'_, F> {
    type String = F::String;

    fn unsigned(&mut self) -> Option<u64> {
        let value = self.fields.unsigned()?;
        self.hash.update(&value.to_le_bytes());
        Some(value)
    }

    fn double(&mut self) -> Option<f64> {
        let value = self.fields.double()?;
        self.hash.update(&value.to_le_bytes());
        Some(value)
    }

    fn string(&mut self) -> Option<F::String> {
        let value = self.fields.string()?;
        self.hash.update(value.as_ref());
        Some(value)
    }
}

impl ForeignFilter {
    /// Reads a Bloom filter of RedisBloom's encoding `version`: see [`read_bloom`].
    ///
    /// # Errors
    /// As [`read_bloom`].
    pub fn load(version: u32, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let mut hashed = Hashed::new(fields);
        let mut filter = read_bloom(version, &mut hashed, Seed(0))?;
        filter.seed = hashed.seed();
        Ok(filter)
    }

    /// Reads a Bloom filter of valkey-bloom's encoding `version`: see [`read_valkey`].
    ///
    /// # Errors
    /// As [`read_valkey`].
    pub fn load_from_valkey(version: u32, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let mut hashed = Hashed::new(fields);
        let mut filter = read_valkey(version, &mut hashed, Seed(0))?;
        filter.seed = hashed.seed();
        Ok(filter)
    }

    /// Reads the value of valkey-bloom's BF.LOAD: see [`parse_valkey`].
    ///
    /// # Errors
    /// As [`parse_valkey`].
    pub fn parse_from_valkey(bytes: &[u8], limit: SizeLimit) -> Result<Self, DecodeError> {
        parse_valkey(bytes, Seed::from_bytes(bytes), limit)
    }
}

impl CountingFilter {
    /// Reads a cuckoo filter of RedisBloom's encoding `version`: see [`read_cuckoo`].
    ///
    /// # Errors
    /// As [`read_cuckoo`].
    pub fn load(version: u32, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let mut hashed = Hashed::new(fields);
        let filter = read_cuckoo(version, &mut hashed, remainder(Seed(0)))?;
        Ok(filter.reseeded(hashed.seed()))
    }
}

#[cfg(test)]
mod tests {
    use crate::any::AnyFilter;
    use crate::codec::{Chunk, Transfer};
    use crate::counting::CountingFilter;
    use crate::foreign::pieces::Pieces;
    use crate::foreign::tests::dump::Field::{self, Double, String, Unsigned};
    use crate::foreign::ForeignFilter;
    use crate::hash::Seed;
    use crate::size_limit::SizeLimit;

    const BLOOM: [u8; 73] = {
        let mut header = [0; 73];
        let fields: [(usize, &[u8]); 9] = [
            (8, &[1]),
            (12, &[5]),
            (16, &[2]),
            (20, &[8]),
            (28, &[64]),
            (44, &0.01f64.to_le_bytes()),
            (52, &9.6f64.to_le_bytes()),
            (60, &[7]),
            (64, &[5]),
        ];
        let mut field = 0;
        while field < fields.len() {
            let (at, bytes) = fields[field];
            let mut byte = 0;
            while byte < bytes.len() {
                header[at + byte] = bytes[byte];
                byte += 1;
            }
            field += 1;
        }
        header
    };
    const CUCKOO: [u8; 38] = {
        let mut header = [0; 38];
        header[8] = 128;
        header[24] = 2;
        header[32] = 2;
        header[34] = 20;
        header[36] = 2;
        header
    };

    /// The header with every few bytes of it replaced by every number of interest.
    fn mutants(header: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
        let numbers = (0..64).flat_map(|bit| [1 << bit, (1u64 << bit) - 1, !0 << bit]);
        numbers.flat_map(move |number| {
            (0..header.len()).flat_map(move |at| {
                [1, 2, 4, 8].map(|width: usize| {
                    let end = header.len().min(at + width);
                    let mut mutant = header.to_vec();
                    mutant[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
                    mutant
                })
            })
        })
    }

    fn loads_what_it_writes<F: Transfer + Pieces>(header: &[u8]) -> usize {
        let mut begun = 0;
        for mutant in mutants(header) {
            let Ok(filter) = F::begin(&mutant, Seed(7), SizeLimit::Unlimited) else {
                continue;
            };
            begun += 1;
            let (mut iterator, mut loaded) = (0, None::<F>);
            while let Some(chunk) = filter.encode_chunk(iterator).unwrap() {
                iterator = chunk.next;
                let parsed = Chunk::parse(&chunk.bytes).unwrap();
                let taken = F::load_chunk(loaded.as_mut(), &parsed, SizeLimit::Unlimited);
                loaded = taken
                    .unwrap_or_else(|e| panic!("{e} of {mutant:x?}"))
                    .or(loaded);
            }
            assert!(loaded.is_some());
        }
        begun
    }

    #[test]
    fn what_any_header_begins_can_be_saved_and_loaded() {
        assert!(loads_what_it_writes::<AnyFilter>(&BLOOM) > 100);
        assert!(loads_what_it_writes::<CountingFilter>(&CUCKOO) > 100);
    }

    /// The seed is the same for the same fields, and another one if any of these is another.
    fn assert_seed_follows(
        fields: &[Field],
        others: impl IntoIterator<Item = (usize, Field)>,
        seed: impl Fn(Vec<Field>) -> Seed,
    ) {
        let seed_of_these = seed(fields.to_vec());
        assert_eq!(seed(fields.to_vec()), seed_of_these);
        for (place, other) in others {
            let mut fields = fields.to_vec();
            fields[place] = other;
            assert_ne!(seed(fields), seed_of_these, "{place}");
        }
    }

    #[test]
    fn the_seed_follows_from_what_was_read() {
        let fields = [
            Unsigned(1), // items
            Unsigned(1), // layers
            Unsigned(5),
            Unsigned(2), // growth
            Unsigned(5), // entries
            Double(0.01),
            Unsigned(7), // hashes
            Double(9.6),
            Unsigned(64),
            Unsigned(0),
            String(vec![1; 8]),
            Unsigned(1),
        ];
        let others = [
            (3, Unsigned(4)),
            (4, Unsigned(6)),
            (5, Double(0.02)),
            (7, Double(9.7)),
            (10, String(vec![2; 8])),
        ];
        assert_seed_follows(&fields, others, |fields| {
            let filter = ForeignFilter::load(4, &mut fields.into_iter()).unwrap();
            filter.parameters().seed
        });

        // layers, buckets, items, deletions, slots of a bucket, iterations, expansion, and a layer
        let numbers = [1, 2, 0, 0, 2, 20, 1, 2].map(Unsigned);
        let fields = [&numbers[..], &[String(vec![0, 7, 0, 0])]].concat();
        let others = [
            (2, Unsigned(1)),
            (3, Unsigned(1)),
            (5, Unsigned(21)),
            (8, String(vec![0, 8, 0, 0])),
        ];
        assert_seed_follows(&fields, others, |fields| {
            let filter = CountingFilter::load(4, &mut fields.into_iter()).unwrap();
            filter.parameters().seed
        });
    }
}
