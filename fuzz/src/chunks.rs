//! Chunks for BF.LOADCHUNK in any order: repeated, cut, changed, of several filters,
//! and with other operations between them.

use super::chains::{aimed, chain_of};
use super::fuzzed::Fuzzed;
use super::laws::{decoded, encoded};
use super::loaded::Loaded;
use super::survival::assert_survives;
use arbitrary::{Arbitrary, Unstructured};
use splitbloom_filter::filter::{
    Adding, CountingParameters, Filter, Growth, Parameters, SizeLimit, Window,
};
use splitbloom_filter::foreign::cuckoo::read_header;
use splitbloom_filter::hash::Seed;
use splitbloom_oracles::plain_reader::{sealed, Head};
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
    head: Head,
}

/// Runs the steps that the bytes encode. After each one the filter is what the plain reader says,
/// and survives saving and loading. The same with counting and windowed filters.
pub fn chunks(bytes: &[u8]) {
    let mut source = Unstructured::new(bytes);
    let Ok(steps) = Vec::<Step>::arbitrary(&mut source) else {
        return;
    };
    take(&steps, donors());
    take(&steps, counting_donors());
    take(&steps, windowed_donors());
}

fn take(steps: &[Step], donors: &[Donor]) {
    let head = donors[0].head;
    let mut loaded = Loaded::of(head);
    // While only whole chunks of one donor were accepted, in order: which donor, and how many.
    let mut whole: Option<(usize, usize)> = Some((0, 0));
    for step in steps {
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
        whole = and_then(&step.then, head, &mut loaded, whole);
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
    head: Head,
    loaded: &mut Loaded,
    whole: Option<(usize, usize)>,
) -> Option<(usize, usize)> {
    if let Then::Delete = then {
        *loaded = Loaded::of(head);
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
                if filter.add_absent(&item, limit).is_ok() {
                    assert!(filter.contains(&item));
                }
            }
            let copy = filter.try_clone().unwrap();
            loaded.replace(copy);
            None
        }
    }
}

/// Filters of each kind of structure, created once: a Bloom filter of two segments, also part
/// loaded; tables of several pages, alone, part loaded, and after a Bloom filter.
fn donors() -> &'static [Donor] {
    static DONORS: OnceLock<Vec<Donor>> = OnceLock::new();
    DONORS.get_or_init(|| {
        let growing = Growth::Times(2);
        let segments = filled(Growth::Fixed, 80_000, 0.01, 3, 3000);
        let table = filled(growing, 100, 0.01, 1, 1800);
        vec![
            Donor::of(&segments, 1),
            Donor::of(&part_of(&segments, 1), 1),
            Donor::of(&table, 1),
            Donor::of(&part_of(&table, 1), 1),
            Donor::of(&filled(growing, 70, 0.01, 1, 40), 1),
            Donor::of(&filled(growing, 300, 0.01, 1, 2100), 1),
            Donor::of(&saturated(), 1),
        ]
    })
}

/// Tables of several pages and of one, part loaded, with counters.
fn counting_donors() -> &'static [Donor] {
    static DONORS: OnceLock<Vec<Donor>> = OnceLock::new();
    DONORS.get_or_init(|| {
        let several = counting(0.01, 1, 1800, 1);
        vec![
            Donor::of(&counting(0.01, 1, 20, 7), 1),
            Donor::of(&counting(0.01, 2, 60, 1), 1),
            Donor::of(&several, 1),
            Donor::of(&part_of(&several, 1), 1),
            Donor::of(&counting(0.000_001, 1, 200, 5), 1),
            Donor::of(&from_redisbloom(), 1),
        ]
    })
}

/// A counting filter with slots in several segments, and a table.
fn from_redisbloom() -> Filter {
    let mut header = vec![0; 8]; // items
    header.extend([1 << 16, 3, 2].map(u64::to_le_bytes).as_flattened());
    header.extend([1, 20, 1].map(u16::to_le_bytes).as_flattened());
    let cuckoo = read_header(&header).unwrap();
    let mut filter = Filter::of_cuckoo(cuckoo, 0.01, Seed(1), SizeLimit::Unlimited).unwrap();
    for end in [500, 65_500, 65_600, 131_072] {
        let piece: Vec<u8> = (0..100).collect();
        filter.take_piece(1 + end, &piece).unwrap();
    }
    for item in 0..100u16 {
        let item = item.to_be_bytes();
        filter.add_copy(&item, Adding::Copies, SizeLimit::Unlimited).unwrap();
    }
    filter
}

