//! Chunks for BF.LOADCHUNK in any order: repeated, cut, changed, of several filters, of both
//! versions, and with other operations between them.

use super::laws::{assert_survives, decoded, encoded};
use super::loaded::Loaded;
use super::plain_reader::{sealed, Chain};
use arbitrary::{Arbitrary, Unstructured};
use splitbloom_filter::filter::{Filter, Growth, Parameters, SizeLimit};
use splitbloom_filter::hash::Seed;
use std::sync::OnceLock;

/// One command, and what happens after it.
#[derive(Arbitrary, Debug)]
struct Step {
    donor: u8,
    chunk: u8,
    fault: Fault,
    then: Then,
}

#[derive(Arbitrary, Debug)]
enum Fault {
    None,
    /// A byte is changed, and the checksum corrected.
    Forged {
        at: u16,
        change: u8,
    },
    /// A byte is changed.
    Flipped {
        at: u16,
        change: u8,
    },
    /// The chunk is cut to this length, and the checksum corrected.
    Cut {
        len: u16,
    },
    /// A byte is appended, and the checksum corrected.
    Longer {
        by: u8,
    },
}

#[derive(Arbitrary, Debug)]
enum Then {
    Nothing,
    Delete,
    SaveAndLoad,
    /// The copy replaces the original, which is deleted.
    Copy,
    Add {
        first: u8,
        number: u8,
    },
}

/// A filter whose chunks are loaded.
struct Donor {
    chunks: Vec<Vec<u8>>,
    digest: u128,
}

/// Runs the steps that the bytes encode. After each one the filter is what the plain reader says,
/// and survives saving and loading.
pub fn chunks(bytes: &[u8]) {
    let mut source = Unstructured::new(bytes);
    let Ok(steps) = Vec::<Step>::arbitrary(&mut source) else {
        return;
    };
    let mut loaded = Loaded::default();
    // While only whole chunks of one donor were accepted, in order: which donor, and how many.
    let mut whole: Option<(usize, usize)> = Some((0, 0));
    for step in steps {
        let donors = donors();
        let donor = usize::from(step.donor) % donors.len();
        let chunks = &donors[donor].chunks;
        let chunk = usize::from(step.chunk) % chunks.len();
        let was_there = loaded.filter().is_some();
        let given = faulty(&chunks[chunk], &step.fault);
        if loaded.take(&given) {
            let goes_on = match whole {
                Some((of, taken)) => {
                    given == chunks[chunk] && (of == donor || taken == 0) && taken == chunk
                }
                None => false,
            };
            whole = goes_on.then_some((donor, chunk + 1));
        } else {
            let is_due = given == chunks[chunk] && chunk == 0 && !was_there;
            assert!(!is_due, "a good first chunk was refused");
        }
        if let (Some((of, taken)), Some(filter)) = (whole, loaded.filter()) {
            if taken == donors[of].chunks.len() {
                assert_eq!(filter.digest(), donors[of].digest);
            }
        }
        whole = and_then(&step.then, &mut loaded, whole);
        if let Some(filter) = loaded.filter() {
            assert_survives(filter);
        }
    }
}

fn faulty(chunk: &[u8], fault: &Fault) -> Vec<u8> {
    let mut bytes = chunk.to_vec();
    match *fault {
        Fault::None => bytes,
        Fault::Flipped { at, change } => {
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= change;
            bytes
        }
        Fault::Forged { at, change } => {
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= change;
            sealed(&bytes)
        }
        Fault::Cut { len } => sealed(&bytes[..usize::from(len) % bytes.len()]),
        Fault::Longer { by } => {
            bytes.push(by);
            sealed(&bytes)
        }
    }
}

fn and_then(
    then: &Then,
    loaded: &mut Loaded,
    whole: Option<(usize, usize)>,
) -> Option<(usize, usize)> {
    if let Then::Delete = then {
        *loaded = Loaded::default();
        return Some((0, 0));
    }
    let Some(filter) = loaded.filter() else {
        return whole;
    };
    match *then {
        Then::Nothing | Then::Delete => whole,
        Then::SaveAndLoad => {
            let again = decoded(&encoded(filter));
            loaded.replace(again);
            whole
        }
        Then::Copy => {
            let copy = filter.try_clone().unwrap();
            loaded.replace(copy);
            whole
        }
        Then::Add { first, number } => {
            let limit = SizeLimit::Bytes(1 << 20);
            for item in (0..number).map(|i| [first, i]) {
                if filter.add(&item, limit).is_ok() {
                    assert!(filter.contains(&item));
                }
            }
            let copy = filter.try_clone().unwrap();
            loaded.replace(copy);
            None
        }
    }
}

/// Filters of each kind of structure, created once: grown ones under two seeds, each in its own
/// version; one with two segments; and one that is part loaded and has grown meanwhile, in
/// alternating versions.
fn donors() -> &'static [Donor] {
    static DONORS: OnceLock<Vec<Donor>> = OnceLock::new();
    DONORS.get_or_init(|| {
        vec![
            Donor::of(&grown(1), 200, |_| 1),
            Donor::of(&grown(2), 200, |_| 2),
            Donor::of(&filled(Growth::Fixed, 80_000, 0.01, 3, 3000), 1, by_turns),
            Donor::of(&part_loaded(), 300, by_turns),
        ]
    })
}

fn by_turns(chunk: usize) -> u8 {
    [2, 1][chunk % 2]
}

impl Donor {
    fn of(filter: &Filter, least: usize, version: fn(usize) -> u8) -> Self {
        let mut chain = Chain::default();
        assert!(encoded(filter).iter().all(|chunk| chain.take(&chunk.bytes)));
        Self {
            chunks: chain.in_chunks_of(least, version),
            digest: filter.digest(),
        }
    }
}

fn filled(growth: Growth, capacity: u64, error_rate: f64, seed: u64, items: u16) -> Filter {
    let parameters = Parameters {
        error_rate,
        capacity,
        growth,
        seed: Seed(seed),
    };
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    for item in 0..items {
        filter
            .add(&item.to_be_bytes(), SizeLimit::Unlimited)
            .unwrap();
    }
    filter
}

/// At least ten sub-filters.
fn grown(seed: u64) -> Filter {
    filled(Growth::Times(1), 10, 0.01, seed, 110)
}

fn part_loaded() -> Filter {
    let mut loaded = Loaded::default();
    for chunk in &Donor::of(&grown(4), 200, by_turns).chunks[..2] {
        assert!(loaded.take(chunk));
    }
    let filter = loaded.filter().expect("a first chunk was taken");
    for item in 0..40u64 {
        filter
            .add(&item.to_be_bytes(), SizeLimit::Unlimited)
            .unwrap();
    }
    decoded(&encoded(filter))
}
