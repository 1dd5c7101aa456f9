//! Filters from other modules, as a server or a client gives them: RedisBloom's and valkey-bloom's
//! values in RDB files and DUMP, and the pieces of RedisBloom's SCANDUMP.

use crate::error::DecodeError;
use crate::filter::series::Series;
use crate::filter::{Filter, SizeLimit};
use crate::foreign::cuckoo::{self, read_cuckoo, Cuckoo};
use crate::foreign::redisbloom::{self, read_bloom};
use crate::foreign::valkey::{parse_valkey, read_valkey};
use crate::foreign::{Fields, Source};
use crate::hash::Seed;

/// The error rate of the table that follows a cuckoo filter. RedisBloom's filters have no requested
/// rate: theirs begins at 1.5 %. A deletion looks into the table first, and a false positive there
/// removes the copy of another item. So the rate is low, which costs some nine bits more for each
/// new item than the usual 1 %. It is not a setting: those of a replica may differ.
const RATE_AFTER_CUCKOO: f64 = 0.0001;

impl Filter {
    /// Reads a Bloom filter of RedisBloom's encoding `version`: see [`read_bloom`].
    ///
    /// # Errors
    /// As [`read_bloom`].
    pub fn load_redisbloom(version: u32, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let mut fields = Source::new(fields);
        let layers = read_bloom(version, &mut fields)?;
        Self::of_layers(layers, fields.seed(), SizeLimit::Unlimited)
    }

    /// Reads a Bloom filter of valkey-bloom's encoding `version`: see [`read_valkey`].
    ///
    /// # Errors
    /// As [`read_valkey`].
    pub fn load_valkey(version: u32, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let mut fields = Source::new(fields);
        let layers = read_valkey(version, &mut fields)?;
        Self::of_layers(layers, fields.seed(), SizeLimit::Unlimited)
    }

    /// Reads the value of valkey-bloom's BF.LOAD: see [`parse_valkey`].
    ///
    /// # Errors
    /// As [`parse_valkey`]; `OverLimit`.
    pub fn parse_valkey(bytes: &[u8], limit: SizeLimit) -> Result<Self, DecodeError> {
        Self::of_layers(parse_valkey(bytes)?, Seed::from_bytes(bytes), limit)
    }

    /// Reads a cuckoo filter of RedisBloom's encoding `version`: see [`read_cuckoo`].
    ///
    /// # Errors
    /// As [`read_cuckoo`].
    pub fn load_cuckoo(version: u32, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let mut fields = Source::new(fields);
        let cuckoo = read_cuckoo(version, &mut fields)?;
        Self::from_cuckoo(cuckoo, fields.seed(), SizeLimit::Unlimited)
    }

    fn from_cuckoo(cuckoo: Cuckoo, seed: Seed, limit: SizeLimit) -> Result<Self, DecodeError> {
        Self::of_cuckoo(cuckoo, RATE_AFTER_CUCKOO, seed, limit)
    }

    /// A Bloom filter without its bits, from the `header` that RedisBloom's BF.SCANDUMP returns.
    /// Items added to it are hashed with `seed`.
    ///
    /// # Errors
    /// As [`redisbloom::read_header`]; `OverLimit` if it takes more than `limit` with all its bits.
    pub fn begin_redisbloom(
        header: &[u8],
        seed: Seed,
        limit: SizeLimit,
    ) -> Result<Self, DecodeError> {
        Self::of_layers(redisbloom::read_header(header)?, seed, limit)
    }

    /// The same for a cuckoo filter, and CF.SCANDUMP.
    ///
    /// # Errors
    /// As [`cuckoo::read_header`]; `OverLimit` if it takes more than `limit` with all its slots.
    pub fn begin_cuckoo(header: &[u8], seed: Seed, limit: SizeLimit) -> Result<Self, DecodeError> {
        Self::from_cuckoo(cuckoo::read_header(header)?, seed, limit)
    }

    /// Takes a piece, which RedisBloom's SCANDUMP returned with `iterator`.
    ///
    /// # Errors
    /// `Order` if it lies outside the filter's bytes, or the filter is not from RedisBloom, or
    /// waits for one of our chunks; `OutOfMemory`. Nothing has changed.
    pub fn take_piece(&mut self, iterator: u64, piece: &[u8]) -> Result<(), DecodeError> {
        let organs = self.body.organs_mut();
        let organs = organs.filter(|organs| organs.loading.is_none());
        match organs.map(|organs| &mut organs.series) {
            Some(Series::Layers(layers)) => layers.take_piece(iterator, piece),
            Some(Series::Cuckoo(series)) => series.take_piece(iterator, piece),
            _ => Err(DecodeError::Order),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::codec::{chunks, load_chunk, Chunk};
    use crate::error::DecodeError;
    use crate::filter::{Filter, SizeLimit};
    use crate::hash::Seed;
    use splitbloom_foundation::fields::Field::{self, Double, String, Unsigned};

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

    type Begin = fn(&[u8], Seed, SizeLimit) -> Result<Filter, DecodeError>;

    fn loads_what_it_writes(begin: Begin, header: &[u8]) -> usize {
        let mut begun = 0;
        for mutant in mutants(header) {
            let Ok(filter) = begin(&mutant, Seed(7), SizeLimit::Unlimited) else {
                continue;
            };
            begun += 1;
            let mut loaded = None::<Filter>;
            for chunk in chunks(&filter) {
                let chunk = chunk.encode().unwrap();
                let parsed = Chunk::parse(&chunk.bytes).unwrap();
                let taken = load_chunk(loaded.as_mut(), &parsed, SizeLimit::Unlimited);
                loaded = taken.unwrap_or_else(|e| panic!("{e} of {mutant:x?}")).or(loaded);
            }
            assert!(loaded.is_some());
        }
        begun
    }

    #[test]
    fn what_any_header_begins_can_be_saved_and_loaded() {
        assert!(loads_what_it_writes(Filter::begin_redisbloom, &BLOOM) > 100);
        assert!(loads_what_it_writes(Filter::begin_cuckoo, &CUCKOO) > 100);
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
            let filter = Filter::load_redisbloom(4, &mut fields.into_iter()).unwrap();
            filter.parameters().seed
        });

        // layers, buckets, items, deletions, slots of a bucket, iterations, expansion, and a layer
        let numbers = [1, 2, 0, 0, 2, 20, 1, 2].map(Unsigned);
        let fields = [&numbers[..], &[String(vec![0, 7, 0, 0])]].concat();
        let others =
            [(2, Unsigned(1)), (3, Unsigned(1)), (5, Unsigned(21)), (8, String(vec![0, 8, 0, 0]))];
        assert_seed_follows(&fields, others, |fields| {
            let filter = Filter::load_cuckoo(4, &mut fields.into_iter()).unwrap();
            filter.parameters().seed
        });
    }
}