/// Tables of several pages and of one, part loaded, in the midst of a sweep, and with a page that
/// says yes to everything.
fn windowed_donors() -> &'static [Donor] {
    static DONORS: OnceLock<Vec<Donor>> = OnceLock::new();
    DONORS.get_or_init(|| {
        let several = windowed(0.01, 8, false, 5_000);
        let mut sweeping = windowed(0.5, 2, true, 12_000);
        let end = sweeping.next_due().expect("items that will be over");
        assert!(!sweeping.sweep_step(end).unwrap().is_done);
        let mut crowded = windowed(0.5, 3, false, 10);
        for item in aimed(1, 8, 3_000) {
            crowded.add_at(&item, 10, SizeLimit::Unlimited).unwrap();
        }
        vec![
            Donor::of(&windowed(0.01, 2, false, 20), 1),
            Donor::of(&windowed(0.01, 14, true, 60), 1),
            Donor::of(&several, 1),
            Donor::of(&part_of(&several, 1), 1),
            Donor::of(&sweeping, 1),
            Donor::of(&crowded, 1),
        ]
    })
}

/// A filter of one second to which an item comes each millisecond, later ones twice.
fn windowed(error_rate: f64, slices: u8, renews: bool, items: u16) -> Filter {
    let parameters =
        Parameters { error_rate, capacity: 100, growth: Growth::Times(2), seed: Seed(1) };
    let window = Window::new(1, slices, renews).expect("a sound window");
    let mut filter = Filter::windowed(parameters, window, SizeLimit::Unlimited).unwrap();
    let times = (0..items).flat_map(|item| [item, item.saturating_sub(300)]);
    for (n, item) in (0u64..).zip(times) {
        let now = n * 2_000 / (2 * u64::from(items));
        let limit = SizeLimit::Unlimited;
        filter.add_at(&item.to_be_bytes(), now, limit).unwrap();
    }
    filter
}

impl Donor {
    fn of(filter: &Filter, least: usize) -> Self {
        Self {
            chunks: chain_of(filter).in_chunks_of(least),
            digest: filter.digest(),
            head: filter.head(),
        }
    }
}

fn filled(growth: Growth, capacity: u64, error_rate: f64, seed: u64, items: u16) -> Filter {
    let parameters = Parameters { error_rate, capacity, growth, seed: Seed(seed) };
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    for item in 0..items {
        filter.add(&item.to_be_bytes()).unwrap();
    }
    filter
}

/// A table with a page that says yes to everything.
fn saturated() -> Filter {
    let mut filter = filled(Growth::Times(1), 100, 0.5, 1, 10);
    for item in aimed(1, 8, 3_000) {
        filter.add(&item).unwrap();
    }
    assert!(filter.false_positive_rate() > 0.0);
    filter
}

fn counting(error_rate: f64, seed: u64, items: u16, copies: u16) -> Filter {
    let parameters = CountingParameters {
        error_rate,
        capacity: 1024,
        expansion: 1,
        bucket_size: 2,
        max_iterations: 20,
        seed: Seed(seed),
    };
    let mut filter = Filter::counting(parameters, SizeLimit::Unlimited).unwrap();
    for item in (0..copies).flat_map(|_| 0..items) {
        let item = item.to_be_bytes();
        filter.add_copy(&item, Adding::Copies, SizeLimit::Unlimited).unwrap();
    }
    assert!(filter.remove(&[0, 0]).unwrap());
    filter
}

/// The filter after the first `chunks` chunks.
fn part_of(filter: &Filter, chunks: usize) -> Filter {
    let mut loaded = Loaded::of(filter.head());
    for chunk in &Donor::of(filter, 1).chunks[..chunks] {
        assert!(loaded.take(chunk));
    }
    let filter = loaded.filter().expect("a first chunk was taken");
    filter.try_clone().unwrap()
}
