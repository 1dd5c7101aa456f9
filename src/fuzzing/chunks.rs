//! Pieces for BF.LOADCHUNK in any order: repeated, cut, changed, of several filters, and with other things done between them.

use super::laws::{assert_survives, decoded, encoded};
use super::loaded::Loaded;
use super::plain_reader::{sealed, Chain};
use crate::filter::hash::Seed;
use crate::filter::scalable::{Filter, Growth, Parameters, SizeLimit};
use arbitrary::{Arbitrary, Unstructured};
use std::sync::OnceLock;

/// One command, and what is done after it.
#[derive(Arbitrary, Debug)]
struct Step {
    donor: u8,
    piece: u8,
    fault: Fault,
    then: Then,
}

#[derive(Arbitrary, Debug)]
enum Fault {
    None,
    /// A byte is changed, and the checksum fits.
    Forged {
        at: u16,
        change: u8,
    },
    /// A byte is changed.
    Flipped {
        at: u16,
        change: u8,
    },
    /// Only so many bytes came, and the checksum fits.
    Cut {
        len: u16,
    },
    /// A byte more came, and the checksum fits.
    Longer {
        by: u8,
    },
}

#[derive(Arbitrary, Debug)]
enum Then {
    Nothing,
    Delete,
    SaveAndLoad,
    /// The copy goes on, and the original is deleted.
    Copy,
    Add {
        first: u8,
        number: u8,
    },
}

/// A filter whose pieces are loaded.
struct Donor {
    pieces: Vec<Vec<u8>>,
    digest: u128,
}

/// The steps that the bytes stand for. After each one the filter is what the plain reader says, and survives.
pub fn chunks(bytes: &[u8]) {
    let mut source = Unstructured::new(bytes);
    let Ok(steps) = Vec::<Step>::arbitrary(&mut source) else {
        return;
    };
    let mut loaded = Loaded::default();
    // While nothing but whole pieces of one donor in their order was taken: which, and how many.
    let mut whole: Option<(usize, usize)> = Some((0, 0));
    for step in steps {
        let donors = donors();
        let donor = usize::from(step.donor) % donors.len();
        let pieces = &donors[donor].pieces;
        let piece = usize::from(step.piece) % pieces.len();
        let was_there = loaded.filter().is_some();
        let given = faulty(&pieces[piece], &step.fault);
        if loaded.take(&given) {
            let goes_on = match whole {
                Some((of, taken)) => {
                    given == pieces[piece] && (of == donor || taken == 0) && taken == piece
                }
                None => false,
            };
            whole = goes_on.then_some((donor, piece + 1));
        } else {
            let is_due = given == pieces[piece] && piece == 0 && !was_there;
            assert!(!is_due, "a good first piece was refused");
        }
        if let (Some((of, taken)), Some(filter)) = (whole, loaded.filter()) {
            if taken == donors[of].pieces.len() {
                assert_eq!(filter.digest(), donors[of].digest);
            }
        }
        whole = and_then(&step.then, &mut loaded, whole);
        if let Some(filter) = loaded.filter() {
            assert_survives(filter);
        }
    }
}

fn faulty(piece: &[u8], fault: &Fault) -> Vec<u8> {
    let mut bytes = piece.to_vec();
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

/// Filters of each kind of structure, made once: grown ones under two seeds, one with two segments, and one that is itself part loaded and
/// has grown meanwhile.
fn donors() -> &'static [Donor] {
    static DONORS: OnceLock<Vec<Donor>> = OnceLock::new();
    DONORS.get_or_init(|| {
        vec![
            Donor::of(&grown(1), 200),
            Donor::of(&grown(2), 200),
            Donor::of(&filled(Growth::Fixed, 80_000, 0.01, 3, 3000), 1),
            Donor::of(&part_loaded(), 300),
        ]
    })
}

impl Donor {
    fn of(filter: &Filter, least: usize) -> Self {
        let mut chain = Chain::default();
        assert!(encoded(filter).iter().all(|piece| chain.take(&piece.bytes)));
        Self {
            pieces: chain.in_pieces_of(least),
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

/// Ten sub-filters and more.
fn grown(seed: u64) -> Filter {
    filled(Growth::Times(1), 10, 0.01, seed, 110)
}

fn part_loaded() -> Filter {
    let mut loaded = Loaded::default();
    for piece in &Donor::of(&grown(4), 200).pieces[..2] {
        assert!(loaded.take(piece));
    }
    let filter = loaded.filter().expect("a first piece was taken");
    for item in 0..40u64 {
        filter
            .add(&item.to_be_bytes(), SizeLimit::Unlimited)
            .unwrap();
    }
    decoded(&encoded(filter))
}
